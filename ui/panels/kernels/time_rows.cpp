#include "ui/panels/kernels/time_rows.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/ops/op.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using training::OpTiming;
using training::Snapshot;
using training::StepCall;

constexpr double kLeastPart = 1.0 / 4096;  ///< of the step that can be seen at once

/// Families of ops that are no products, by the first part of their names; the others are element by element.
constexpr std::pair<std::string_view, OpFamily> kByFolder[] = {
    {"mse", OpFamily::loss},
    {"cross_entropy", OpFamily::loss},
    {"mixed_cross_entropy", OpFamily::loss},
    {"maxpool2d", OpFamily::resampling},
    {"global_average_pool", OpFamily::resampling},
    {"upsample2d", OpFamily::resampling},
    {"batch", OpFamily::data},
    {"labels", OpFamily::data},
};

std::string place_text(ops::Op op, const std::string& layer) {
  return layer.empty() ? std::string(ops::to_string(op)) : fmt::format("{} {}", layer, ops::to_string(op));
}

/// What ran the call before the switch.
const std::string& variant_before(const OpTiming& timing) {
  return timing.previous_variant.empty() ? timing.variant : timing.previous_variant;
}

/// "45.6 TFLOP/s, 1,234 GB/s"
std::string rates_text(const StepCall& call, bool on_gpu) {
  const double gigaflops = call.timing->flops / call.microseconds / 1e3;
  std::string text;
  if (gigaflops > 0) {
    text = on_gpu ? fmt::format("{} TFLOP/s", with_thousands(gigaflops / 1e3, 2))
                  : fmt::format("{} GFLOP/s", with_thousands(gigaflops, 2));
  }
  if (call.timing->bytes > 0) {
    text += fmt::format("{}{} GB/s", text.empty() ? "" : ", ",
                        with_thousands(call.timing->bytes / call.microseconds / 1e3, 1));
  }
  return text;
}

/// A line that says why the time before the switch is not held against that of now; "" where it is.
std::string doubt_about(const OpTiming& timing) {
  const training::Doubt doubt = compare(timing.before(), timing.now(), timing.control).doubt;
  if (doubt == training::Doubt::none) return {};
  return fmt::format("\n{}", doubt_text(doubt, timing.before(), timing.now(), timing.control, "times"));
}

std::string previous_text(const OpTiming& timing) {
  if (timing.previous_variant.empty()) return {};
  if (!(timing.previous_microseconds > 0)) return fmt::format("\nbefore: {}", timing.previous_variant);
  const std::string was =
      fmt::format("\nbefore: {}, {}", timing.previous_variant, time_text(timing.previous_microseconds));
  if (const std::string doubt = doubt_about(timing); !doubt.empty()) return was + doubt;
  return was +
         fmt::format(" ({:.2f}\u00d7 the time of now)", timing.previous_microseconds / timing.microseconds);
}

/// What tells the selection that runs.
std::vector<std::string> running_of(const Snapshot& snapshot) {
  std::vector<std::string> running{std::string(core::to_string(snapshot.selection.precision)),
                                   std::to_string(snapshot.settings->batch)};
  for (const OpTiming& timing : snapshot.timings) running.push_back(timing.variant);
  return running;
}

}  // namespace

OpFamily family_of(ops::Op op) {
  const ops::OpContract& contract = ops::contract(op);
  const std::string_view name = contract.name;
  if (contract.work == ops::Work::products) {
    if (name.ends_with(".backward_input")) return OpFamily::input_gradients;
    return name.ends_with(".backward_weights") ? OpFamily::weight_gradients : OpFamily::forward;
  }
  const std::string_view folder = name.substr(0, name.find('.'));
  for (const auto& [first, family] : kByFolder) {
    if (folder == first) return family;
  }
  return contract.scope == ops::Scope::parameters ? OpFamily::update : OpFamily::elementwise;
}

std::string_view name_of(OpFamily family) {
  static constexpr std::array<std::string_view, kFamilies> kFamilyNames{"forward products",
                                                                        "input gradients",
                                                                        "weight gradients",
                                                                        "bias, ReLU",
                                                                        "pooling, upsampling",
                                                                        "loss",
                                                                        "update",
                                                                        "data"};
  return kFamilyNames[static_cast<std::size_t>(family)];
}

double StepLanes::length() const {
  return std::max(now_end() + rest, before_end());
}

StepLanes lanes_of(const std::vector<OpTiming>& timings, double step_microseconds) {
  StepLanes lanes{training::calls_of(timings), training::calls_before(timings), training::all_timed(timings)};
  if (lanes.complete) lanes.rest = std::max(0.0, step_microseconds - lanes.now_end());
  return lanes;
}

StepLanes lanes_of(const Snapshot& snapshot) {
  return lanes_of(snapshot.timings, whole_step_microseconds(snapshot));
}

