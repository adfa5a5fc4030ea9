#include "gpu/ops/symbols.h"

#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/host_values.h"
#include "gpu/ops/op.h"

namespace warpscope::ops::symbols_test {
namespace {

/// Byte k as batch.gather leaves it in that precision.
float stored(int k, core::Precision precision) {
  const double quotient{static_cast<float>(k) / 255.0f};
  const core::ElementType type = element_type(Role::activation, precision);
  return static_cast<float>(decode(encode(std::span(&quotient, 1), type), type).front());
}

TEST(Symbols, EveryByteComesBackFromEveryPrecision) {
  for (const core::Precision precision :
       {core::Precision::fp32, core::Precision::tf32, core::Precision::fp16, core::Precision::bf16}) {
    for (int k = 0; k <= kMostSymbols; ++k) {
      EXPECT_EQ(symbol_of(stored(k, precision), kMostSymbols), k) << core::to_string(precision);
    }
  }
}

TEST(Symbols, WhatHasNoPlaceIs0) {
  EXPECT_EQ(symbol_of(stored(71, core::Precision::bf16), 70), 0);
  EXPECT_EQ(symbol_of(stored(70, core::Precision::bf16), 70), 70);
  EXPECT_EQ(symbol_of(std::numeric_limits<float>::quiet_NaN(), 70), 0);
  EXPECT_EQ(symbol_of(std::numeric_limits<float>::infinity(), 255), 0);
  EXPECT_EQ(symbol_of(-1.0f, 255), 0);
  EXPECT_EQ(symbol_of(2.0f, 255), 0);
}

}  // namespace
}  // namespace warpscope::ops::symbols_test
