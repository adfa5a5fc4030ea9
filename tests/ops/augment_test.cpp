// batch.augment: what is drawn is spread as its contract says, and each change is the one that was drawn.

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/augment/draw.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::augment::augment_test {
namespace {

using step::StepControl;

/// Images that each have byte `pixel + 1` in every channel of a pixel: where an element comes from can be read off.
std::vector<std::uint8_t> numbered_images(const OpShape& shape) {
  std::vector<std::uint8_t> images;
  for (std::int64_t n = 0; n < shape.count; ++n) {
    for (int pixel = 0; pixel < shape.height * shape.width; ++pixel) {
      images.insert(images.end(), static_cast<std::size_t>(shape.in_channels),
                    static_cast<std::uint8_t>(pixel + 1));
    }
  }
  return images;
}

std::vector<float> run(Op op, const char* variant, const OpShape& shape, StepControl control,
                       std::vector<std::uint8_t> images) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(shape.count));
  std::iota(order.begin(), order.end(), 0u);
  std::vector<float> output(
      static_cast<std::size_t>(shape.batch * shape.height * shape.width * shape.in_channels));
  OpCall call;
  call.shape = shape;
  call.operands[Name::images] = images.data();
  call.operands[Name::order] = order.data();
  call.operands[Name::control] = &control;
  call.operands[Name::output] = output.data();
  find_variant(*ops::built_in_variants(), op, core::DeviceKind::cpu, variant)->launch(call);
  return output;
}

std::vector<float> augmented(const OpShape& shape, const StepControl& control,
                             const char* variant = "reference") {
  return run(Op::batch_augment, variant, shape, control, numbered_images(shape));
}

constexpr OpShape kGrid{.batch = 500, .height = 13, .width = 17, .in_channels = 1, .count = 500};

/// The byte of element (row, column) of image n.
int byte_at(const std::vector<float>& output, const OpShape& shape, std::int64_t n, int row, int column) {
  const auto place = static_cast<std::size_t>((n * shape.height + row) * shape.width + column);
  return static_cast<int>(std::lround(255 * output[place]));
}

/// Where the source of the middle pixel lies, from the middle; and whether the one right of it is its left neighbour.
struct Found {
  int down, right;
  bool mirrored;
};

Found found_in(const std::vector<float>& output, const OpShape& shape, std::int64_t n) {
  const int row = shape.height / 2, column = shape.width / 2;
  const int source = byte_at(output, shape, n, row, column) - 1;
  const int beside = byte_at(output, shape, n, row, column + 1) - 1;
  return {source / shape.width - row, source % shape.width - column, beside < source};
}

/// The chance of so large a sum of squared deviations is below 1 in 10,000 for up to 12 degrees of freedom.
constexpr double kChiSquare = 40;

