#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/data/scene_canvas.h"
#include "gpu/data/set_kinds.h"
#include "tests/data/hash_of_bytes.h"

namespace warpscope::data::builtin_test {
namespace {

using tests::hash_of_bytes;

TEST(Builtin, HasTheShapeOfCifar10) {
  const DataSet set = make_builtin(30, 20);
  ASSERT_EQ(set.classes.size(), 10U);
  EXPECT_EQ(set.classes[0], "discs");
  for (const ImageSet* images : {&set.train, &set.test}) {
    EXPECT_EQ(images->height, 32);
    EXPECT_EQ(images->width, 32);
    EXPECT_EQ(images->channels, 3);
    EXPECT_EQ(images->pixels.size(), static_cast<std::size_t>(images->count * 3072));
    EXPECT_EQ(images->labels.size(), static_cast<std::size_t>(images->count));
  }
  EXPECT_EQ(set.train.count, 30);
  EXPECT_EQ(set.test.count, 20);
}

TEST(Builtin, HasTheSameBitsEverywhere) {
  const DataSet set = make_builtin(1000, 500);
  EXPECT_EQ(hash_of_bytes(set.train.pixels), 0x9949723b2c363c5cULL);
  EXPECT_EQ(hash_of_bytes(set.train.labels), 0x96950fe569dee74dULL);
  EXPECT_EQ(hash_of_bytes(set.test.pixels), 0x8ef2254727e8ba30ULL);
  EXPECT_EQ(hash_of_bytes(set.test.labels), 0x1f4725b19b413891ULL);
}

TEST(Builtin, HasTheSameBitsForAnyNumberOfThreads) {
  const DataSet one = make_builtin(730, 110, 1);
  for (const int threads : {2, 3, 7}) {
    const DataSet many = make_builtin(730, 110, threads);
    EXPECT_EQ(one.train.pixels, many.train.pixels);
    EXPECT_EQ(one.train.labels, many.train.labels);
    EXPECT_EQ(one.test.pixels, many.test.pixels);
  }
}

TEST(Builtin, ASmallSetBeginsALargeOne) {
  const DataSet small = make_builtin(25, 5);
  const DataSet large = make_builtin(150, 130);
  EXPECT_TRUE(std::equal(small.train.pixels.begin(), small.train.pixels.end(), large.train.pixels.begin()));
  EXPECT_TRUE(std::equal(small.train.labels.begin(), small.train.labels.end(), large.train.labels.begin()));
  EXPECT_TRUE(std::equal(small.test.pixels.begin(), small.test.pixels.end(), large.test.pixels.begin()));
}

TEST(Builtin, EveryTenImagesHoldEachClassOnce) {
  const DataSet set = make_builtin(400, 40);
  std::set<std::string> orders;
  for (std::size_t i = 0; i < 400; i += 10) {
    std::string order(set.train.labels.begin() + static_cast<std::ptrdiff_t>(i),
                      set.train.labels.begin() + static_cast<std::ptrdiff_t>(i) + 10);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    for (std::size_t c = 0; c < 10; ++c) ASSERT_EQ(static_cast<std::size_t>(order[c]), c);
  }
  EXPECT_GE(orders.size(), 39U);
}

TEST(Builtin, NoTwoImagesAreEqual) {
  const DataSet set = make_builtin(5000, 1000);
  std::set<std::uint64_t> hashes;
  for (const ImageSet* images : {&set.train, &set.test}) {
    for (std::int64_t i = 0; i < images->count; ++i) {
      const std::span<const std::uint8_t> all(images->pixels);
      hashes.insert(hash_of_bytes(all.subspan(static_cast<std::size_t>(i * 3072), 3072)));
    }
  }
  EXPECT_EQ(hashes.size(), 6000U);
}

TEST(Builtin, ImagesVaryInBrightnessAndColour) {
  const DataSet set = make_builtin(2000, 0);
  double sum = 0;
  double squares = 0;
  int flat = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    double image_sum = 0;
    double image_squares = 0;
    for (std::size_t j = 0; j < 3072; ++j) {
      const double value = set.train.pixels[i * 3072 + j] / 255.0;
      image_sum += value;
      image_squares += value * value;
    }
    const double mean = image_sum / 3072;
    if (image_squares / 3072 - mean * mean < 0.03 * 0.03) ++flat;
    sum += image_sum;
    squares += image_squares;
  }
  const double mean = sum / (2000 * 3072);
  const double deviation = std::sqrt(squares / (2000 * 3072) - mean * mean);
  // Near CIFAR-10's own 0.47 and 0.25, so that the same training settings do for both.
  EXPECT_NEAR(mean, 0.44, 0.1);
  EXPECT_NEAR(deviation, 0.25, 0.06);
  EXPECT_LE(flat, 20);
}

TEST(Builtin, RefusesImpossibleCounts) {
  EXPECT_THROW(make_builtin(-1, 10), core::BadInput);
  EXPECT_THROW(make_builtin(10, 10'000'001), core::BadInput);
  const DataSet none = make_builtin(0, 0);
  EXPECT_EQ(none.train.count, 0);
  EXPECT_TRUE(none.test.pixels.empty());
}

TEST(Scenes, OfTheUsualShapeHaveTheUsualBits) {
  const DataSet set = make_builtin(60, 20);
  for (const int classes : {0, 10, 200}) {
    const DataSet same = make_scenes({{32, 32, 3}, classes}, 60, 20, 0);
    EXPECT_EQ(same.train.pixels, set.train.pixels);
    EXPECT_EQ(same.train.labels, set.train.labels);
    EXPECT_EQ(same.test.pixels, set.test.pixels);
    EXPECT_EQ(same.classes, set.classes);
  }
}

TEST(Scenes, FitModelsOfOtherShapes) {
  const DataSet usual = make_builtin(20, 10);
  const DataSet large = make_scenes({{64, 64, 3}, 10}, 20, 10, 2);
  ASSERT_EQ(large.train.shape(), (ImageShape{64, 64, 3}));
  EXPECT_EQ(large.train.labels, usual.train.labels);
  ASSERT_EQ(large.train.pixels.size(), 20U * 64 * 64 * 3);
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t y = 0; y < 64; y += 7) {
      const std::size_t big = ((i * 64 + y) * 64 + 2 * (y / 2)) * 3,
                        small = ((i * 32 + y / 2) * 32 + y / 2) * 3;
      ASSERT_EQ(large.train.pixels[big + 1], usual.train.pixels[small + 1]) << i << ", " << y;
    }
  }
  const DataSet grey = make_scenes({{32, 32, 1}, 10}, 20, 10, 0);
  ASSERT_EQ(grey.test.shape(), (ImageShape{32, 32, 1}));
  for (std::size_t i = 0; i < grey.train.pixels.size(); ++i) {
    const std::uint8_t* const colour = usual.train.pixels.data() + 3 * i;
    ASSERT_NEAR(grey.train.pixels[i], 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2], 1.5) << i;
  }
}

