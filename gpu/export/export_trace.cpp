#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/export/export.h"
#include "gpu/files/file.h"
#include "gpu/files/read_json.h"
#include "gpu/files/utf8.h"
#include "gpu/messages/step_calls.h"
#include "gpu/runs/snapshot_json.h"

namespace warpscope::runs {
namespace {

using nlohmann::json;
using training::OpTiming;
using training::Snapshot;
using training::StepCall;

constexpr std::size_t kMostStatusBytes = 64 << 20;
constexpr int kProcess = 1;
constexpr int kFirstRank = 2;  // each rank is a process
constexpr int kNow = 1;        // tracks
constexpr int kBefore = 2;

constexpr const char* kHow =
    "Times are medians of sampled steps, taken on the device with an event after each launch: calls stand "
    "one "
    "after the other, and what passes between two launches counts to the later one.";

std::string name_of(ops::Op op, const std::string& layer) {
  return layer.empty() ? std::string(ops::to_string(op)) : fmt::format("{} {}", ops::to_string(op), layer);
}

json metadata_event(const char* what, int track, const char* key, json value) {
  return {
      {"ph", "M"}, {"pid", kProcess}, {"tid", track}, {"name", what}, {"args", {{key, std::move(value)}}}};
}

void name_track(json& events, int track, const char* name) {
  events.push_back(metadata_event("thread_name", track, "name", name));
  events.push_back(metadata_event("thread_sort_index", track, "sort_index", track));
}

/// What both tracks tell of a call.
json complete_event(const StepCall& call, int track, json arguments) {
  const std::string_view op = ops::to_string(call.timing->op);
  arguments["shape"] = ops::describe(call.timing->op, call.timing->shape);
  return {{"ph", "X"},
          {"pid", kProcess},
          {"tid", track},
          {"name", name_of(call.timing->op, call.timing->layer)},
          {"cat", std::string(op.substr(0, op.find('.')))},
          {"ts", call.start},
          {"dur", call.microseconds},
          {"args", std::move(arguments)}};
}

json arguments_of(const StepCall& call, double step_microseconds) {
  const OpTiming& timing = *call.timing;
  json covers = json::array();
  for (const training::OpPlace& place : timing.covers) covers.push_back(name_of(place.op, place.layer));
  json arguments{{"variant", timing.variant},
                 {"share", call.microseconds / step_microseconds},
                 {"flop", timing.flops},
                 {"bytes", timing.bytes},
                 {"samples", timing.samples}};
  if (!covers.empty()) arguments["covers"] = std::move(covers);
  if (!timing.reason.empty()) arguments["reason"] = timing.reason;
  return arguments;
}

json counter(const char* name, double at, double value) {
  return {{"ph", "C"}, {"pid", kProcess}, {"name", name}, {"ts", at}, {"args", {{"value", value}}}};
}

void add_counters(json& events, std::span<const StepCall> calls) {
  for (const StepCall& call : calls) {
    events.push_back(counter("TFLOP/s", call.start, call.timing->flops / call.microseconds / 1e6));
    events.push_back(counter("GB/s", call.start, call.timing->bytes / call.microseconds / 1e3));
  }
  events.push_back(counter("TFLOP/s", calls.back().end(), 0));
  events.push_back(counter("GB/s", calls.back().end(), 0));
}

struct RankPhase {
  const char* name;
  double training::RankStep::*microseconds;
};

/// As they follow each other.
constexpr std::array<RankPhase, 5> kRankPhases{{{"forward", &training::RankStep::forward},
                                                {"backward", &training::RankStep::backward},
                                                {"waiting for the slowest", &training::RankStep::waiting},
                                                {"sums over ranks", &training::RankStep::moving},
                                                {"update", &training::RankStep::update}}};

void name_rank(json& events, int process, const std::string& name) {
  events.push_back(
      {{"ph", "M"}, {"pid", process}, {"tid", kNow}, {"name", "process_name"}, {"args", {{"name", name}}}});
  events.push_back({{"ph", "M"},
                    {"pid", process},
                    {"tid", kNow},
                    {"name", "process_sort_index"},
                    {"args", {{"sort_index", process}}}});
}

void add_rank(json& events, const training::RankFigures& rank, std::size_t number) {
  const int process = kFirstRank + static_cast<int>(number);
  name_rank(events, process, fmt::format("rank {}, {} {}", number, rank.device, rank.name));
  double at = rank.newest.start;
  for (const RankPhase& phase : kRankPhases) {
    const double duration = rank.newest.*phase.microseconds;
    const bool backward = phase.microseconds == &training::RankStep::backward;
    if (duration > 0) {
      events.push_back({{"ph", "X"},
                        {"pid", process},
                        {"tid", kNow},
                        {"name", phase.name},
                        {"cat", "rank"},
                        {"ts", at},
                        {"dur", duration},
                        {"args",
                         {{"step", rank.newest.step},
                          {"images", rank.images},
                          {"clock_uncertainty_us", rank.clock_uncertainty}}}});
      if (backward && rank.newest.beside > 0) {
        events.back()["args"]["sums_beside_us"] = rank.newest.beside;
      }
    }
    at += duration;
  }
}

/// The newest step that all have timed, which begins where the calls do.
void add_ranks(json& events, const std::vector<training::RankFigures>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].newest.step > 0 && std::isfinite(ranks[rank].newest.end())) {
      add_rank(events, ranks[rank], rank);
    }
  }
}

