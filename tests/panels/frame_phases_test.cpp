#include "ui/frame/frame_phases.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "ui/frame/trace.h"

namespace warpscope::ui::frame_phases_test {
namespace {

double wall = 100, cpu = 10, waited = 1;  // seconds that have passed for the frames of the test

FramePhases phases_of_the_test() {
  return FramePhases({[] { return wall; }, [] { return cpu; }, [] { return waited; }});
}

/// A frame whose thread computes while it draws, and sleeps while it waits.
void frame(FramePhases& phases, double drawing_ms, double waiting_ms) {
  phases.begin();
  { const FramePart part("panel"); }
  wall += 1e-3 * drawing_ms;
  cpu += 1e-3 * drawing_ms;
  phases.mark("drawing");
  wall += 1e-3 * waiting_ms;
  waited += 0.5e-3 * waiting_ms;
  phases.mark("waiting", false);
  phases.end();
}

// In a process of its own: the trace is opened once.
TEST(FramePhasesDeathTest, ASlowFrameIsTracedWithItsPhasesAndAllAreInTheMeans) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const tests::TemporaryFolder folder;
  // The process of its own begins this test anew, with another folder: the first one's name is handed down.
  if (std::getenv("WARPSCOPE_UI_TRACE") == nullptr) {
    setenv("WARPSCOPE_UI_TRACE", (folder / "trace.jsonl").c_str(), 1);
  }
  const std::string file = std::getenv("WARPSCOPE_UI_TRACE");
  EXPECT_EXIT(
      {
        FramePhases phases = phases_of_the_test();
        for (int i = 0; i < 20; ++i) frame(phases, 0, 1);
        frame(phases, 10, 14.9);
        wall += 0.4;  // a rest between frames
        frame(phases, 2, 150);
        trace_event("means", "\"phases\":" + phases.means());
        trace_event("means", "\"phases\":" + phases.means());
        trace_event("slowest", "\"frame\":" + phases.slowest());
        trace_event("slowest", "\"frame\":" + phases.slowest());
        trace_event("parts", "\"parts\":" + phases.parts());
        trace_event("parts", "\"parts\":" + phases.parts());
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  unsetenv("WARPSCOPE_UI_TRACE");
  std::ifstream lines(file);
  std::vector<nlohmann::json> seen;
  for (std::string line; std::getline(lines, line);) seen.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(seen.size(), 7u) << "one frame was slow, and neither the short ones nor the rest are told";
  const nlohmann::json& slow = seen[0];
  EXPECT_EQ(slow["event"], "slow_frame");
  EXPECT_EQ(slow["ms"], 152);
  EXPECT_EQ(slow["waiting_ms"], 75);
  EXPECT_EQ(slow["phases"], nlohmann::json::parse(R"([{"name":"drawing","ms":2.0,"cpu_ms":2.0},
                                                      {"name":"waiting","ms":150.0,"cpu_ms":0.0}])"));
  const nlohmann::json& means = seen[1]["phases"];
  ASSERT_EQ(means.size(), 2u);
  EXPECT_EQ(means[0]["name"], "drawing");
  EXPECT_NEAR(means[0]["ms"].get<double>(), (10 + 2) / 22.0, 0.01) << "without the rest between frames";
  EXPECT_NEAR(means[1]["ms"].get<double>(), (20 * 1 + 14.9 + 150) / 22, 0.01);
  EXPECT_EQ(means[1]["cpu_ms"], 0);
  EXPECT_EQ(seen[2]["phases"].size(), 0u) << "each frame is in one mean";
  const nlohmann::json& slowest = seen[3]["frame"];
  EXPECT_NEAR(slowest["ms"].get<double>(), 10, 0.01)
      << "the one with the most work, however long another one waits";
  EXPECT_EQ(slowest["phases"][0]["ms"], 10);
  EXPECT_EQ(slowest["parts"].size(), 1u);
  EXPECT_EQ(slowest["parts"][0]["name"], "panel");
  EXPECT_TRUE(seen[4]["frame"].is_null()) << "there was no frame since";
  const nlohmann::json& parts = seen[5]["parts"];
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0]["name"], "panel");
  EXPECT_EQ(parts[0]["ms"].size(), 22u) << "one number a frame";
  EXPECT_EQ(parts[0]["cpu_ms"].size(), 22u);
  EXPECT_EQ(seen[6]["parts"].size(), 0u) << "each frame is told once";
}

}  // namespace
}  // namespace warpscope::ui::frame_phases_test
