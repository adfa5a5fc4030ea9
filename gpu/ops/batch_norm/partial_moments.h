#pragma once
// The end of batch_norm.forward whose moments come in parts from what computed its input: the parts are merged, and
// the input is read once, to be normalized, instead of twice.

#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {

/// Moments of parts of the input, of each channel by itself. Every value is in one part; a part may have none.
struct PartialMoments {
  /// (rows, 3, channels): means, sums of the squares of the distances from these, counts.
  const float* parts;
  int rows;
};

/// Floats that the parts take.
constexpr std::int64_t partial_moments_elements(std::int64_t rows, std::int64_t channels) {
  return rows * 3 * channels;
}

/// Enqueues batch_norm.forward of the input that `moments` are of. `call` is one of variant `pooled` if it covers
/// maxpool2d.forward, else of `welford`, in 16 bits and without workspace; it may also cover batch_norm.track, and have
/// an operand `activated`, which then gets what is added to.
void forward_from(const PartialMoments& moments, const OpCall& call);

/// The same for a call of `summed`: an addition comes first, then its activation, whose input goes to `unactivated`.
void summed_from(const PartialMoments& moments, const OpCall& call);

}  // namespace warpscope::ops::batch_norm
