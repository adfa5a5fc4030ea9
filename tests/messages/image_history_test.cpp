#include "gpu/messages/image_history.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/random.h"
#include "gpu/ops/host_values.h"

namespace warpscope::training::image_history_test {
namespace {

ShownImages images_of(std::uint64_t step, std::uint64_t generation = 0, int count = 2) {
  ShownImages images;
  images.shape = {count, 4, 4, 3};
  images.step = step;
  images.generation = generation;
  images.original.assign(images.shape.elements(), 0.5f);
  for (std::size_t i = 0; i < images.shape.elements(); ++i) {
    images.reconstruction.push_back(std::sin(0.1f * static_cast<float>(i) + static_cast<float>(step)));
  }
  images.errors.assign(static_cast<std::size_t>(count), 0.001f * static_cast<float>(step + 1));
  return images;
}

/// As the trainer does: what is wanted is added.
void pass(ImageHistory& history, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t step = first; step <= last; ++step) {
    if (history.wants(step)) history.add(images_of(step));
  }
}

constexpr std::size_t kMoment = 2 * 4 * 4 * 3 * sizeof(std::uint16_t);

TEST(ImageHistory, KeepsEarlyStepsEachAndLaterOnesEvenlyOnALogarithm) {
  ImageHistory history;
  pass(history, 0, 20000);
  const std::vector<std::uint64_t> steps = history.steps();
  ASSERT_GT(steps.size(), 100u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(steps[i], i);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const double ratio = static_cast<double>(steps[i] + 1) / static_cast<double>(steps[i - 1] + 1);
    const double off = steps[i] > 100 ? ratio - 1.05 : 0;
    EXPECT_NEAR(off, 0, 0.02) << steps[i];
  }
}

TEST(ImageHistory, WhatWasBeforeTheStepThatATrainingGoesOnFromStays) {
  ImageHistory history;
  pass(history, 0, 9);
  history.go_on(0, 1, 6);
  EXPECT_EQ(history.steps(), (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  history.add(images_of(7, 1));
  EXPECT_EQ(history.steps().size(), 8u) << "they are of the same training";
  history.go_on(0, 2, 3);
  history.add(images_of(4, 2));
  EXPECT_EQ(history.steps(), (std::vector<std::uint64_t>{4})) << "another one was left for it";
}

TEST(ImageHistory, StaysWithinItsMemoryAndKeepsTheFirstAndTheLast) {
  for (const std::size_t most : {std::size_t{5}, std::size_t{12}, std::size_t{30}}) {
    ImageHistory history(most * kMoment);
    std::uint64_t last = 0;
    for (std::uint64_t step = 0; step <= 100000; ++step) {
      if (!history.wants(step)) continue;
      history.add(images_of(step));
      last = step;
      ASSERT_LE(history.steps().size(), most);
      ASSERT_EQ(history.steps().front(), 0u);
      ASSERT_EQ(history.steps().back(), last);
    }
    EXPECT_GT(history.steps().size(), most / 3) << "the memory is used";
    EXPECT_GT(last, 1000u);
  }
}

TEST(ImageHistory, GivesThePicturesOfTheNearestStep) {
  ImageHistory history;
  for (const std::uint64_t step : {3u, 10u, 40u}) history.add(images_of(step));
  EXPECT_EQ(history.at(0)->step, 3u) << "nothing is before";
  EXPECT_EQ(history.at(3)->step, 3u);
  EXPECT_EQ(history.at(6)->step, 3u);
  EXPECT_EQ(history.at(7)->step, 10u);
  EXPECT_EQ(history.at(25)->step, 10u) << "both are equally near";
  const ShownImages found = *history.at(1000);
  const ShownImages wanted = images_of(40);
  EXPECT_EQ(found.step, 40u);
  EXPECT_EQ(found.errors, wanted.errors);
  EXPECT_EQ(found.original, wanted.original);
  ASSERT_EQ(found.reconstruction.size(), wanted.reconstruction.size());
  for (std::size_t i = 0; i < wanted.reconstruction.size(); ++i) {
    EXPECT_NEAR(found.reconstruction[i], wanted.reconstruction[i], 0.0005f);
  }
}

TEST(ImageHistory, GivesTheSamePicturesOnceAndOthersAnew) {
  ImageHistory history;
  for (const std::uint64_t step : {3u, 10u, 40u}) history.add(images_of(step));
  const auto tenth = history.at(10), fortieth = history.at(50);
  EXPECT_EQ(history.at(20), tenth) << "another step with the same pictures";
  EXPECT_EQ(history.at(40), fortieth) << "two are asked for in turns";
  EXPECT_EQ(history.at(12), tenth);
  history.add(images_of(100));
  EXPECT_EQ(history.at(11), tenth) << "what is added changes none of those before";
  history.add(images_of(10));
  EXPECT_NE(history.at(10), tenth) << "the training has come to this step once more";
}

TEST(ImageHistory, HasNothingAtFirst) {
  const ImageHistory history;
  EXPECT_TRUE(history.wants(0));
  EXPECT_TRUE(history.steps().empty());
  EXPECT_EQ(history.at(5), nullptr);
}

TEST(ImageHistory, BeginsAnewWithAnotherTrainingAndForgetsWhatWasRolledBack) {
  ImageHistory history;
  pass(history, 0, 50);
  EXPECT_TRUE(history.wants(20)) << "the training has gone back";
  history.add(images_of(20));
  EXPECT_EQ(history.steps().back(), 20u);
  EXPECT_EQ(history.steps().front(), 0u);
  const std::uint64_t before = history.version();
  history.add(images_of(0, 1));
  EXPECT_EQ(history.steps(), (std::vector<std::uint64_t>{0}));
  EXPECT_GT(history.version(), before);
  history.add(images_of(1, 1, 3));
  EXPECT_EQ(history.steps(), (std::vector<std::uint64_t>{1})) << "other images";
}

TEST(ImageHistory, TellsTheErrorsOfAllStepsWithoutThePictures) {
  ImageHistory history;
  ShownImages images;
  images.shape = {2, 1, 1, 1};
  images.original = {0, 0};
  images.reconstruction = {0.5f, 0.25f};
  for (const std::uint64_t step : {0, 1, 7}) {
    images.step = step;
    images.errors = {static_cast<float>(step), 0.5f};
    history.add(images);
  }
  const auto errors = history.errors();
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[2].step, 7u);
  EXPECT_EQ(errors[2].images, (std::vector<float>{7, 0.5f}));
  EXPECT_EQ(errors[0].images.front(), 0.0f);
}

TEST(ImageHistory, KeepsTheNearestNumberOf16Bits) {
  ImageHistory history;
  ShownImages images = images_of(0, 0, 400);
  std::vector<double> wide;
  for (std::size_t i = 0; i < images.reconstruction.size(); ++i) {
    // All exponents that binary16 has and some beyond, either sign, all digits.
    const double unit = core::random_unit(3, 2 * i), other = core::random_unit(3, 2 * i + 1);
    images.reconstruction[i] = static_cast<float>((other < 0.5 ? -1 : 1) * std::pow(2.0, 44 * unit - 27));
  }
  const float some[] = {
      0,     -0.0f, 65504, 65519.9f, 65520,   -1e9f,          std::numeric_limits<float>::infinity(),
      6e-8f, 3e-8f, 1,     0.5f,     6.1e-5f, 1.00048828125f, 1.00146484375f};
  std::copy(std::begin(some), std::end(some), images.reconstruction.begin());
  wide.assign(images.reconstruction.begin(), images.reconstruction.end());
  history.add(images);
  const std::vector<double> wanted =
      ops::decode(ops::encode(wide, core::ElementType::f16), core::ElementType::f16);
  const std::vector<float> found = history.at(0)->reconstruction;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(static_cast<double>(found[i]), wanted[i]) << images.reconstruction[i];
  }
  images.reconstruction[0] = std::numeric_limits<float>::quiet_NaN();
  history.add(images);
  EXPECT_TRUE(std::isnan(history.at(0)->reconstruction[0]));
}

}  // namespace
}  // namespace warpscope::training::image_history_test
