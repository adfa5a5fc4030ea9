#include "ui/plot/grid.h"

#include <gtest/gtest.h>

namespace warpscope::ui::plot::grid_test {
namespace {

TEST(Grid, PlotsAreAboutTwiceAsWideAsHigh) {
  EXPECT_EQ(grid_of(1, ImVec2(800, 400), 240), (GridShape{1, 1}));
  EXPECT_EQ(grid_of(2, ImVec2(800, 800), 240), (GridShape{1, 2}));
  EXPECT_EQ(grid_of(2, ImVec2(1600, 400), 240), (GridShape{2, 1}));
  EXPECT_EQ(grid_of(4, ImVec2(1600, 800), 240), (GridShape{2, 2}));
  EXPECT_EQ(grid_of(3, ImVec2(1200, 600), 240), (GridShape{2, 2}));
}

TEST(Grid, NoPlotIsNarrowerThanTheLeastWidthWhereThatCanBe) {
  EXPECT_EQ(grid_of(4, ImVec2(470, 100), 240), (GridShape{1, 4}));
  EXPECT_EQ(grid_of(4, ImVec2(480, 100), 240), (GridShape{2, 2}));
  EXPECT_EQ(grid_of(3, ImVec2(100, 100), 240), (GridShape{1, 3}));
}

TEST(Grid, EveryPlotHasACell) {
  for (int count = 1; count <= 8; ++count) {
    for (const ImVec2 room : {ImVec2(500, 200), ImVec2(900, 900), ImVec2(3000, 300), ImVec2(1, 1)}) {
      const GridShape grid = grid_of(count, room, 240);
      EXPECT_GE(grid.columns * grid.rows, count);
      EXPECT_LT((grid.rows - 1) * grid.columns, count) << "no row is empty";
    }
  }
}

}  // namespace
}  // namespace warpscope::ui::plot::grid_test
