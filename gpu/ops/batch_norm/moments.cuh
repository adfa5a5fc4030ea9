#pragma once
// Moments of values that are summed in parts, and how they merge. Source: T. Chan, G. Golub, R. LeVeque, "Updating
// formulae and a pairwise algorithm for computing sample variances" (1979).

#include <cuda_runtime.h>

namespace warpscope::ops::batch_norm {

/// What some values tell: how many there are, their mean, the sum of the squares of their distances from it.
struct Moments {
  float count;
  float mean;
  float squares;

  /// Chan's formula.
  __device__ __forceinline__ void merge(const Moments& other) {
    if (other.count == 0.0f) return;
    const float both = count + other.count;
    const float share = other.count / both;
    const float difference = other.mean - mean;
    mean += difference * share;
    squares += other.squares + difference * difference * count * share;
    count = both;
  }
};

}  // namespace warpscope::ops::batch_norm
