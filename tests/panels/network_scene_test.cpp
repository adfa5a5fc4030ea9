// What the Network panel shows of an inspection, made by a thread.

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/inspections.h"
#include "tests/support/tiny.h"
#include "ui/panels/network/network_rows.h"

namespace warpscope::ui::network_scene_test {
namespace {

using tests::inspection_of;

const models::Model kModel = tests::tiny_model();
const models::ParameterLayout kLayout = models::parameter_layout(kModel);

bool same_colour(images::Rgba a, images::Rgba b) {
  return a.r == b.r && a.g == b.g && a.b == b.b && a.a == b.a;
}

std::shared_ptr<const training::Inspection> inspection(std::uint64_t seed) {
  return std::make_shared<const training::Inspection>(inspection_of(kModel, seed));
}

/// Until the thread has come to its end.
void wait_for(NetworkScenes& scenes) {
  while (!scenes.advance()) std::this_thread::yield();
}

TEST(NetworkScene, EachTileHoldsTheColoursOfItsPicture) {
  for (const bool each : {false, true}) {
    const NetworkScene scene =
        make_scene(kModel, kLayout, {inspection(5), 1, NetworkLook::outputs, 0, each}, nullptr);
    ASSERT_EQ(scene.pictures.count, 4);
    const int width = scene.pictures.width, height = scene.pictures.height;
    for (int picture = 0; picture < scene.pictures.count; ++picture) {
      const auto wanted = colours_of(scene.pictures, picture, scene.scale_of_tile(picture));
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          const int row = picture / scene.columns * height + y, column = picture % scene.columns * width + x;
          const auto at = static_cast<std::size_t>(row * scene.columns * width + column);
          ASSERT_TRUE(same_colour(scene.tiles[at], wanted[static_cast<std::size_t>(y * width + x)]));
        }
      }
    }
    const bool alike = scene.scale_of_tile(0).range == scene.scale_of_tile(1).range;
    EXPECT_EQ(alike, !each);
  }
}

TEST(NetworkScene, ALayerWithoutWeightsHasNoFiltersButItsStrip) {
  const NetworkScene scene =
      make_scene(kModel, kLayout, {inspection(5), 2, NetworkLook::weights, 0, false}, nullptr);
  EXPECT_EQ(scene.pictures.count, 0);
  EXPECT_TRUE(scene.tiles.empty());
  EXPECT_EQ(scene.strip->sizes.size(), kModel.layers.size() + 1);
}

TEST(NetworkScene, AnOverviewInTheStripIsTheOneOfItsLayer) {
  const auto seen = inspection(6);
  const NetworkStrip strip = make_strip(*seen);
  ASSERT_EQ(strip.sizes.size(), seen->outputs.size());
  for (std::size_t n = 0; n < strip.sizes.size(); ++n) {
    const Overview one = overview_of(seen->outputs[n]);
    EXPECT_EQ(strip.sizes[n].x, one.width);
    for (int y = 0; y < one.height; ++y) {
      for (int x = 0; x < one.width; ++x) {
        const auto at = static_cast<std::size_t>(y * strip.width() + static_cast<int>(n) * strip.side + x);
        ASSERT_TRUE(same_colour(strip.pixels[at], one.pixels[static_cast<std::size_t>(y * one.width + x)]));
      }
    }
  }
}

TEST(NetworkScenes, WhatWasMadeStaysUntilTheNextIsThereAndTheStripAsLongAsTheInspection) {
  NetworkScenes scenes(kModel);
  NetworkView view{inspection(5), 1, NetworkLook::outputs, 0, false};
  EXPECT_FALSE(scenes.advance());
  scenes.want(view);
  wait_for(scenes);
  const auto first = scenes.newest();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->of, view);
  scenes.want(view);
  EXPECT_FALSE(scenes.advance()) << "nothing is made twice";
  view.output = 4;
  scenes.want(view);
  EXPECT_EQ(scenes.newest(), first);
  wait_for(scenes);
  const auto second = scenes.newest();
  EXPECT_EQ(second->of, view);
  EXPECT_EQ(second->strip, first->strip);
  EXPECT_NE(second->number, first->number);
  view.inspection = inspection(7);
  scenes.want(view);
  wait_for(scenes);
  EXPECT_NE(scenes.newest()->strip, first->strip);
}

TEST(NetworkScenes, WhatIsClearedIsNotSeenEvenIfItWasUnderWay) {
  NetworkScenes scenes(kModel);
  const NetworkView view{inspection(5), 1, NetworkLook::outputs, 0, false};
  scenes.want(view);
  scenes.clear();
  wait_for(scenes);
  EXPECT_FALSE(scenes.newest());
  scenes.want(view);
  wait_for(scenes);
  EXPECT_TRUE(scenes.newest());
}

TEST(NetworkScenes, OfAnotherNetworkNothingOfTheOneBeforeIsSeen) {
  NetworkScenes scenes(kModel);
  scenes.want({inspection(5), 1, NetworkLook::outputs, 0, false});
  wait_for(scenes);
  ASSERT_TRUE(scenes.newest());
  models::Model other = kModel;
  other.layers[0].out_channels = 6;
  models::fit_layers(other);
  scenes.set_model(other);
  EXPECT_FALSE(scenes.newest());
  scenes.want({std::make_shared<training::Inspection>(tests::inspection_of(other, 6)), 1,
               NetworkLook::weights, 0, false});
  wait_for(scenes);
  ASSERT_TRUE(scenes.newest());
  EXPECT_EQ(scenes.newest()->pictures.count, 6);
}

}  // namespace
}  // namespace warpscope::ui::network_scene_test
