#include <algorithm>

#include "gpu/classifiers/linear/products_cuda.h"
#include "gpu/core/cuda.h"
#include "gpu/ops/block_sum.cuh"

namespace warpscope::classifiers::linear {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kRows = 32;                        // of a block
constexpr std::size_t kReserve = std::size_t{256} << 20;  // bytes that are left to others

__global__ void __launch_bounds__(kThreads)
    find_scales(const double* sums, const double* squares, std::int64_t rows, int columns, float* means,
                float* factors, int stride) {
  const int j = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (j >= stride) return;
  double mean = 0, variance = 0;
  if (j < columns) {
    mean = sums[j] / static_cast<double>(rows);
    variance = squares[j] / static_cast<double>(rows) - mean * mean;
  }
  means[j] = static_cast<float>(mean);
  // At least what FP32 resolves beside the mean, so that a constant column divides by something.
  const double least = fmax(1e-7 * fabs(mean), 1e-30);
  factors[j] = static_cast<float>(exp2(rint(log2(fmax(sqrt(fmax(variance, 0.0)), least)))));
}

__global__ void __launch_bounds__(kThreads)
    make_compact(FeatureMatrix x, const float* means, const float* factors, __half* to, int stride) {
  constexpr float kMost = 65000;  // of FP16
  const int j = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (j >= stride) return;
  const float mean = means[j], factor = 1 / factors[j];
  for (std::int64_t first = blockIdx.y * kRows; first < x.rows; first += gridDim.y * kRows) {
    const std::int64_t end = min(x.rows, first + kRows);
#pragma unroll 8
    for (std::int64_t row = first; row < end; ++row) {
      const float value = j < x.columns ? (__ldcs(x.values + row * x.columns + j) - mean) * factor : 0.0f;
      to[row * stride + j] = __float2half_rn(fminf(fmaxf(value, -kMost), kMost));
    }
  }
}

__global__ void __launch_bounds__(1024)
    scale(const float* means, const float* factors, int columns, const float* weights, float* to) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (columns + 1);
  double shift[1] = {};
  for (int j = static_cast<int>(threadIdx.x); j < columns; j += static_cast<int>(blockDim.x)) {
    const float weight = weights[first + j];
    to[first + j] = weight * factors[j];
    shift[0] += static_cast<double>(means[j]) * static_cast<double>(weight);
  }
  ops::block_sums(shift);
  if (threadIdx.x == 0) {
    to[first + columns] = static_cast<float>(static_cast<double>(weights[first + columns]) + shift[0]);
  }
}

}  // namespace

CompactFeatures::CompactFeatures(const Place& place, const FeatureMatrix& features, const double* sums,
                                 const double* squares) {
  constexpr int kPadding = 8;
  const int stride = (features.columns + kPadding - 1) / kPadding * kPadding;
  const std::size_t bytes =
      static_cast<std::size_t>(features.rows) * static_cast<std::size_t>(stride) * sizeof(__half);
  if (bytes + kReserve > place.device->memory().free_bytes) return;
  stride_ = stride;
  values_ = core::Buffer(place.device, bytes);
  columns_ = core::Buffer(place.device, 2 * static_cast<std::size_t>(stride) * sizeof(float));
  auto* const means = columns_.as<float>();
  auto* const factors = means + stride;
  const cudaStream_t stream = core::cuda_stream(*place.stream);
  const auto slabs = static_cast<unsigned>((stride + kThreads - 1) / kThreads);
  find_scales<<<slabs, kThreads, 0, stream>>>(sums, squares, features.rows, features.columns, means, factors,
                                              stride);
  core::check_launch("compact features, scales");
  constexpr std::int64_t kMostBands = 65535;
  const dim3 grid(slabs, static_cast<unsigned>(std::min(kMostBands, (features.rows + kRows - 1) / kRows)));
  make_compact<<<grid, kThreads, 0, stream>>>(features, means, factors, values_.as<__half>(), stride);
  core::check_launch("compact features");
}

void scale_weights(const CompactFeatures& features, int columns, int problems, const float* weights,
                   float* to, cudaStream_t stream) {
  scale<<<static_cast<unsigned>(problems), 1024, 0, stream>>>(features.means(), features.factors(), columns,
                                                              weights, to);
  core::check_launch("compact features, weights");
}

}  // namespace warpscope::classifiers::linear
