#include "gpu/ops/bfloat16.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace warpscope::ops::bfloat16_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::uint16_t rounded(std::uint32_t bits) {
  return from_float<BFloat16>(std::bit_cast<float>(bits)).bits;
}

TEST(BFloat16, EveryValueSurvivesTheWayToFloatAndBack) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = to_float(BFloat16{static_cast<std::uint16_t>(bits)});
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(from_float<BFloat16>(value)))) << std::hex << bits;
    } else {
      EXPECT_EQ(from_float<BFloat16>(value).bits, bits);
    }
  }
}

TEST(BFloat16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(rounded(0x3f807fff), 0x3f80);
  EXPECT_EQ(rounded(0x3f808000), 0x3f80) << "a tie, even below";
  EXPECT_EQ(rounded(0x3f808001), 0x3f81);
  EXPECT_EQ(rounded(0x3f818000), 0x3f82) << "a tie, even above";
  EXPECT_EQ(rounded(0xbf818000), 0xbf82);
  EXPECT_EQ(rounded(0x00008000), 0x0000) << "half the smallest subnormal";
  EXPECT_EQ(rounded(0x00018000), 0x0002);
}

TEST(BFloat16, RandomNumbersMoveByHalfAnUlpAtMost) {
  std::mt19937 generator(3);
  for (int i = 0; i < 100000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
    if (!std::isnormal(value) || std::fabs(value) > 3e38f) continue;
    EXPECT_LE(std::fabs(to_float(from_float<BFloat16>(value)) - value), std::ldexp(std::fabs(value), -8))
        << value;
  }
}

TEST(BFloat16, TheLargestFloatsBecomeInfinity) {
  EXPECT_EQ(to_float(from_float<BFloat16>(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_EQ(to_float(from_float<BFloat16>(-std::numeric_limits<float>::max())), -kInfinity);
  EXPECT_EQ(to_float(from_float<BFloat16>(kInfinity)), kInfinity);
}

TEST(BFloat16, NanStaysNanAndKeepsItsSign) {
  for (const std::uint32_t bits : {0x7f800001U, 0x7fffffffU, 0x7fc00000U}) {
    EXPECT_TRUE(std::isnan(to_float(BFloat16{rounded(bits)}))) << std::hex << bits;
    EXPECT_EQ(rounded(bits | 0x80000000U) >> 15, 1) << std::hex << bits;
  }
}

}  // namespace
}  // namespace warpscope::ops::bfloat16_test