const StepCall* call_at(const std::vector<StepCall>& lane, double microseconds) {
  const auto found = std::upper_bound(lane.begin(), lane.end(), microseconds,
                                      [](double time, const StepCall& call) { return time < call.end(); });
  return found == lane.end() || microseconds < found->start ? nullptr : &*found;
}

FamilyShares shares_of(const std::vector<StepCall>& lane) {
  FamilyShares shares{};
  if (lane.empty()) return shares;
  for (const StepCall& call : lane) {
    shares[static_cast<std::size_t>(family_of(call.timing->op))] += call.microseconds / lane.back().end();
  }
  return shares;
}

std::vector<FamilyLegend> legend_of(const StepLanes& lanes) {
  std::vector<FamilyLegend> legend;
  const FamilyShares shares = shares_of(lanes.now);
  for (std::size_t i = 0; i < kFamilies; ++i) {
    if (shares[i] <= 0) continue;
    legend.push_back(
        {static_cast<OpFamily>(i), lanes.complete ? fmt::format("{:.1f} %", 100 * shares[i]) : "-"});
  }
  return legend;
}

void TimeWindow::zoom(double at, double factor) {
  const double before = last - first;
  const double after = std::clamp(before * factor, kLeastPart, 1.0);
  first = std::clamp(at - (at - first) * after / before, 0.0, 1 - after);
  last = first + after;
}

void TimeWindow::pan(double by) {
  const double length = last - first;
  first = std::clamp(first + by, 0.0, 1 - length);
  last = first + length;
}

std::string tip_of(const StepCall& call, const StepLanes& lanes, bool before, bool on_gpu) {
  const OpTiming& timing = *call.timing;
  const double whole = before ? lanes.before_end() : lanes.now_end();
  std::string tip = fmt::format(
      "{}\n{}, {}\n{}", place_text(timing.op, timing.layer), before ? variant_before(timing) : timing.variant,
      ops::contract(timing.op).describe(timing.shape), time_text(call.microseconds));
  if (lanes.complete) tip += fmt::format(", {:.1f} % of the calls", 100 * call.microseconds / whole);
  if (before) {
    if (timing.previous_variant.empty()) return tip + "\nnever switched: the time of now";
    tip += fmt::format("\nbefore the last switch to {}",
                       timing.covered_by ? "a call that covers it" : timing.variant);
    return timing.covered_by ? tip : tip + doubt_about(timing);
  }
  if (const std::string rates = rates_text(call, on_gpu); !rates.empty()) tip += "\n" + rates;
  for (const training::OpPlace& place : timing.covers) {
    tip += fmt::format("{}{}", &place == timing.covers.data() ? "\ncovers " : ", ",
                       place_text(place.op, place.layer));
  }
  tip += previous_text(timing);
  if (!timing.reason.empty()) tip += "\n" + timing.reason;
  return tip;
}

std::string time_text(double microseconds) {
  if (microseconds >= 1e4) return fmt::format("{} ms", with_thousands(microseconds / 1e3, 1));
  return fmt::format("{} \u00b5s", with_thousands(microseconds, microseconds < 10 ? 2 : 1));
}

std::array<std::string, 3> labels_of(const StepCall& call, bool before) {
  const OpTiming& timing = *call.timing;
  const std::string place = place_text(timing.op, timing.layer);
  const std::string& variant = before ? variant_before(timing) : timing.variant;
  return {fmt::format("{}, {}", place, variant), place,
          timing.layer.empty() ? place.substr(0, place.find('.')) : timing.layer};
}

void ShareHistory::watch(const Snapshot& snapshot) {
  if (snapshot.generation != generation_) {
    points_.clear();
    generation_ = snapshot.generation;
    stride_ = 1;
  }
  while (!points_.empty() && points_.back().step > snapshot.step) points_.pop_back();
  if (points_.size() + 1 >= kMost) thin();
  if (!points_.empty() && snapshot.step < points_.back().step + stride_) return;
  if (!training::all_timed(snapshot.timings)) return;
  std::vector<std::string> running = running_of(snapshot);
  const bool switched = !points_.empty() && running != running_;
  running_ = std::move(running);
  points_.push_back({snapshot.step, shares_of(training::calls_of(snapshot.timings)), switched});
}

const ShareHistory::Point* ShareHistory::at(double step) const {
  const auto after = std::upper_bound(
      points_.begin(), points_.end(), step,
      [](double wanted, const Point& point) { return wanted < static_cast<double>(point.step); });
  return after == points_.begin() ? nullptr : &*std::prev(after);
}

/// Drops every second point, but of an odd number not the last; one that goes leaves its switch to the next.
void ShareHistory::thin() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); i += 2) {
    const bool switched = points_[i].switched || (i > 0 && points_[i - 1].switched);
    points_[kept] = points_[i];
    points_[kept++].switched = switched;
  }
  points_.resize(kept);
  stride_ *= 2;
}

}  // namespace warpscope::ui
