#pragma once
// Which elements a dropout keeps: a counter-based generator gives each pair of elements 64 bits, each element 32 of
// them, and those whose number lies below rate 2^32 are dropped. So the rate is met to 2^-33, and every thread finds
// the bits of its elements by itself.

#include <cmath>
#include <cstdint>

#include "gpu/core/both.h"
#include "gpu/core/random.h"
#include "gpu/ops/op.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::dropout {

/// The key of a call's random numbers: of this step, this micro-batch of all ranks' and this layer.
WARPSCOPE_BOTH inline std::uint64_t key_of(const step::StepControl& control, std::uint32_t salt) {
  const std::uint64_t of_step = core::random_bits(control.seed, control.step);
  const std::uint64_t micro_batch = std::uint64_t{control.first_micro_batch} + control.micro_batch;
  return core::random_bits(of_step, micro_batch << 32 | salt);
}

/// The bits of elements 2 `pair` (the lower half) and 2 `pair` + 1.
WARPSCOPE_BOTH inline std::uint64_t pair_bits(std::uint64_t key, std::uint64_t pair) {
  return core::random_bits(key, pair);
}

/// Those of one element.
WARPSCOPE_BOTH inline std::uint32_t element_bits(std::uint64_t key, std::uint64_t element) {
  const std::uint64_t pair = pair_bits(key, element / 2);
  return static_cast<std::uint32_t>(element % 2 == 0 ? pair : pair >> 32);
}

/// Elements with fewer bits than this are dropped: rate 2^32, rounded.
inline std::uint32_t threshold_of(const OpShape& shape) {
  return static_cast<std::uint32_t>(std::llround(double{shape.dropout_rate} * 0x1p32));
}

/// What the elements that stay are multiplied by: 1 / (1 - rate).
inline double scale_of(const OpShape& shape) {
  return 1.0 / (1.0 - double{shape.dropout_rate});
}

}  // namespace warpscope::ops::dropout
