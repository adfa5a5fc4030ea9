#include "ui/frame_phases.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ui/trace.h"

namespace warpscope::ui {
namespace {

using std::chrono::milliseconds;

void frame(FramePhases& phases, milliseconds drawing, milliseconds waiting) {
  phases.begin();
  std::this_thread::sleep_for(drawing);
  phases.mark("drawing");
  std::this_thread::sleep_for(waiting);
  phases.mark("waiting");
}

// In a process of its own: the trace is opened once.
TEST(FramePhasesDeathTest, ASlowFrameIsTracedWithItsPhasesAndAllAreInTheMeans) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto file = std::filesystem::temp_directory_path() / "warpscope-frame-phases.jsonl";
  std::filesystem::remove(file);
  EXPECT_EXIT(
      {
        setenv("WARPSCOPE_UI_TRACE", file.c_str(), 1);
        FramePhases phases;
        for (int i = 0; i < 20; ++i) frame(phases, milliseconds(0), milliseconds(1));
        frame(phases, milliseconds(2), milliseconds(150));
        frame(phases, milliseconds(400), milliseconds(1));
        phases.drop();
        phases.begin();
        trace_event("means", "\"phases\":" + phases.means());
        trace_event("means", "\"phases\":" + phases.means());
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  std::ifstream lines(file);
  std::vector<nlohmann::json> seen;
  for (std::string line; std::getline(lines, line);) seen.push_back(nlohmann::json::parse(line));
  ASSERT_GE(seen.size(), 3u);
  EXPECT_EQ(seen.back()["phases"].size(), 0u) << "each frame is in one mean";
  seen.pop_back();
  const nlohmann::json means = seen.back()["phases"];
  seen.pop_back();
  ASSERT_EQ(means.size(), 2u);
  EXPECT_EQ(means[1]["name"], "waiting");
  EXPECT_GE(means[1]["ms"], (20 * 1 + 150) / 21.0 - 0.01);
  EXPECT_LT(means[1]["ms"], 150) << "a mean, not the sum";
  EXPECT_LT(means[0]["ms"], 400 / 22.0) << "without the frame that was dropped";
  EXPECT_LT(means[1]["cpu_ms"], means[1]["ms"]);
  // On a busy machine a short frame may take long.
  ASSERT_LT(seen.size(), 10u);
  for (const nlohmann::json& event : seen) {
    EXPECT_EQ(event["event"], "slow_frame");
    EXPECT_GE(event["ms"], 25) << "a short frame is not told";
    EXPECT_LT(event["ms"], 400) << "nor is one that was dropped";
  }
  const nlohmann::json& slow = seen.back();
  EXPECT_GE(slow["ms"], 152);
  ASSERT_EQ(slow["phases"].size(), 2u);
  EXPECT_EQ(slow["phases"][0]["name"], "drawing");
  EXPECT_EQ(slow["phases"][1]["name"], "waiting");
  EXPECT_GE(slow["phases"][1]["ms"], 150);
  EXPECT_LT(slow["phases"][1]["cpu_ms"], 75) << "a thread that sleeps computes nothing";
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace warpscope::ui
