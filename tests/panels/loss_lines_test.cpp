#include "ui/panels/loss_lines.h"

#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "ui/plot/draw_curve.h"

namespace warpscope::ui {
namespace {

OverlayRun run_of(int color) {
  OverlayRun run;
  run.color = color;
  return run;
}

TEST(DashOfRun, NoTwoCurvesHaveColourAndDashesAlike) {
  std::vector<OverlayRun> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(run_of(free_color(runs)));
  std::set<std::pair<int, std::size_t>> seen{
      {kTrainColor, 0}, {kTestColor, 0}, {kValidationColor, 0}, {kBeforeColor, 0}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t train = dash_of_run(runs, i), held_out = train + 1;
    EXPECT_TRUE(seen.insert({runs[i].color, train % plot::kDashes}).second) << i;
    EXPECT_TRUE(seen.insert({runs[i].color, held_out % plot::kDashes}).second) << i;
  }
}

TEST(DashOfRun, AColourThatIsTheRunsOwnHasAWholeLine) {
  const std::vector<OverlayRun> runs{run_of(2), run_of(4), run_of(2)};
  EXPECT_EQ(dash_of_run(runs, 0), 0u);
  EXPECT_EQ(dash_of_run(runs, 1), 0u);
  EXPECT_EQ(dash_of_run(runs, 2), 2u);
  EXPECT_EQ(dash_of_run(std::vector<OverlayRun>{run_of(kTrainColor)}, 0), 1u);
}

}  // namespace
}  // namespace warpscope::ui
