#include "ui/paint/picture.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::paint::picture_test {
namespace {

Picture picture_of(int width, int height, const std::vector<std::uint8_t>& changed) {
  return {nullptr, width, height, changed};
}

TEST(ChangedAreas, NothingChangedIsNoArea) {
  EXPECT_TRUE(changed_areas(picture_of(40, 20, std::vector<std::uint8_t>(6))).empty());
}

TEST(ChangedAreas, AreasEndWithThePicture) {
  const std::vector<Area> all{{0, 0, 40, 20}};
  EXPECT_EQ(changed_areas(picture_of(40, 20, std::vector<std::uint8_t>(6, 1))), all);
}

TEST(ChangedAreas, NearTilesOfARowAreTakenTogetherAndEqualRowsToo) {
  const std::vector<std::uint8_t> changed{
      1, 0, 0, 0, 1, 0, 0, 0, 0, 1,  //
      0, 1, 0, 0, 0, 0, 0, 0, 0, 0,  //
      0, 1, 0, 0, 0, 0, 0, 0, 0, 0,  //
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  //
      0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
  };
  const std::vector<Area> wanted{{0, 0, 80, 16}, {144, 0, 16, 16}, {16, 16, 16, 32}, {16, 64, 16, 16}};
  EXPECT_EQ(changed_areas(picture_of(160, 80, changed)), wanted);
}

TEST(ChangedAreas, HoldAllThatChangedOnceAndNothingOutsideThePicture) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const int width = 1 + static_cast<int>(random() % 300), height = 1 + static_cast<int>(random() % 200);
    std::vector<std::uint8_t> changed(tiles_along(width) * tiles_along(height));
    for (std::uint8_t& tile : changed) tile = random() % 6 == 0;
    std::vector<int> held(static_cast<std::size_t>(width * height));
    for (const Area& area : changed_areas(picture_of(width, height, changed))) {
      ASSERT_LE(area.x + area.width, width);
      ASSERT_LE(area.y + area.height, height);
      for (int y = area.y; y < area.y + area.height; ++y) {
        for (int x = area.x; x < area.x + area.width; ++x) ++held[static_cast<std::size_t>(y * width + x)];
      }
    }
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const std::size_t tile =
            static_cast<std::size_t>(y / kTile) * tiles_along(width) + static_cast<std::size_t>(x / kTile);
        const int times = held[static_cast<std::size_t>(y * width + x)];
        ASSERT_LE(times, 1);
        ASSERT_TRUE(changed[tile] == 0 || times == 1);
      }
    }
  }
}

}  // namespace
}  // namespace warpscope::ui::paint::picture_test
