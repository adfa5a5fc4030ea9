// Standardisation on CUDA: a thread keeps its column's mean and factor and goes down the rows.

#include <algorithm>

#include "gpu/classifiers/standardize.h"
#include "gpu/core/cuda.h"

namespace warpscope::classifiers {
namespace {

constexpr int kStandardizeThreads = 256;
constexpr std::int64_t kRows = 64;  // of a block

__global__ void __launch_bounds__(kStandardizeThreads)
    apply(FeatureMatrix x, const double* means, const double* factors, float* to) {
  const int j = static_cast<int>(blockIdx.x * kStandardizeThreads + threadIdx.x);
  if (j >= x.columns) return;
  const double mean = means[j], factor = factors[j];
  for (std::int64_t first = blockIdx.y * kRows; first < x.rows; first += gridDim.y * kRows) {
    const std::int64_t end = min(x.rows, first + kRows);
#pragma unroll 8
    for (std::int64_t row = first; row < end; ++row) {
      const std::int64_t i = row * x.columns + j;
      to[i] = static_cast<float>((static_cast<double>(x.values[i]) - mean) * factor);
    }
  }
}

}  // namespace

void standardize_cuda(const Place& place, const double* means, const double* factors,
                      const FeatureMatrix& features, float* to) {
  constexpr std::int64_t kMostBlocks = 65535;
  const std::int64_t bands = std::min(kMostBlocks, (features.rows + kRows - 1) / kRows);
  if (bands == 0) return;
  const dim3 grid(static_cast<unsigned>((features.columns + kStandardizeThreads - 1) / kStandardizeThreads),
                  static_cast<unsigned>(bands));
  apply<<<grid, kStandardizeThreads, 0, core::cuda_stream(*place.stream)>>>(features, means, factors, to);
  core::check_launch("standardize");
}

}  // namespace warpscope::classifiers
