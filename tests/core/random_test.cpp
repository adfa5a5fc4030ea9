#include "gpu/core/random.h"

#include <set>

#include <gtest/gtest.h>

namespace warpscope::core::random_test {
namespace {

// Computed apart from this program, by the formulas of the paper in integers of any size.
TEST(SplitMix64, GivesTheNumbersOfItsDefinition) {
  SplitMix64 random(1234567);
  for (const std::uint64_t expected :
       {6457827717110365317ull, 3203168211198807973ull, 9817491932198370423ull}) {
    EXPECT_EQ(random.next(), expected);
  }
}

TEST(RandomBits, AreTheSameEverywhere) {
  static_assert(random_bits(1, 0) == mix_bits(mix_bits(1 + kGoldenGamma) + kGoldenGamma));
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t n = 0; n < 100; ++n) seen.insert(random_bits(seed, n));
  }
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(RandomUnit, LiesBetweenNoughtAndOne) {
  double sum = 0;
  for (std::uint64_t n = 0; n < 10'000; ++n) {
    const double value = random_unit(3, n);
    ASSERT_GT(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

}  // namespace
}  // namespace warpscope::core::random_test
