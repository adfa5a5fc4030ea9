// Points of the latent space from their recipes.

#include "gpu/messages/latents.h"

#include <vector>

#include <gtest/gtest.h>

namespace warpscope::training::latents_test {
namespace {

/// Three latents of two numbers; the components are the axes.
LatentMap map_of_three() {
  LatentMap map;
  map.latent.extent = {1, 1, 2};
  map.count = 3;
  map.rank = 2;
  map.values = {1, 1, 3, 1, 2, 4};
  map.mean = {2, 2};
  map.components = {0, 1, 1, 0};
  map.sigmas = {2, 0.5f};
  return map;
}

using Point = std::vector<float>;

TEST(LatentRecipe, BeginsAtTheMeanOrAtAnImage) {
  const LatentMap map = map_of_three();
  EXPECT_EQ(latent_at(map, {}), (Point{2, 2}));
  EXPECT_EQ(latent_at(map, {.from = 2}), (Point{2, 4}));
}

TEST(LatentRecipe, GoesAPartOfTheWayToAnotherImage) {
  const LatentMap map = map_of_three();
  EXPECT_EQ(latent_at(map, {.from = 0, .to = 2, .t = 0}), (Point{1, 1}));
  EXPECT_EQ(latent_at(map, {.from = 0, .to = 2, .t = 0.5f}), (Point{1.5f, 2.5f}));
  EXPECT_EQ(latent_at(map, {.from = 0, .to = 2, .t = 1}), (Point{2, 4}));
}

TEST(LatentRecipe, GoesStandardDeviationsAlongTheComponents) {
  EXPECT_EQ(latent_at(map_of_three(), {.from = 0, .deviations = {1, -2}}), (Point{0, 3}));
}

TEST(LatentRecipe, OfWhatIsNotThereIsNoPoint) {
  const LatentMap map = map_of_three();
  EXPECT_TRUE(latent_at(map, {.from = 3}).empty());
  EXPECT_TRUE(latent_at(map, {.from = -2}).empty());
  EXPECT_TRUE(latent_at(map, {.from = 0, .to = 3}).empty());
  EXPECT_TRUE(latent_at(map, {.deviations = {0, 0, 0}}).empty());
  LatentMap failed;
  failed.problem = "not finite";
  EXPECT_TRUE(latent_at(failed, {}).empty());
}

TEST(LatentScores, AreWhereAPointLiesAlongTheComponents) {
  EXPECT_EQ(scores_of(map_of_three(), {3, 7}), (Point{5, 1}));
}

TEST(LatentPictures, AreFoundByTheirRecipe) {
  LatentPictures pictures;
  pictures.height = pictures.width = pictures.channels = 1;
  pictures.recipes = {{.from = 1}, {.from = 2}};
  pictures.pixels = {0.25f, 0.5f};
  ASSERT_NE(pictures.find({.from = 2}), nullptr);
  EXPECT_EQ(*pictures.find({.from = 2}), 0.5f);
  EXPECT_EQ(pictures.find({.from = 3}), nullptr);
}

}  // namespace
}  // namespace warpscope::training::latents_test
