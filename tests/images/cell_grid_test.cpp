#include <algorithm>

#include <gtest/gtest.h>

#include "ui/images/grid_layout.h"

namespace warpscope::ui::images::cell_grid_test {
namespace {

CellSpace space(int width, int height, int count = 10000, int side = 32) {
  CellSpace result;
  result.width = width;
  result.height = height;
  result.image_width = result.image_height = side;
  result.count = count;
  result.gap = 8;
  result.edge = 3;
  result.caption_height = 36;
  result.least_width = 84;
  return result;
}

TEST(CellGrid, SharesTheWidthAmongItsColumns) {
  for (int width = 100; width < 2000; width += 37) {
    for (int zoom = 1; zoom <= 8; ++zoom) {
      const CellGrid grid = make_cells(space(width, 400), zoom);
      EXPECT_GE(grid.cell_width, 84);
      EXPECT_GE(grid.cell_width, zoom * 32);
      if (grid.columns > 1) {
        EXPECT_LE(grid.place(grid.columns - 1).x + grid.cell_width, width);
      }
      EXPECT_LT(width, 6 + (grid.columns + 1) * (std::max(84, zoom * 32) + 8));
    }
  }
}

TEST(CellGrid, EveryCellIsHitAtItsPlace) {
  const CellGrid grid = make_cells(space(700, 400, 23), 3);
  for (int cell = 0; cell < 23; ++cell) {
    const Point place = grid.place(cell);
    EXPECT_EQ(grid.hit(place), cell);
    EXPECT_EQ(grid.hit({place.x + grid.cell_width - 1, place.y + grid.cell_height() - 1}), cell);
    EXPECT_FALSE(grid.hit({place.x - 1, place.y}));
    EXPECT_FALSE(grid.hit({place.x, place.y + grid.cell_height()}));
  }
  EXPECT_FALSE(grid.hit(grid.place(23)));
  EXPECT_FALSE(grid.hit({-1, -1}));
}

TEST(CellGrid, OnlyWhatIsSeenIsVisible) {
  const CellGrid grid = make_cells(space(700, 400), 2);
  EXPECT_EQ(grid.first_visible(0), 0);
  for (int top = 0; top < grid.content_height(); top += 91) {
    const int first = grid.first_visible(top), end = grid.end_visible(top);
    EXPECT_LE(end - first, grid.columns * (400 / grid.row_pitch() + 2));
    if (first > 0) {
      EXPECT_LE(grid.place(first - 1).y + grid.cell_height(), top);
    }
    if (end < 10000) {
      EXPECT_GE(grid.place(end).y, top + 400);
    }
    EXPECT_LE(grid.place(first).y, std::max(top, grid.space.edge));
  }
  EXPECT_EQ(grid.end_visible(grid.content_height()), 10000);
}

TEST(CellGrid, FitsMoreThanAFewCells) {
  EXPECT_EQ(fit_cells(space(380, 160)), 2);
  EXPECT_GE(fit_cells(space(780, 420)), 3);
  for (int width = 200; width < 2000; width += 61) {
    for (int height = 120; height < 1200; height += 83) {
      const CellGrid grid = make_cells(space(width, height), fit_cells(space(width, height)));
      if (grid.zoom > 1) {
        EXPECT_LE(grid.row_pitch(), height);
      }
    }
  }
}

TEST(CellGrid, AFewImagesMayBeLarge) {
  const int zoom = fit_cells(space(780, 420, 4));
  EXPECT_GT(zoom, fit_cells(space(780, 420)));
  EXPECT_LE(make_cells(space(780, 420, 4), zoom).content_height(), 420);
}

TEST(CellGrid, ImagesWiderThanTheRoomMakeOneColumn) {
  const CellGrid grid = make_cells(space(200, 400, 5, 300), 1);
  EXPECT_EQ(grid.columns, 1);
  EXPECT_EQ(grid.rows(), 5);
  EXPECT_EQ(fit_cells(space(200, 400, 5, 300)), 1);
}

}  // namespace
}  // namespace warpscope::ui::images::cell_grid_test
