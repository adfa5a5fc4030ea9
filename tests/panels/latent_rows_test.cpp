// The plane of latents: zoom, pan, lasso, and what is said of an image.

#include "ui/panels/network/latent_rows.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/tiny_classifier.h"

namespace warpscope::ui::latent_rows_test {
namespace {

using Polygon = std::vector<ImVec2>;
using Images = std::vector<std::int64_t>;

const ImVec2 kMin{100, 50}, kMax{300, 150};

training::LatentMap map_of(const std::vector<float>& scores) {
  training::LatentMap map;
  map.rank = 2;
  map.count = scores.size() / 2;
  map.scores = scores;
  map.shares = {0.4f, 0.055f};
  return map;
}

PlanePoints plane_of(const std::vector<float>& scores) {
  return points_of(map_of(scores), nullptr);
}

void expect_at(ImVec2 found, float x, float y) {
  EXPECT_NEAR(found.x, x, 1e-3);
  EXPECT_NEAR(found.y, y, 1e-3);
}

TEST(PlaneView, FitsAllPointsWithOneScaleAndUpwardsIsUp) {
  const PlanePoints points = plane_of({-1, 0, 3, 0, 1, 1, 1, -1});
  PlaneView view;
  track(view, points, {200, 100}, 10);
  EXPECT_DOUBLE_EQ(view.scale, 40) << "two units of y in 80 pixels are tighter than four of x in 180";
  expect_at(view.to_screen(kMin, kMax, 1, 0), 200, 100);
  expect_at(view.to_screen(kMin, kMax, 1, 1), 200, 60);
  expect_at(view.to_screen(kMin, kMax, 3, 0), 280, 100);
}

TEST(PlaneView, OfPointsInOnePlaceHasAScaleToo) {
  PlaneView view;
  track(view, plane_of({2, 3, 2, 3}), {200, 100}, 10);
  EXPECT_DOUBLE_EQ(view.scale, 1);
  expect_at(view.to_screen(kMin, kMax, 2, 3), 200, 100);
}

TEST(PlaneView, ZoomsAtThePointer) {
  PlaneView view{1, 2, 40, true};
  const ImVec2 pointer{250, 70};
  const auto before = view.to_plane(kMin, kMax, pointer);
  zoom(view, kMin, kMax, pointer, 2, 40);
  EXPECT_DOUBLE_EQ(view.scale, 80);
  EXPECT_FALSE(view.fit);
  expect_at(view.to_screen(kMin, kMax, before[0], before[1]), 250, 70);
  for (int i = 0; i < 50; ++i) zoom(view, kMin, kMax, pointer, 2, 40);
  EXPECT_DOUBLE_EQ(view.scale, 40'000);
}

TEST(PlaneView, MovesWithThePointerAndNoLongerFollows) {
  PlaneView view{0, 0, 10, true};
  pan(view, {20, 30});
  expect_at(view.to_screen(kMin, kMax, 0, 0), 220, 130);
  track(view, plane_of({5, 5, 9, 9}), {200, 100}, 0);
  EXPECT_DOUBLE_EQ(view.x, -2) << "the view is the person's now";
}

TEST(Lasso, HoldsWhatLiesInsideAndNotInItsDents) {
  const Polygon dented{{0, 0}, {10, 0}, {10, 10}, {5, 2}, {0, 10}};
  EXPECT_TRUE(inside(dented, {1, 5}));
  EXPECT_TRUE(inside(dented, {9, 5}));
  EXPECT_FALSE(inside(dented, {5, 5}));
  EXPECT_FALSE(inside(dented, {-1, 5}));
  EXPECT_FALSE(inside(dented, {11, 5}));
}

TEST(Lasso, ThatCrossesItselfHoldsItsLobesAlone) {
  const Polygon bow{{0, 0}, {10, 10}, {10, 0}, {0, 10}};
  EXPECT_TRUE(inside(bow, {1, 5}));
  EXPECT_TRUE(inside(bow, {9, 5}));
  EXPECT_FALSE(inside(bow, {5, 1}));
}

TEST(Lasso, WithoutAreaHoldsNothing) {
  EXPECT_FALSE(inside({}, {0, 0}));
  EXPECT_FALSE(inside(Polygon{{0, 0}}, {0, 0}));
  EXPECT_FALSE(inside(Polygon{{0, 0}, {5, 5}}, {2, 2}));
  EXPECT_FALSE(inside(Polygon{{3, 3}, {3, 3}, {3, 3}}, {3, 3}));
  EXPECT_FALSE(inside(Polygon{{0, 0}, {5, 0}, {10, 0}}, {5, 0}));
  EXPECT_FALSE(inside(Polygon{{0, 0}, {5, 0}, {10, 0}}, {5, 1}));
}

TEST(Lasso, GivesTheImagesInOrder) {
  const Polygon square{{0, 0}, {10, 0}, {10, 10}, {0, 10}};
  EXPECT_EQ(images_inside(square, Polygon{{5, 5}, {20, 5}, {1, 9}}), (Images{0, 2}));
}

TEST(ImageUnderThePointer, IsTheNearestWhoseSquareHoldsIt) {
  const Polygon places{{0, 0}, {8, 0}, {40, 0}};
  EXPECT_EQ(image_at(places, {3, 0}, 20), 0u);
  EXPECT_EQ(image_at(places, {5, 0}, 20), 1u);
  EXPECT_EQ(image_at(places, {25, 0}, 20), std::nullopt);
  EXPECT_EQ(image_at(Polygon{{1, 1}, {1, 1}}, {1, 1}, 4), 1u) << "what is drawn last lies on top";
}

TEST(LatentStrip, BeginsAtOneImageAndEndsAtTheOther) {
  const auto strip = strip_recipes(3, 7);
  ASSERT_EQ(strip.size(), 9u);
  EXPECT_EQ(strip.front(), (training::LatentRecipe{3, 7, 0}));
  EXPECT_EQ(strip[4], (training::LatentRecipe{3, 7, 0.5f}));
  EXPECT_EQ(strip.back(), (training::LatentRecipe{3, 7, 1}));
}

TEST(LatentTexts, SayWhatIsKnown) {
  const training::LatentMap map = map_of({1.23456f, -0.5f, 7, 8});
  EXPECT_EQ(axis_text(map, 0), "component 1: 40 % of the variance");
  EXPECT_EQ(axis_text(map, 1), "component 2: 5.5 % of the variance");
  training::Snapshot snapshot;
  EXPECT_EQ(image_text(points_of(map, nullptr), snapshot, 0),
            "test image 1. Component 1: 1.23, component 2: -0.5.");
  auto data = std::make_shared<data::DataSet>(tests::labelled_data(4, 2));
  data->test.labels = {1, 0};
  const PlanePoints points = points_of(map, training::view_of(data));
  auto evaluation = std::make_shared<training::Evaluation>();
  evaluation->step = 1200;
  evaluation->image_losses = {0.01f};
  snapshot.evaluation = evaluation;
  EXPECT_EQ(image_text(points, snapshot, 0),
            "test image 1: middle. Component 1: 1.23, component 2: -0.5. PSNR 20.0 dB at step 1,200.");
  EXPECT_EQ(image_text(points, snapshot, 1), "test image 2: top. Component 1: 7, component 2: 8.");
  snapshot.classifies = true;
  EXPECT_EQ(image_text(points, snapshot, 0),
            "test image 1: middle. Component 1: 1.23, component 2: -0.5. Loss 0.01 at step 1,200.");
}

TEST(PlanePoints, OfAMapHaveNoAxes) {
  features::MapPicture map;
  auto facts = std::make_shared<features::MapFacts>();
  facts->subject.data = training::view_of(std::make_shared<data::DataSet>(tests::labelled_data(4, 2)));
  map.facts = facts;
  map.places = {1, -2, 3, 4};
  const PlanePoints points = points_of(map);
  EXPECT_EQ(points.count(), 2u);
  EXPECT_EQ(points.axes[0] + points.axes[1], "");
  PlaneView view;
  track(view, points, {220, 320}, 10);
  EXPECT_DOUBLE_EQ(view.x, 2);
  EXPECT_DOUBLE_EQ(view.y, 1);
  EXPECT_DOUBLE_EQ(view.scale, 50) << "six units of y in 300 pixels";
  EXPECT_EQ(image_text(points, {}, 1), "test image 2: " + class_of(*facts->subject.data, 1) + ".");
}

}  // namespace
}  // namespace warpscope::ui::latent_rows_test