json description_of(const std::string& name, const Snapshot& snapshot) {
  json missing = json::array();
  for (const OpTiming& timing : snapshot.timings) {
    if (!timing.covered_by && !(timing.microseconds > 0)) missing.push_back(name_of(timing.op, timing.layer));
  }
  json description{{"run", name},
                   {"model", snapshot.model},
                   {"device", snapshot.device.name},
                   {"precision", std::string(core::to_string(snapshot.selection.precision))},
                   {"batch", snapshot.settings->batch},
                   {"step", snapshot.step},
                   {"timing", kHow}};
  if (!missing.empty()) description["calls_without_a_time"] = std::move(missing);
  return description;
}

}  // namespace

json trace_of(const std::string& name, const Snapshot& snapshot) {
  const std::vector<StepCall> now = training::calls_of(snapshot.timings);
  if (now.empty()) {
    throw core::BadInput(fmt::format(
        "{} holds no times of kernels: none of its steps was timed launch by launch before it was written",
        name));
  }
  json events = json::array();
  events.push_back(
      metadata_event("process_name", 0, "name",
                     fmt::format("a step of {}: batch {}, {}, {}", snapshot.model, snapshot.settings->batch,
                                 core::to_string(snapshot.selection.precision), snapshot.device.name)));
  name_track(events, kNow, "now");
  for (const StepCall& call : now)
    events.push_back(complete_event(call, kNow, arguments_of(call, now.back().end())));
  const std::vector<StepCall> before = training::calls_before(snapshot.timings);
  if (!before.empty()) name_track(events, kBefore, "before the last switch of each op");
  for (const StepCall& call : before) {
    const bool switched = call.timing->covered_by || !call.timing->previous_variant.empty();
    events.push_back(complete_event(
        call, kBefore, {{"variant", switched ? call.timing->previous_variant : call.timing->variant}}));
  }
  add_counters(events, now);
  add_ranks(events, snapshot.ranks);
  return {{"traceEvents", std::move(events)},
          {"displayTimeUnit", "ns"},
          {"otherData", description_of(name, snapshot)}};
}

json trace_of(const Run& run) {
  const std::string name = run_name(run.folder);
  const auto text = files::read_small_file(run.folder / "status.json", kMostStatusBytes);
  if (!text) {
    throw core::BadInput(
        fmt::format("{} holds no times of kernels: it has no status.json that could be read", name));
  }
  Snapshot snapshot;
  try {
    const json object = files::read_json(*text);
    if (object.is_discarded()) throw core::BadInput("it is not JSON");
    training::from_json(object, snapshot);
  } catch (const core::BadInput& error) {
    throw core::BadInput(files::escaped(fmt::format("{}/status.json is damaged: {}", name, error.what())));
  }
  return trace_of(name, snapshot);
}

}  // namespace warpscope::runs
