#include <gtest/gtest.h>

#include "ui/images/byte_colours.h"
#include "ui/interop/texture.h"
#include "ui/panels/pictures/tiled_images.h"

namespace warpscope::ui::tile_cache_test {
namespace {

using images::Rgba;

TEST(TileCache, KeepsWhatItHas) {
  TileCache cache(4);
  const auto first = cache.need(7);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->fresh);
  cache.begin_frame();
  const auto again = cache.need(7);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->fresh);
  EXPECT_EQ(again->tile, first->tile);
}

TEST(TileCache, GivesAwayTheTileThatWasNeededLeastRecently) {
  TileCache cache(2);
  const int first = cache.need(1)->tile;
  cache.begin_frame();
  const int second = cache.need(2)->tile;
  EXPECT_NE(first, second);
  cache.begin_frame();
  const auto third = cache.need(3);
  EXPECT_TRUE(third->fresh);
  EXPECT_EQ(third->tile, first);
  EXPECT_FALSE(cache.need(2)->fresh);
  cache.begin_frame();
  EXPECT_TRUE(cache.need(1)->fresh) << "its tile was given away";
}

TEST(TileCache, NeverTakesATileOfTheSameFrame) {
  TileCache cache(2);
  cache.begin_frame();
  EXPECT_TRUE(cache.need(1));
  EXPECT_TRUE(cache.need(2));
  EXPECT_FALSE(cache.need(3));
  EXPECT_FALSE(cache.need(1)->fresh);
  EXPECT_FALSE(TileCache(0).need(1));
}

TEST(TileCache, ForgetsImagesThatAreOthersNow) {
  TileCache cache(2);
  cache.need(1);
  cache.clear();
  EXPECT_TRUE(cache.need(1)->fresh);
}

TEST(TilePage, HasRoomForTheTilesAskedFor) {
  const interop::PageShape small = interop::make_page(1024, 32, 32, 4096);
  EXPECT_EQ(small.columns, 32);
  EXPECT_EQ(small.rows, 32);
  const interop::PageShape digits = interop::make_page(1000, 28, 28, 4096);
  EXPECT_GE(digits.tiles(), 1000);
  EXPECT_LE(digits.tiles(), 1100);
  const interop::PageShape large = interop::make_page(1024, 224, 100, 2048);
  EXPECT_LE(large.columns * 224, 2048);
  EXPECT_LE(large.rows * 100, 2048);
  EXPECT_GE(large.tiles(), 100);
  EXPECT_EQ(interop::make_page(4, 5000, 5000, 4096).tiles(), 1);
}

TEST(ByteColours, GreyStaysGreyAndColourStaysColour) {
  data::ImageSet grey{1, 2, 1, 2, {1, 2, 3, 4}, {0, 0}};
  EXPECT_EQ(images::byte_colours(grey, 1), (std::vector<Rgba>{{3, 3, 3, 255}, {4, 4, 4, 255}}));
  data::ImageSet colour{1, 1, 3, 2, {1, 2, 3, 4, 5, 6}, {0, 0}};
  EXPECT_EQ(images::byte_colours(colour, 1), (std::vector<Rgba>{{4, 5, 6, 255}}));
}

}  // namespace
}  // namespace warpscope::ui::tile_cache_test
