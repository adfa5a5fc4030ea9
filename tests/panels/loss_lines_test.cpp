#include "ui/panels/curves/loss_lines.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ui/plot/draw_curve.h"

namespace warpscope::ui::loss_lines_test {
namespace {

using Runs = std::vector<std::unique_ptr<ShownTraining>>;

void add_run(Runs& runs, int color) {
  runs.push_back(std::make_unique<ShownTraining>());
  runs.back()->color = color;
}

TEST(DashOfRun, NoTwoCurvesHaveColourAndDashesAlike) {
  Runs runs;
  for (int i = 0; i < 12; ++i) add_run(runs, free_color(runs));
  std::set<std::pair<int, std::size_t>> seen{
      {kTrainColor, 0}, {kTestColor, 0}, {kValidationColor, 0}, {kBeforeColor, 0}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t train = dash_of_run(runs, i), held_out = train + 1;
    EXPECT_TRUE(seen.insert({runs[i]->color, train % plot::kDashes}).second) << i;
    EXPECT_TRUE(seen.insert({runs[i]->color, held_out % plot::kDashes}).second) << i;
  }
}

TEST(DashOfRun, AColourThatIsTheRunsOwnHasAWholeLine) {
  Runs runs;
  for (const int color : {2, 4, 2, static_cast<int>(kTrainColor)}) add_run(runs, color);
  EXPECT_EQ(dash_of_run(runs, 0), 0u);
  EXPECT_EQ(dash_of_run(runs, 1), 0u);
  EXPECT_EQ(dash_of_run(runs, 2), 2u);
  EXPECT_EQ(dash_of_run(runs, 3), 1u);
}

}  // namespace
}  // namespace warpscope::ui::loss_lines_test
