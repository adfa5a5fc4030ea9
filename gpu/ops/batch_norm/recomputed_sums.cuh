#pragma once
// Sums over the patches of all pixels (recomputed.h), made by recomputed_sums.cu.

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm::recomputed {

/// Elements of a row of a patch: the taps and a one.
inline int elements_of(const OpShape& call) {
  return 9 * call.patch_channels + 1;
}

/// The sums of the products of all elements; those with the one are the sums of the elements.
struct PatchSums {
  const double* products;  ///< (elements, elements)
  int taps;
  double share;  ///< of a pixel in a mean

  __device__ __forceinline__ double mean(int k) const { return products[k * (taps + 1) + taps] * share; }
  __device__ __forceinline__ double covariance(int k, int l) const {
    return products[k * (taps + 1) + l] * share - mean(k) * mean(l);
  }
};

/// Bytes of the workspace that sum_patches() uses, from its start on; what is returned lies there.
std::size_t patch_sums_bytes(const OpShape& call);

PatchSums sum_patches(const OpCall& call);

/// Enqueues sums[i] = the sum of parts[p][i] over all p, in a fixed order.
void add_parts(const OpCall& call, const float* parts, int count, std::int64_t elements, double* sums);

}  // namespace warpscope::ops::batch_norm::recomputed
