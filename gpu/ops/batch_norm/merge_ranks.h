#pragma once
// The sums over ranks of batch norms in the host's memory (batch_norm_ranks.cpp), which `loops` and `host_mpi` share.

#include <cstddef>
#include <span>
#include <string_view>

#include "gpu/ops/normalization.h"
#include "gpu/ranks/sums.h"

namespace warpscope::ops::batch_norm {

/// `moments` (means, then variances, as many of each as `own` has room for) become those of all ranks, and `statistics`
/// follow from them. The means go first: what is added then are squares of distances from the mean of all, so that no
/// digits are lost where it is many times the deviation. All ranks get the same bits. `variant`: who calls it.
inline void merge_moments(const ranks::Share& share, std::span<float> moments, std::span<float> statistics,
                          std::span<float> own, std::string_view variant) {
  const std::size_t channels = own.size();
  const std::span means = moments.first(channels);
  const std::span variances = moments.last(channels);
  if (share.sums) {
    const ranks::Collective collective{ranks::Joint::moments, variant};
    for (std::size_t c = 0; c < channels; ++c) own[c] = means[c];
    share.sums->add(means, share.weight, collective);
    for (std::size_t c = 0; c < channels; ++c) {
      const float distance = own[c] - means[c];
      variances[c] += distance * distance;
    }
    share.sums->add(variances, share.weight, collective);
  }
  for (std::size_t c = 0; c < channels; ++c) {
    statistics[c] = means[c];
    statistics[channels + c] = reciprocal_deviation(variances[c]);
  }
}

}  // namespace warpscope::ops::batch_norm