double chi_square(const std::map<int, int>& counts, double expected, int kinds) {
  double sum = expected * static_cast<double>(kinds - static_cast<int>(counts.size()));
  for (const auto& [value, count] : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(Augment, WithNothingOnIsTheGather) {
  StepControl control;
  control.seed = 3;
  control.position = 4;
  const OpShape shape{.batch = 5, .height = 7, .width = 6, .in_channels = 3, .count = 8};
  for (const char* const variant : {"reference", "loops"}) {
    EXPECT_EQ(run(Op::batch_augment, variant, shape, control, numbered_images(shape)),
              run(Op::batch_gather, variant, shape, control, numbered_images(shape)));
  }
}

TEST(Augment, MirrorsHalfOfTheImages) {
  StepControl control;
  control.flip = step::kFlipHalf;
  int mirrored = 0, all = 0;
  for (control.step = 0; control.step < 8; ++control.step) {
    const auto output = augmented(kGrid, control);
    for (std::int64_t n = 0; n < kGrid.batch; ++n, ++all) {
      const Found found = found_in(output, kGrid, n);
      EXPECT_EQ(found.down, 0);
      EXPECT_EQ(found.right, 0) << "the middle stays where it is";
      EXPECT_EQ(byte_at(output, kGrid, n, 0, 0), found.mirrored ? kGrid.width : 1);
      mirrored += found.mirrored ? 1 : 0;
    }
  }
  EXPECT_NEAR(mirrored, all / 2, 4 * std::sqrt(all) / 2) << "four standard deviations";
}

TEST(Augment, MirrorsAllImagesIfToldTo) {
  StepControl control;
  control.flip = step::kFlipAll;
  control.position = 3;
  for (const int width : {1, 8, 13}) {
    for (const int channels : {1, 3}) {
      const OpShape shape{.batch = 5, .height = 7, .width = width, .in_channels = channels, .count = 6};
      std::vector<std::uint8_t> images(static_cast<std::size_t>(6 * 7 * width * channels));
      for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<std::uint8_t>(37 * i + i / 256);
      for (const char* const variant : {"reference", "loops"}) {
        std::vector<float> expected = run(Op::batch_gather, variant, shape, control, images);
        const auto size = static_cast<std::size_t>(width * channels);
        for (std::size_t row = 0; row < expected.size(); row += size) {
          for (int w = 0; w < width / 2; ++w) {
            for (int c = 0; c < channels; ++c) {
              const auto left = row + static_cast<std::size_t>(w * channels + c);
              const auto right = row + static_cast<std::size_t>((width - 1 - w) * channels + c);
              std::swap(expected[left], expected[right]);
            }
          }
        }
        EXPECT_EQ(run(Op::batch_augment, variant, shape, control, images), expected) << variant << width;
      }
    }
  }
}

/// Where (place + shift) lies in a row of `length` that is read to and fro; no shift leads past its ends.
int fixed_source(int place, int shift, int length) {
  const int at = std::abs(place + std::clamp(shift, 1 - length, length - 1));
  return at < length ? at : 2 * (length - 1) - at;
}

TEST(Augment, ShiftsAllImagesAsToldTo) {
  StepControl control;
  control.position = 2;
  for (const auto& [height, width] :
       std::vector<std::pair<int, int>>{{13, 17}, {4, 8}, {1, 9}, {5, 1}, {1, 1}}) {
    const OpShape shape{.batch = 3, .height = height, .width = width, .in_channels = 1, .count = 4};
    for (const auto& [down, right] : std::vector<std::pair<int, int>>{
             {2, -3}, {-1, 0}, {0, 7}, {-16, 16}, {100, -100}, {INT_MAX, INT_MIN}}) {
      for (const auto flip : {step::kFlipNone, step::kFlipAll}) {
        control.shift_down = down;
        control.shift_right = right;
        control.flip = flip;
        for (const char* const variant : {"reference", "loops"}) {
          SCOPED_TRACE(testing::Message()
                       << height << 'x' << width << ' ' << down << ' ' << right << ' ' << variant);
          const auto output = augmented(shape, control, variant);
          for (int row = 0; row < height; ++row) {
            for (int column = 0; column < width; ++column) {
              const int seen = flip == step::kFlipAll ? width - 1 - column : column;
              const int source = fixed_source(row, down, height) * width + fixed_source(seen, right, width);
              ASSERT_EQ(byte_at(output, shape, 1, row, column), source + 1);
            }
          }
        }
      }
    }
  }
}

TEST(Augment, ShiftsAsToldToAndAtRandomGoNoFartherThanTheImage) {
  StepControl control;
  control.crop = 16;
  const OpShape shape{.batch = 200, .height = 3, .width = 5, .in_channels = 1, .count = 200};
  const std::uint64_t key = dropout::key_of(control, kSalt);
  const Extents extents = extents_of(shape);
  for (const int fixed : {1, 2, -4, 16, -16}) {
    for (std::uint64_t n = 0; n < 200; ++n) {
      control.shift_down = control.shift_right = 0;
      const auto drawn = draw_image<float>(control, key, n, extents);
      control.shift_down = control.shift_right = fixed;
      const auto both = draw_image<float>(control, key, n, extents);
      EXPECT_EQ(both.down, std::clamp(drawn.down + std::clamp(fixed, -2, 2), -2, 2));
      EXPECT_EQ(both.right, std::clamp(drawn.right + std::clamp(fixed, -4, 4), -4, 4));
    }
  }
}

TEST(Augment, ShiftsByEachNumberOfPixelsAsOften) {
  StepControl control;
  control.crop = 3;
  control.seed = 11;
  std::map<int, int> down, right;
  for (control.step = 0; control.step < 8; ++control.step) {
    const auto output = augmented(kGrid, control);
    for (std::int64_t n = 0; n < kGrid.batch; ++n) {
      const Found found = found_in(output, kGrid, n);
      ++down[found.down];
      ++right[found.right];
      EXPECT_FALSE(found.mirrored);
    }
  }
  for (const auto& counts : {down, right}) {
    EXPECT_EQ(counts.begin()->first, -3);
    EXPECT_EQ(counts.rbegin()->first, 3);
    EXPECT_LT(chi_square(counts, 8.0 * kGrid.batch / 7, 7), kChiSquare);
  }
}

TEST(Augment, ReflectsAtTheBordersAndGoesNoFartherThanTheImage) {
  StepControl control;
  control.crop = 16;
  const OpShape row{.batch = 400, .height = 1, .width = 3, .in_channels = 1, .count = 400};
  const auto output = augmented(row, control);
  std::map<int, int> firsts;
  for (std::int64_t n = 0; n < row.batch; ++n) {
    const int first = byte_at(output, row, n, 0, 0), second = byte_at(output, row, n, 0, 1),
              third = byte_at(output, row, n, 0, 2);
    ++firsts[100 * first + 10 * second + third];
  }
  // Three pixels out of 3 2 | 1 2 3 | 2 1, of which the first and the last are the same.
  EXPECT_EQ(firsts.size(), 4u);
  for (const int seen : {212, 123, 232}) EXPECT_NEAR(firsts[seen], 80, 40) << seen;
  EXPECT_NEAR(firsts[321], 160, 50);
}

TEST(Augment, CutsOutASquareWhoseMiddleIsOnEachPixelAsOften) {
  StepControl control;
  control.cutout = 4;
  double grey = 0;
  std::map<int, int> middles;
  for (control.step = 0; control.step < 8; ++control.step) {
    const auto output = augmented(kGrid, control, "loops");
    for (std::int64_t n = 0; n < kGrid.batch; ++n) {
      int least_row = kGrid.height, most_row = -1, count = 0;
      for (int row = 0; row < kGrid.height; ++row) {
        for (int column = 0; column < kGrid.width; ++column) {
          const auto place = static_cast<std::size_t>((n * kGrid.height + row) * kGrid.width + column);
          if (output[place] != 0.5f) continue;
          least_row = std::min(least_row, row);
          most_row = std::max(most_row, row);
          ++count;
        }
      }
      ASSERT_GE(count, 4) << "a corner of it at the least";
      ASSERT_LE(count, 16);
      grey += count;
      // Row 2 of the square is its middle; at the upper border the square is shorter.
      ++middles[least_row == 0 ? most_row - 1 : least_row + 2];
    }
  }
  EXPECT_EQ(middles.begin()->first, 0);
  EXPECT_EQ(middles.rbegin()->first, kGrid.height - 1);
  EXPECT_LT(chi_square(middles, 8.0 * kGrid.batch / kGrid.height, kGrid.height), kChiSquare);
  // Those of 4 rows that are inside: 2, 3, then 4, and 3 at the end; likewise of columns.
  const double inside_rows = (2 + 3 + 4.0 * (kGrid.height - 3) + 3) / kGrid.height;
  const double inside_columns = (2 + 3 + 4.0 * (kGrid.width - 3) + 3) / kGrid.width;
  EXPECT_NEAR(grey / (8.0 * kGrid.batch), inside_rows * inside_columns, 0.2);
}

TEST(Augment, ColoursKeepTheirMeanAndStayInTheirRange) {
  StepControl control;
  control.jitter = 0.2f;
  const OpShape shape{.batch = 2000, .height = 1, .width = 1, .in_channels = 1, .count = 2000};
  const std::vector<std::uint8_t> middle(2000, 128);
  const auto output = run(Op::batch_augment, "reference", shape, control, middle);
  const double mean = std::accumulate(output.begin(), output.end(), 0.0) / 2000;
  EXPECT_NEAR(mean, 128 / 255.0, 4 * 0.5 * 0.2 / std::sqrt(3.0 * 2000));
  const auto [least, most] = std::minmax_element(output.begin(), output.end());
  EXPECT_LT(*least, 0.4f);
  EXPECT_GE(*least, 0.5f - 1.2f * 0.1f - 0.01f);
  EXPECT_GT(*most, 0.6f);
  EXPECT_LE(*most, 0.5f + 1.2f * 0.1f + 0.01f);
}

TEST(Augment, SaturationLeavesGreyAloneAndSpreadsColours) {
  StepControl control;
  control.jitter = 1;
  const OpShape shape{.batch = 300, .height = 1, .width = 2, .in_channels = 3, .count = 300};
  std::vector<std::uint8_t> images;
  for (int n = 0; n < 300; ++n) images.insert(images.end(), {100, 100, 100, 200, 100, 50});
  const auto output = run(Op::batch_augment, "reference", shape, control, images);
  int spread = 0, narrowed = 0;
  for (std::size_t n = 0; n < 300; ++n) {
    const float* const pixels = output.data() + 6 * n;
    EXPECT_NEAR(pixels[0], pixels[1], 1e-6);
    EXPECT_NEAR(pixels[0], pixels[2], 1e-6);
    for (int c = 0; c < 6; ++c) EXPECT_TRUE(pixels[c] >= 0 && pixels[c] <= 1) << pixels[c];
    const auto draw = draw_image<double>(control, dropout::key_of(control, kSalt), n, extents_of(shape));
    (draw.saturation > 1 ? spread : narrowed) += 1;
  }
  EXPECT_NEAR(spread, narrowed, 4 * std::sqrt(300.0));
}

TEST(Augment, StrongColoursAreTheSameInSinglePrecision) {
  StepControl control;
  control.jitter = 1;
  control.mixup = 0.1f;
  control.flip = step::kFlipHalf;
  control.crop = 16;
  control.cutout = 9;
  const OpShape shape{.batch = 40, .height = 11, .width = 13, .in_channels = 3, .count = 40};
  for (control.step = 0; control.step < 20; ++control.step) {
    const auto exact = augmented(shape, control), rounded = augmented(shape, control, "loops");
    for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(rounded[i], exact[i], 2e-6f);
  }
}

TEST(Augment, MixesEachImageWithTheNext) {
  StepControl control;
  control.flip = step::kFlipHalf;
  control.crop = 4;
  const OpShape shape{.batch = 6, .height = 5, .width = 8, .in_channels = 1, .count = 6};
  const auto apart = augmented(shape, control);
  control.mixup = 1;
  const auto mixed = augmented(shape, control);
  const auto shares = shares_of<double>(control);
  EXPECT_GT(shares.own, 0);
  EXPECT_GT(shares.next, 0);
  EXPECT_DOUBLE_EQ(shares.own + shares.next, 1);
  EXPECT_EQ(shares.next_leads, shares.next > shares.own);
  const std::size_t size = apart.size() / 6;
  for (std::size_t i = 0; i < apart.size(); ++i) {
    const std::size_t next = (i + size) % apart.size();
    EXPECT_NEAR(mixed[i], shares.own * double{apart[i]} + shares.next * double{apart[next]}, 1e-6);
  }
}

/// The shares of 20,000 steps, in order.
std::vector<double> sorted_shares(float alpha) {
  StepControl control;
  control.mixup = alpha;
  control.seed = 17;
  std::vector<double> shares;
  for (control.step = 0; control.step < 20000; ++control.step) {
    shares.push_back(shares_of<double>(control).own);
    EXPECT_NEAR(static_cast<double>(shares_of<float>(control).own), shares.back(), 2e-6);
  }
  std::sort(shares.begin(), shares.end());
  return shares;
}

/// The largest distance between the shares and a distribution (Kolmogorov and Smirnov).
double largest_distance(const std::vector<double>& shares, double (*distribution)(double)) {
  double largest = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double expected = distribution(shares[i]);
    const auto count = static_cast<double>(shares.size());
    largest = std::max({largest, std::abs(expected - static_cast<double>(i) / count),
                        std::abs(expected - static_cast<double>(i + 1) / count)});
  }
  return largest;
}

TEST(MixupShare, IsDistributedAsBeta) {
  constexpr double kCritical = 0.0158;  // of 20,000 numbers at 1 in 10,000
  EXPECT_LT(largest_distance(sorted_shares(1), [](double x) { return x; }), kCritical) << "uniform";
  EXPECT_LT(largest_distance(sorted_shares(0.5f),
                             [](double x) { return 2 / std::numbers::pi * std::asin(std::sqrt(x)); }),
            kCritical)
      << "of the arcsine";
  EXPECT_LT(largest_distance(sorted_shares(2), [](double x) { return x * x * (3 - 2 * x); }), kCritical);
}

TEST(MixupShare, HasTheMeanAndTheVarianceOfBeta) {
  for (const float alpha : {0.05f, 0.2f, 0.4f, 1.0f, 1.7f}) {
    const std::vector<double> shares = sorted_shares(alpha);
    double mean = 0, variance = 0;
    for (const double share : shares) mean += share / 20000;
    for (const double share : shares) variance += (share - mean) * (share - mean) / 20000;
    const double expected = 1 / (4 * (2 * double{alpha} + 1));
    EXPECT_NEAR(mean, 0.5, 4 * std::sqrt(expected / 20000)) << alpha;
    EXPECT_NEAR(variance, expected, 0.05 * expected) << alpha;
  }
}

TEST(MixupShare, IsAnotherInEachStepMicroBatchAndRun) {
  StepControl control;
  control.mixup = 1;
  const double first = shares_of<double>(control).own;
  EXPECT_EQ(shares_of<double>(control).own, first);
  StepControl other = control;
  other.step = 1;
  EXPECT_NE(shares_of<double>(other).own, first);
  other = control;
  other.micro_batch = 1;
  EXPECT_NE(shares_of<double>(other).own, first);
  other = control;
  other.seed = 1;
  EXPECT_NE(shares_of<double>(other).own, first);
  control.mixup = 0;
  EXPECT_EQ(shares_of<double>(control).own, 1);
  EXPECT_EQ(shares_of<double>(control).next, 0);
}

}  // namespace
}  // namespace warpscope::ops::augment::augment_test
