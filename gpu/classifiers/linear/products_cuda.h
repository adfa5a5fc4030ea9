#pragma once
// The two products with the features that linear classifiers are made of, on CUDA. Each reads the features once for
// up to sixteen classes. Sums have the same bits every time on the same device.

#include <cstdint>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "gpu/classifiers/features.h"

namespace warpscope::classifiers::linear {

// Features in half the bytes, for products of the Hessian with vectors: those may be a little off, since gradient and
// objective are not.

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

/// How products of one shape are spread over a device, and the memory that they need.
struct ProductPlan {
  int slabs = 0;      ///< of columns, for rows times weights
  int sum_slabs = 0;  ///< the same for sums over rows
  int ranges = 0;     ///< of rows, for sums over rows
  std::int64_t range_rows = 0;
  std::size_t bytes = 0;  ///< of partial results
};

ProductPlan plan_products(const Place& place, const FeatureMatrix& features, int problems);

/// scores_ik = sum over j of x_ij w_kj + w_kd in precision Number for (rows, problems) scores, (problems, d + 1)
/// weights w, d = columns. `partial` holds ProductPlan::bytes.
template <class Number>
void multiply_rows_cuda(const ProductPlan& plan, const FeatureMatrix& features, const Number* weights,
                        int problems, Number* scores, void* partial, int multiprocessors,
                        cudaStream_t stream);

/// The same of compact features, with weights that went through scale_weights().
void multiply_compact_rows(const ProductPlan& plan, const FeatureMatrix& features,
                           const CompactFeatures& compact, const float* weights, int problems, float* scores,
                           void* partial, int multiprocessors, cudaStream_t stream);

/// sum_kj = sum over rows of f_ik x_ij, and sum_kd = sum over rows of f_ik: products in precision Number, ranges of
/// rows added up in double; (rows, problems) factors f, (problems, d + 1) sums.
template <class Number>
void sum_rows_cuda(const ProductPlan& plan, const FeatureMatrix& features, const Number* factors,
                   int problems, double* sums, void* partial, cudaStream_t stream);

/// The same of what compact features stand for.
void sum_compact_rows(const ProductPlan& plan, const FeatureMatrix& features, const CompactFeatures& compact,
                      const float* factors, int problems, double* sums, void* partial, cudaStream_t stream);

}  // namespace warpscope::classifiers::linear
