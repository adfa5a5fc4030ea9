#pragma once
// Features in half the bytes, for products of the Hessian with vectors: those may be a little off, since gradient and
// objective are not.

#include <cstdint>

#include <cuda_fp16.h>

#include "gpu/classifiers/features.h"

namespace warpscope::classifiers::linear {

/// x_ij = values_ij factors_j + means_j up to the rounding of FP16, with factors that are powers of two, so that
/// columns of any size fit. Rows are padded with zeros to `stride` numbers, a multiple of 8.
class CompactFeatures {
 public:
  /// Empty if the device has too little memory left. `sums` and `squares` are those of the columns (sum_columns()).
  CompactFeatures(const Place& place, const FeatureMatrix& features, const double* sums,
                  const double* squares);
  bool empty() const { return values_.data() == nullptr; }
  const __half* values() const { return values_.as<const __half>(); }
  const float* means() const { return columns_.as<const float>(); }
  const float* factors() const { return columns_.as<const float>() + stride_; }
  std::int64_t stride() const { return stride_; }

 private:
  core::Buffer values_;
  core::Buffer columns_;  ///< means, factors
  std::int64_t stride_ = 0;
};

/// The weights that compact features take: to_kj = factors_j p_kj, and to_kd = p_kd + sum over j of means_j p_kj.
void scale_weights(const CompactFeatures& features, int columns, int problems, const float* weights,
                   float* to, cudaStream_t stream);

}  // namespace warpscope::classifiers::linear
