// Columns on CUDA: neighbouring threads sum neighbouring columns over a range of rows; a second launch adds the
// ranges up in order, so that sums have the same bits every time.

#include <algorithm>

#include "gpu/classifiers/columns.h"
#include "gpu/core/cuda.h"

namespace warpscope::classifiers {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerMultiprocessor = 8;

/// partial: (2, ranges, columns).
__global__ void __launch_bounds__(kThreads)
    sum_ranges(FeatureMatrix x, const double* centre, std::int64_t range_rows, double* partial) {
  const int j = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (j >= x.columns) return;
  const std::int64_t first = blockIdx.y * range_rows, end = min(x.rows, first + range_rows);
  const double middle = centre == nullptr ? 0.0 : centre[j];
  double sum = 0, square = 0;
#pragma unroll 8
  for (std::int64_t row = first; row < end; ++row) {
    const double value = static_cast<double>(__ldcs(x.values + row * x.columns + j)) - middle;
    sum += value;
    square += value * value;
  }
  partial[static_cast<std::int64_t>(blockIdx.y) * x.columns + j] = sum;
  partial[static_cast<std::int64_t>(gridDim.y + blockIdx.y) * x.columns + j] = square;
}

__global__ void __launch_bounds__(kThreads)
    add_ranges(const double* partial, int ranges, int columns, double* sums, double* squares) {
  const int j = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (j >= columns) return;
  double sum = 0, square = 0;
  for (int range = 0; range < ranges; ++range) {
    sum += partial[static_cast<std::int64_t>(range) * columns + j];
    square += partial[static_cast<std::int64_t>(ranges + range) * columns + j];
  }
  sums[j] = sum;
  squares[j] = square;
}

__global__ void __launch_bounds__(kThreads)
    find_not_finite(const float* values, std::int64_t count, unsigned long long* first) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += stride) {
    if (!isfinite(__ldcs(values + i))) {
      atomicMin(first, static_cast<unsigned long long>(i));
      return;  // those after it in this thread come later
    }
  }
}

}  // namespace

void sum_columns_cuda(const Place& place, const FeatureMatrix& features, const double* centre, double* sums,
                      double* squares) {
  const cudaStream_t stream = core::cuda_stream(*place.stream);
  const int slabs = (features.columns + kThreads - 1) / kThreads;
  const int wanted = std::max(1, place.device->info().multiprocessors * kBlocksPerMultiprocessor / slabs);
  const std::int64_t range_rows = std::max<std::int64_t>(16, (features.rows + wanted - 1) / wanted);
  const int ranges = static_cast<int>((features.rows + range_rows - 1) / range_rows);
  const core::Buffer partial(place.device, sizeof(double) * 2 * static_cast<std::size_t>(ranges) *
                                               static_cast<std::size_t>(features.columns));
  const dim3 grid(static_cast<unsigned>(slabs), static_cast<unsigned>(ranges));
  sum_ranges<<<grid, kThreads, 0, stream>>>(features, centre, range_rows, partial.as<double>());
  core::check_launch("sum_columns");
  add_ranges<<<grid.x, kThreads, 0, stream>>>(partial.as<double>(), ranges, features.columns, sums, squares);
  core::check_launch("sum_columns, ranges");
  place.stream->synchronize();  // `partial` is freed here
}

void find_not_finite_cuda(const Place& place, const FeatureMatrix& features, unsigned long long* first) {
  place.stream->fill(first, 0xff, sizeof *first);
  const std::int64_t count = features.rows * features.columns;
  if (count == 0) return;
  const std::int64_t most = place.device->info().multiprocessors * std::int64_t{kBlocksPerMultiprocessor};
  const auto blocks = static_cast<unsigned>(std::min(most, (count + kThreads - 1) / kThreads));
  find_not_finite<<<blocks, kThreads, 0, core::cuda_stream(*place.stream)>>>(features.values, count, first);
  core::check_launch("check_finite");
}

}  // namespace warpscope::classifiers
