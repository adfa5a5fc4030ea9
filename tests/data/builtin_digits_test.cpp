#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/data/digit_strokes.h"
#include "gpu/data/set_kinds.h"
#include "tests/data/hash_of_bytes.h"

namespace warpscope::data::builtin_digits_test {
namespace {

using tests::hash_of_bytes;

TEST(BuiltinDigits, HaveTheShapeOfMnist) {
  const DataSet set = make_builtin_digits(30, 20);
  EXPECT_EQ(set.classes, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
  for (const ImageSet* images : {&set.train, &set.test}) {
    EXPECT_EQ(images->shape(), (ImageShape{28, 28, 1}));
    EXPECT_EQ(images->pixels.size(), static_cast<std::size_t>(images->count * 784));
    EXPECT_EQ(images->labels.size(), static_cast<std::size_t>(images->count));
  }
  EXPECT_EQ(set.train.count, 30);
  EXPECT_EQ(set.test.count, 20);
}

TEST(BuiltinDigits, HaveTheSameBitsEverywhere) {
  const DataSet set = make_builtin_digits(1000, 500);
  EXPECT_EQ(hash_of_bytes(set.train.pixels), 0x8db1ec4eb4cd031fULL);
  EXPECT_EQ(hash_of_bytes(set.train.labels), 0x3caead200fbd1051ULL);
  EXPECT_EQ(hash_of_bytes(set.test.pixels), 0x98aa6d4ea62b4d0bULL);
}

TEST(BuiltinDigits, HaveTheSameBitsForAnyNumberOfThreads) {
  const DataSet one = make_builtin_digits(730, 110, 5, 1);
  for (const int threads : {2, 3, 7}) {
    const DataSet many = make_builtin_digits(730, 110, 5, threads);
    EXPECT_EQ(one.train.pixels, many.train.pixels);
    EXPECT_EQ(one.train.labels, many.train.labels);
    EXPECT_EQ(one.test.pixels, many.test.pixels);
  }
}

TEST(BuiltinDigits, BeginALargerSetWithTheSmallerOne) {
  const DataSet small = make_builtin_digits(50, 10);
  const DataSet large = make_builtin_digits(200, 30);
  EXPECT_TRUE(std::equal(small.train.pixels.begin(), small.train.pixels.end(), large.train.pixels.begin()));
  EXPECT_TRUE(std::equal(small.test.labels.begin(), small.test.labels.end(), large.test.labels.begin()));
}

TEST(BuiltinDigits, DependOnTheSeed) {
  EXPECT_NE(make_builtin_digits(50, 0, 0).train.pixels, make_builtin_digits(50, 0, 1).train.pixels);
}

TEST(BuiltinDigits, HoldEachDigitOnceInTen) {
  const DataSet set = make_builtin_digits(500, 100);
  for (const ImageSet* images : {&set.train, &set.test}) {
    for (std::size_t i = 0; i < images->labels.size(); i += 10) {
      const std::set<std::uint8_t> ten(images->labels.begin() + static_cast<std::ptrdiff_t>(i),
                                       images->labels.begin() + static_cast<std::ptrdiff_t>(i) + 10);
      EXPECT_EQ(ten.size(), 10u);
    }
  }
}

TEST(BuiltinDigits, AreAllDifferent) {
  const DataSet set = make_builtin_digits(2000, 1000);
  std::set<std::uint64_t> seen;
  for (const ImageSet* images : {&set.train, &set.test}) {
    for (std::int64_t i = 0; i < images->count; ++i) {
      seen.insert(hash_of_bytes(std::span(images->pixels).subspan(static_cast<std::size_t>(i * 784), 784)));
    }
  }
  EXPECT_EQ(seen.size(), 3000u);
}

TEST(BuiltinDigits, AreLightOnBlackAndLieInside) {
  const DataSet set = make_builtin_digits(1000, 0);
  for (std::int64_t i = 0; i < set.train.count; ++i) {
    const auto image = std::span(set.train.pixels).subspan(static_cast<std::size_t>(i * 784), 784);
    const auto light = std::count_if(image.begin(), image.end(), [](int value) { return value > 100; });
    EXPECT_GT(light, 10) << i;
    EXPECT_LT(light, 400) << i;
    // The margin is dark but for a stray mark or the end of a stroke.
    double margin = 0;
    for (std::size_t k = 0; k < 28; ++k) margin += image[k] + image[27 * 28 + k];
    EXPECT_LT(margin / 56, 128) << i;
  }
}

TEST(BuiltinDigits, RefuseImpossibleCounts) {
  EXPECT_THROW(make_builtin_digits(-1, 0), core::BadInput);
  EXPECT_THROW(make_builtin_digits(0, 10'000'001), core::BadInput);
}

TEST(DigitStrokes, FitTheirDrawing) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const Drawing drawing = draw_digit(i % 10, random);
    ASSERT_GT(drawing.pieces, 3u);
    ASSERT_LE(drawing.pieces, Drawing::kMostPieces);
    for (std::size_t k = 0; k < drawing.pieces; ++k) {
      EXPECT_LE(std::abs(drawing.from[k].x), 125);
      EXPECT_LE(std::abs(drawing.to[k].y), 125);
    }
  }
  EXPECT_THROW(draw_digit(10, random), std::logic_error);
}

/// Softmax regression by gradient descent on 28x28 bytes: the linear model that these digits should not be
/// easy for.
class LinearModel {
 public:
  void train(const ImageSet& set, int epochs) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (std::int64_t i = 0; i < set.count; ++i) step(set, i);
    }
  }
  double accuracy(const ImageSet& set) const {
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < set.count; ++i) {
      const std::array<float, 10> z = logits(set, i);
      right +=
          std::max_element(z.begin(), z.end()) - z.begin() == set.labels[static_cast<std::size_t>(i)] ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(set.count);
  }

 private:
  static float pixel(const ImageSet& set, std::int64_t image, std::size_t at) {
    return static_cast<float>(set.pixels[static_cast<std::size_t>(image) * 784 + at]) / 255;
  }
  std::array<float, 10> logits(const ImageSet& set, std::int64_t image) const {
    std::array<float, 10> z = bias_;
    for (std::size_t at = 0; at < 784; ++at) {
      const float x = pixel(set, image, at);
      for (std::size_t c = 0; c < 10; ++c) z[c] += weights_[at * 10 + c] * x;
    }
    return z;
  }
  void step(const ImageSet& set, std::int64_t image) {
    constexpr float kRate = 0.01f;
    std::array<float, 10> p = logits(set, image);
    const float peak = *std::max_element(p.begin(), p.end());
    float sum = 0;
    for (float& value : p) sum += value = std::exp(value - peak);
    for (float& value : p) value /= sum;
    p[set.labels[static_cast<std::size_t>(image)]] -= 1;
    for (std::size_t at = 0; at < 784; ++at) {
      const float x = kRate * pixel(set, image, at);
      for (std::size_t c = 0; c < 10; ++c) weights_[at * 10 + c] -= x * p[c];
    }
    for (std::size_t c = 0; c < 10; ++c) bias_[c] -= kRate * p[c];
  }

  std::vector<float> weights_ = std::vector<float>(7840);
  std::array<float, 10> bias_{};
};

TEST(BuiltinDigits, AreLearnableButNotByALinearModelAlone) {
  const DataSet set = make_builtin_digits(6000, 1000);
  LinearModel model;
  model.train(set.train, 4);
  const double accuracy = model.accuracy(set.test);
  EXPECT_GT(accuracy, 0.75);
  EXPECT_LT(accuracy, 0.95);
}

}  // namespace
}  // namespace warpscope::data::builtin_digits_test
