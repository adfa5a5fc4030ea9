#pragma once
// The formula of batch_norm.track, which `reference` computes in double, `loops` and kernels in float, and where the op
// stands in a chain.

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu/core/both.h"
#include "gpu/ops/normalization.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {

inline constexpr double kMomentum = 0.1;

/// The factor that makes the variance of `positions` values one without bias.
template <class T>
WARPSCOPE_BOTH T unbiased(std::int64_t positions) {
  return positions > 1 ? static_cast<T>(positions) / static_cast<T>(positions - 1) : T{1};
}

/// One channel: a mean and a reciprocal deviation come to the running ones.
template <class T, class Stored>
WARPSCOPE_BOTH void track_channel(T mean, T reciprocal, T unbias, Stored& running_mean,
                                  Stored& running_variance) {
  const T variance = unbias * variance_of(reciprocal);
  if (!std::isfinite(mean) || !std::isfinite(variance)) return;
  constexpr T kNew = static_cast<T>(kMomentum);
  constexpr T kOld = static_cast<T>(1.0 - kMomentum);
  running_mean = static_cast<Stored>(kOld * running_mean + kNew * mean);
  running_variance = static_cast<Stored>(kOld * running_variance + kNew * variance);
}

/// `chain`, which begins with batch_norm.forward, with an optional batch_norm.track behind that. Its variant must store
/// the statistics, which backward reads.
inline std::vector<Link> tracking(std::vector<Link> chain) {
  chain.insert(chain.begin() + 1, Link{.op = Op::batch_norm_track, .optional = true});
  return chain;
}

}  // namespace warpscope::ops::batch_norm
