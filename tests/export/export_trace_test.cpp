// The step as a Chrome trace.

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/export/export.h"
#include "gpu/runs/snapshot_json.h"
#include "tests/runs/run_maker.h"
#include "tests/support/changes.h"

namespace warpscope::runs::export_trace_test {
namespace {

using nlohmann::json;
using ops::Op;

training::OpTiming timing(Op op, const char* layer, double microseconds) {
  training::OpTiming result;
  result.op = op;
  result.layer = layer;
  result.variant = "naive";
  result.microseconds = microseconds;
  result.samples = 7;
  result.flops = 2e6;
  result.bytes = 4e4;
  return result;
}

training::Snapshot snapshot() {
  training::Snapshot result;
  result.model = "autoencoder";
  tests::settings_of(result).batch = 64;
  result.step = 120;
  result.device.name = "AMD EPYC";
  result.timings = {timing(Op::conv2d_forward, "conv1", 20), timing(Op::relu_forward, "relu1", 0),
                    timing(Op::optimizer_update, "", 5)};
  result.timings[1].variant = "";
  result.timings[1].covered_by = training::OpPlace{Op::conv2d_forward, "conv1"};
  result.timings[0].covers = {{Op::relu_forward, "relu1"}};
  return result;
}

/// The events of one kind, of one track if `track` is not 0.
std::vector<json> events_of(const json& trace, const char* kind, int track = 0) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == kind && (track == 0 || event["tid"] == track)) found.push_back(event);
  }
  return found;
}

TEST(ExportTrace, EveryCallIsACompleteEventBehindTheOneBefore) {
  const json trace = trace_of("a run", snapshot());
  const auto calls = events_of(trace, "X");
  ASSERT_EQ(calls.size(), 2u) << "a covered op is no call";
  EXPECT_EQ(calls[0]["name"], "conv2d.forward conv1");
  EXPECT_EQ(calls[0]["ts"], 0.0);
  EXPECT_EQ(calls[0]["dur"], 20.0);
  EXPECT_EQ(calls[0]["args"]["variant"], "naive");
  EXPECT_EQ(calls[0]["args"]["share"], 0.8);
  EXPECT_EQ(calls[0]["args"]["covers"], json::array({"relu.forward relu1"}));
  EXPECT_EQ(calls[1]["name"], "optimizer.update");
  EXPECT_EQ(calls[1]["cat"], "optimizer");
  EXPECT_EQ(calls[1]["ts"], 20.0);
  EXPECT_EQ(trace["otherData"]["step"], 120);
  EXPECT_FALSE(trace["otherData"].contains("calls_without_a_time"));
}

TEST(ExportTrace, RatesAreCountersThatEndWithTheStep) {
  const auto counters = events_of(trace_of("a run", snapshot()), "C");
  ASSERT_EQ(counters.size(), 6u);
  EXPECT_EQ(counters[0]["name"], "TFLOP/s");
  EXPECT_DOUBLE_EQ(counters[0]["args"]["value"].get<double>(), 0.1);
  EXPECT_EQ(counters[1]["name"], "GB/s");
  EXPECT_DOUBLE_EQ(counters[1]["args"]["value"].get<double>(), 2.0);
  EXPECT_EQ(counters.back()["ts"], 25.0);
  EXPECT_EQ(counters.back()["args"]["value"], 0.0);
}

TEST(ExportTrace, TimesBeforeASwitchAreATrackOfTheirOwn) {
  training::Snapshot switched = snapshot();
  EXPECT_TRUE(events_of(trace_of("a run", switched), "X", 2).empty());
  switched.timings[0].previous_microseconds = 60;
  switched.timings[0].previous_variant = "loops";
  const auto before = events_of(trace_of("a run", switched), "X", 2);
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(before[0]["args"]["variant"], "loops");
  EXPECT_EQ(before[0]["dur"], 60.0);
  EXPECT_EQ(before[1]["args"]["variant"], "naive") << "it was never switched";
  EXPECT_EQ(before[1]["ts"], 60.0);
}

TEST(ExportTrace, EachRankIsAProcessOnOneAxis) {
  training::Snapshot ranks = snapshot();
  ranks.ranks.resize(3);  // the last one has timed nothing
  ranks.ranks[0] = {.device = "cpu", .name = "AMD EPYC", .newest = {7, 0, 100, 200, 30, 10, 50}};
  ranks.ranks[1] = {.device = "cpu",
                    .name = "AMD EPYC",
                    .newest = {7, 40, 90, 200, 0, 10, 50, 25},
                    .clock_uncertainty = 2.5};
  std::vector<json> first, second;
  for (const json& event : events_of(trace_of("a run", ranks), "X")) {
    EXPECT_NE(event["pid"], 4);
    if (event["pid"] == 2) first.push_back(event);
    if (event["pid"] == 3) second.push_back(event);
  }
  ASSERT_EQ(first.size(), 5u);
  EXPECT_EQ(first[2]["name"], "waiting for the slowest");
  EXPECT_EQ(first[2]["ts"], 300.0);
  EXPECT_EQ(first[4]["ts"], 340.0);
  ASSERT_EQ(second.size(), 4u) << "nothing that took no time";
  EXPECT_EQ(second[0]["ts"], 40.0);
  EXPECT_EQ(second[1]["args"]["sums_beside_us"], 25.0);
  EXPECT_FALSE(first[1]["args"].contains("sums_beside_us"));
  EXPECT_EQ(second[2]["name"], "sums over ranks");
  EXPECT_EQ(second[2]["ts"], 330.0);
  EXPECT_EQ(second[2]["args"]["clock_uncertainty_us"], 2.5);
}

TEST(ExportTrace, CallsWithoutATimeAreNamed) {
  training::Snapshot partly = snapshot();
  partly.timings[0].microseconds = 0;
  const json trace = trace_of("a run", partly);
  EXPECT_EQ(events_of(trace, "X").size(), 1u);
  EXPECT_EQ(trace["otherData"]["calls_without_a_time"], json::array({"conv2d.forward conv1"}));
}

TEST(ExportTrace, ARunWithoutTimesIsRefused) {
  training::Snapshot untimed = snapshot();
  for (training::OpTiming& one : untimed.timings) one.microseconds = 0;
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { trace_of("a run", untimed); }),
                           {"a run holds no times of kernels"}));
}

TEST(ExportTrace, IsReadFromTheStatusOfARun) {
  const tests::TemporaryFolder folder;
  tests::make_run(folder / "first", tests::run_head("finished"), "");
  const runs::Run run = read_run(folder / "first");
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { trace_of(run); }),
                           {"first holds no times of kernels", "status.json"}));
  tests::write_text(folder / "first/status.json", "{\"step\":");
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { trace_of(run); }),
                           {"first/status.json is damaged", "not JSON"}));
  tests::write_text(folder / "first/status.json", json(snapshot()).dump());
  EXPECT_EQ(trace_of(run), trace_of("first", snapshot()));
}

}  // namespace
}  // namespace warpscope::runs::export_trace_test
