// Quantiles and figures that are read out of histograms.

#include "gpu/statistics/distribution.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/random.h"

namespace warpscope::statistics::distribution_test {
namespace {

/// Counted on the CPU, as a whole.
Distribution distribution(const std::vector<float>& values) {
  const auto device = core::open_device("cpu");
  const auto stream = device->make_stream();
  std::vector<CountedTensor> tensors(1);
  tensors[0].values = values.data();
  tensors[0].elements = static_cast<std::int64_t>(values.size());
  std::vector<std::uint32_t> counters(kCounters);
  std::vector<ChunkSums> sums(static_cast<std::size_t>(lay_out_chunks(tensors)));
  count_values(*device, *stream,
               {tensors.data(), 1, static_cast<std::int64_t>(sums.size()), counters.data(), sums.data()});
  return distribution_of(counters, 0, tensors, sums);
}

/// Normally distributed by the central limit, with a heavy tail and some zeros.
std::vector<float> sample(std::size_t count, std::uint64_t seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    double sum = -6;
    for (std::uint64_t k = 0; k < 12; ++k) sum += core::random_unit(seed, 12 * i + k);
    const bool zero = core::random_bits(seed + 1, i) % 10 == 0;
    values.push_back(zero ? 0.0f : static_cast<float>(sum * std::exp(sum) * 0.02));
  }
  return values;
}

TEST(Quantiles, LieInTheBinOfTheExactOnes) {
  for (const std::size_t size : {1u, 2u, 7u, 1000u, 40003u}) {
    std::vector<float> values = sample(size, size);
    const Distribution counted = distribution(values);
    std::sort(values.begin(), values.end());
    for (const double part : {0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0}) {
      const auto place = static_cast<std::size_t>(std::floor(part * static_cast<double>(size - 1)));
      const auto exact = static_cast<double>(values[place]);
      const std::optional<double> found = quantile(counted, part);
      ASSERT_TRUE(found.has_value());
      EXPECT_LE(std::fabs(*found - exact), 0.5 * std::fabs(exact)) << size << " " << part;
      EXPECT_GE(*found, static_cast<double>(values.front()));
      EXPECT_LE(*found, static_cast<double>(values.back()));
    }
  }
}

TEST(Quantiles, StayWithinTheRangeInTheBinsWithoutAnEnd) {
  const Distribution counted = distribution({-1e30f, -1e-30f, 1e-30f, 3e30f});
  EXPECT_GE(*quantile(counted, 0), static_cast<double>(-1e30f));
  EXPECT_LE(*quantile(counted, 1), static_cast<double>(3e30f));
  EXPECT_LT(std::fabs(*quantile(counted, 0.4)), 1.5 * std::ldexp(1.0, kLeastExponent));
}

TEST(Quantiles, OfZerosAreZero) {
  EXPECT_EQ(*quantile(distribution({0.0f, -0.0f, 0.0f, 5.0f}), 0.5), 0.0);
}

TEST(HalfOctaves, FollowEachOtherWithoutGaps) {
  EXPECT_EQ(half_octave(0).low, 0.0);
  for (int half = 1; half < kHalfOctaves; ++half) {
    EXPECT_EQ(half_octave(half).low, half_octave(half - 1).high) << half;
    EXPECT_LE(half_octave(half).high, 1.5 * half_octave(half).low) << half;
  }
}

TEST(Distributions, HaveTheMomentsOfTheirNumbers) {
  const Distribution counted = distribution({3.0f, -4.0f, 0.0f, INFINITY});
  EXPECT_EQ(counted.finite(), 3u);
  EXPECT_EQ(counted.elements(), 4u);
  EXPECT_DOUBLE_EQ(counted.norm(), 5.0);
  EXPECT_DOUBLE_EQ(counted.mean(), -1.0 / 3);
  EXPECT_DOUBLE_EQ(counted.deviation(), std::sqrt(25.0 / 3 - 1.0 / 9));
  EXPECT_EQ(counted.least, -4.0f);
  EXPECT_EQ(counted.most, 3.0f);
  EXPECT_DOUBLE_EQ(counted.share(kZeros), 0.25);
  EXPECT_DOUBLE_EQ(counted.share(kInfinities), 0.25);
}

}  // namespace
}  // namespace warpscope::statistics::distribution_test
