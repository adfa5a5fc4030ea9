#include "ui/images/grid_layout.h"

#include <set>
#include <utility>

#include <gtest/gtest.h>

namespace warpscope::ui::images::grid_layout_test {
namespace {

GridSpace space(int width, int height, float scale = 1) {
  const auto pixels = [scale](int design) { return static_cast<int>(static_cast<float>(design) * scale); };
  GridSpace result;
  result.width = width;
  result.height = height;
  result.image_width = 32;
  result.image_height = 32;
  result.count = 32;
  result.gap = pixels(4);
  result.row_gap = pixels(2);
  result.band_gap = pixels(8);
  result.caption_height = pixels(20);
  result.caption_width = pixels(34);
  result.scale = scale;
  return result;
}

TEST(Atlas, OneBandHoldsAllColumnsThatFitIntoTheTexture) {
  const Atlas atlas = make_atlas(32, 32, 32, 16384);
  EXPECT_EQ(atlas.texture_width(), 1024);
  EXPECT_EQ(atlas.texture_height(), 96);
  EXPECT_EQ(atlas.tile(kNow, 3), (Point{96, 32}));
  EXPECT_EQ(atlas.bytes(), 32u * 32 * 32 * 3 * 4);
}

TEST(Atlas, WrapsIntoBandsWhereTheTextureEnds) {
  const Atlas atlas = make_atlas(5, 10, 40, 100);
  EXPECT_EQ(atlas.columns, 2);
  EXPECT_EQ(atlas.bands(), 3);
  EXPECT_EQ(atlas.tile(kOriginal, 3), (Point{40, 30}));
  EXPECT_EQ(atlas.tile(kDifference, 4), (Point{0, 80}));
}

TEST(Atlas, LeavesOutWhatDoesNotFit) {
  EXPECT_EQ(make_atlas(100, 10, 40, 100).count, 6);
  EXPECT_EQ(make_atlas(4, 200, 200, 100).count, 0);
}

TEST(Atlas, TilesNeverOverlap) {
  const Atlas atlas = make_atlas(7, 3, 5, 16);
  std::set<std::pair<int, int>> taken;
  for (int image = 0; image < atlas.count; ++image) {
    for (int row = 0; row < kRows; ++row) {
      const Point corner = atlas.tile(row, image);
      for (int i = 0; i < 15; ++i) {
        const int x = corner.x + i % 5;
        const int y = corner.y + i / 5;
        EXPECT_TRUE(taken.emplace(x, y).second);
        EXPECT_LT(x, atlas.texture_width());
        EXPECT_LT(y, atlas.texture_height());
      }
    }
  }
}

TEST(Grid, ColumnsStandSideBySideWithTheirThreeRows) {
  const Grid grid = make_grid(space(700, 320), 3);
  EXPECT_EQ(grid.columns, 7) << "7 x 96 pixels and the gaps between";
  EXPECT_EQ(grid.bands, 5);
  EXPECT_EQ(grid.place(kOriginal, 2), (Point{200, 0}));
  EXPECT_EQ(grid.place(kDifference, 2), (Point{200, 196}));
  EXPECT_EQ(grid.place(kRows, 2), (Point{200, 292}));
}

TEST(Grid, WhatDoesNotFitIntoABandStandsInTheNext) {
  const Grid grid = make_grid(space(700, 320), 3);
  EXPECT_EQ(grid.place(kOriginal, 7), (Point{0, 320}));
  EXPECT_EQ(grid.place(kOriginal, 31), (Point{300, 4 * 320}));
  EXPECT_EQ(grid.content_height(), 5 * 320 - 8);
  EXPECT_LE(grid.content_width(), 700);
  EXPECT_EQ(grid.visible_images(), 7);
  EXPECT_EQ(make_grid(space(700, 640), 3).visible_images(), 14);
}

TEST(Grid, UsesNoMoreColumnsThanThereAreImages) {
  const Grid grid = make_grid(space(4000, 4000), 1);
  EXPECT_EQ(grid.bands, 1);
  EXPECT_EQ(grid.columns, 32);
}

TEST(Grid, AnImageThatIsTooWideStillHasAColumn) {
  const Grid grid = make_grid(space(50, 320), 3);
  EXPECT_EQ(grid.columns, 1);
  EXPECT_EQ(grid.bands, 32);
}

TEST(Grid, NarrowImagesLeaveRoomForTheirCaptions) {
  GridSpace narrow = space(700, 320);
  narrow.image_width = 8;
  EXPECT_EQ(make_grid(narrow, 1).column_width(), 34);
  EXPECT_EQ(make_grid(narrow, 8).column_width(), 64);
}

TEST(Grid, ABandHasAsManyRowsAsThereAreVersions) {
  GridSpace room = space(700, 640);
  room.rows = 5;
  const Grid grid = make_grid(room, 3);
  EXPECT_EQ(grid.band_height(), 5 * 96 + 4 * 2 + 20);
  EXPECT_EQ(grid.place(4, 2), (Point{200, 4 * 98}));
  EXPECT_EQ(grid.place(5, 2), (Point{200, 5 * 98 - 2})) << "the caption";
  const auto hit = grid.hit({205, 4 * 98 + 3});
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->row, 4);
  room.height = 480;
  EXPECT_LT(fit_zoom(room), fit_zoom(space(700, 480))) << "a whole band must fit";
}

TEST(Grid, FindsThePixelUnderThePointer) {
  const Grid grid = make_grid(space(700, 640), 3);
  for (const int image : {0, 5, 16, 31}) {
    for (int row = 0; row < kRows; ++row) {
      const Point corner = grid.place(row, image);
      const auto hit = grid.hit({corner.x + 3 * 7 + 2, corner.y + 3 * 31});
      ASSERT_TRUE(hit.has_value());
      EXPECT_EQ(hit->image, image);
      EXPECT_EQ(hit->row, row);
      EXPECT_EQ(hit->x, 7);
      EXPECT_EQ(hit->y, 31);
    }
  }
}

TEST(Grid, FindsNothingBetweenAndBeyondTheImages) {
  const Grid grid = make_grid(space(700, 320), 3);
  EXPECT_FALSE(grid.hit({97, 10}));     // the gap between columns
  EXPECT_FALSE(grid.hit({10, 97}));     // the gap between rows
  EXPECT_FALSE(grid.hit({10, 300}));    // the caption
  EXPECT_FALSE(grid.hit({-1, 10}));     // left of everything
  EXPECT_FALSE(grid.hit({700, 10}));    // right of the last
  EXPECT_FALSE(grid.hit({410, 1290}));  // after the last of the last band
  EXPECT_FALSE(grid.hit({10, 1610}));   // below
}

TEST(FitZoom, ShowsAtLeastSixImagesWithTheirThreeRows) {
  for (int width = 300; width <= 3800; width += 175) {
    for (int height = 140; height <= 2000; height += 93) {
      const GridSpace room = space(width, height);
      const float zoom = fit_zoom(room);
      if (zoom == 1) continue;
      const Grid grid = make_grid(room, zoom);
      EXPECT_LE(grid.band_height(), height);
      EXPECT_GE(grid.visible_images(), 6) << width << " x " << height;
    }
  }
}

TEST(FitZoom, IsTheLargestThatSuits) {
  EXPECT_EQ(fit_zoom(space(700, 340)), 3);
  EXPECT_EQ(fit_zoom(space(420, 170)), 1.5f) << "two do not fit, and one leaves a third of the room empty";
  EXPECT_EQ(fit_zoom(space(420, 120)), 1);
  EXPECT_EQ(fit_zoom(space(700, 250)), 2);
}

TEST(FitZoom, FourRowsHaveTheLargestSizeThatFits) {
  GridSpace four = space(640, 0);
  four.rows = 4;
  for (int height = 160; height < 800; ++height) {
    four.height = height;
    const Grid grid = make_grid(four, fit_zoom(four));
    EXPECT_LE(grid.band_height(), height);
    const Grid next = make_grid(four, grid.zoom + (grid.zoom < 2 ? 0.25f : 1.0f));
    EXPECT_TRUE(next.band_height() > height || next.visible_images() < 6 || grid.zoom >= 3) << height;
  }
}

TEST(Grid, FindsThePixelWherePixelsHaveDifferentSizes) {
  const Grid grid = make_grid(space(700, 640), 1.5f);
  EXPECT_EQ(grid.row_height(), 48);
  const auto last = grid.hit({47, 47}), first = grid.hit({0, 0});
  ASSERT_TRUE(last && first);
  EXPECT_EQ(last->x, 31);
  EXPECT_EQ(last->y, 31);
  EXPECT_EQ(first->x, 0);
  EXPECT_FALSE(grid.hit({48, 10}));
}

TEST(FitZoom, FollowsTheScale) {
  EXPECT_EQ(fit_zoom(space(1400, 680, 2)), 2 * fit_zoom(space(700, 340)));
}

TEST(FitZoom, ShowsFewImagesLarge) {
  GridSpace room = space(700, 600);
  room.count = 2;
  EXPECT_GT(fit_zoom(room), 5);
}

}  // namespace
}  // namespace warpscope::ui::images::grid_layout_test