TEST(Scenes, LeaveOutClassesThatTheModelDoesNotTellApart) {
  const DataSet set = make_scenes({{8, 9, 1}, 3}, 30, 6, 0);
  EXPECT_EQ(set.classes, (std::vector<std::string>{"discs", "rings", "stripes"}));
  for (std::size_t i = 0; i < 30; i += 3) {
    std::set<int> three(set.train.labels.begin() + static_cast<std::ptrdiff_t>(i),
                        set.train.labels.begin() + static_cast<std::ptrdiff_t>(i) + 3);
    EXPECT_EQ(three, (std::set<int>{0, 1, 2}));
  }
}

TEST(Scenes, OfLargeImagesThereAreFewer) {
  EXPECT_EQ(scenes_to_train_on({8, 8, 1}), 50'000);
  EXPECT_EQ(scenes_to_train_on({32, 32, 3}), 50'000);
  EXPECT_EQ(scenes_to_train_on({64, 64, 3}), 12'500);
  EXPECT_EQ(scenes_to_train_on({224, 224, 3}), 1'000);
  EXPECT_EQ(scenes_to_train_on({100'000, 100'000, 3}), 500);
}

TEST(Scenes, RefuseShapesThatCannotBe) {
  EXPECT_THROW(make_scenes({{8, 8, 2}, 10}), core::BadInput);
  EXPECT_THROW(make_scenes({{2'000'000, 2'000'000, 1}, 10}), core::BadInput);
}

TEST(SceneCanvas, SineIsNearTheTrueOne) {
  for (int angle = -3000; angle < 3000; ++angle) {
    const double expected = kUnit * std::sin(2 * std::numbers::pi * angle / kTurn);
    ASSERT_NEAR(sine(angle), expected, 8) << angle;
  }
}

TEST(SceneCanvas, IntegerSquareRootIsExact) {
  for (int root = 1; root < 46'340; ++root) {
    ASSERT_EQ(integer_sqrt(root * root - 1), root - 1);
    ASSERT_EQ(integer_sqrt(root * root), root);
  }
}

TEST(SceneCanvas, RandomNumbersStayInRangeAndReachItsEnds) {
  Random random(1);
  std::set<int> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.range(-2, 3));
  EXPECT_EQ(*seen.begin(), -2);
  EXPECT_EQ(*seen.rbegin(), 3);
  EXPECT_EQ(seen.size(), 6U);
}

TEST(SceneCanvas, HueRunsThroughTheRainbow) {
  const auto is = [](Colour colour, int red, int green, int blue) {
    return colour.red == red && colour.green == green && colour.blue == blue;
  };
  EXPECT_TRUE(is(hsv(0, 255, 200), 200, 0, 0));
  EXPECT_TRUE(is(hsv(512, 255, 200), 0, 200, 0));
  EXPECT_TRUE(is(hsv(1024, 255, 200), 0, 0, 200));
  EXPECT_TRUE(is(hsv(1024 - 1536, 255, 200), 0, 0, 200));
  EXPECT_TRUE(is(hsv(77, 0, 123), 123, 123, 123));
}

}  // namespace
}  // namespace warpscope::data::builtin_test
