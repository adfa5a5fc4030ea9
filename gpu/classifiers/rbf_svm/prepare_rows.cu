// Means and spreads of columns, and rows split into two FP16 numbers. All sums are in double and in a fixed order.

#include <cuda_fp16.h>

#include "gpu/classifiers/rbf_svm/rbf_kernels.h"
#include "gpu/classifiers/rbf_svm/split_rows.h"
#include "gpu/core/cuda.h"
#include "gpu/ops/block_sum.cuh"

namespace warpscope::classifiers::rbf {
namespace {

constexpr int kPrepareThreads = 256;

__global__ void __launch_bounds__(kPrepareThreads) sum_columns(ColumnCall call) {
  const int column = static_cast<int>(blockIdx.x) * kPrepareThreads + static_cast<int>(threadIdx.x);
  if (column >= call.columns) return;
  const std::int64_t begin = blockIdx.y * kChunkRows;
  const std::int64_t end = min(call.rows, begin + kChunkRows);
  double sum = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t at = row * call.columns + column;
    const float value = call.values[at];
    if (!isfinite(value)) atomicMin(call.first_bad, static_cast<unsigned long long>(at));
    sum += static_cast<double>(value);
  }
  call.partial[static_cast<std::int64_t>(blockIdx.y) * call.columns + column] = sum;
}

__global__ void __launch_bounds__(kPrepareThreads) add_chunks(ColumnCall call, std::int64_t chunks) {
  const int column = static_cast<int>(blockIdx.x) * kPrepareThreads + static_cast<int>(threadIdx.x);
  if (column >= call.columns) return;
  double sum = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += call.partial[chunk * call.columns + column];
  call.means[column] = sum / static_cast<double>(call.rows);
}

__global__ void __launch_bounds__(kPrepareThreads) spread_columns(ColumnCall call, Spread* spreads) {
  const int column = static_cast<int>(blockIdx.x) * kPrepareThreads + static_cast<int>(threadIdx.x);
  const std::int64_t begin = blockIdx.y * kChunkRows;
  const std::int64_t end = min(call.rows, begin + kChunkRows);
  double squares[1] = {0};
  double largest = 0;
  if (column < call.columns) {
    const double mean = call.means[column];
    for (std::int64_t row = begin; row < end; ++row) {
      const double difference = static_cast<double>(call.values[row * call.columns + column]) - mean;
      squares[0] += difference * difference;
      largest = fmax(largest, fabs(difference));
    }
  }
  ops::block_sums(squares);
  __shared__ double most[kPrepareThreads];
  most[threadIdx.x] = largest;
  __syncthreads();
  for (int half = kPrepareThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < static_cast<unsigned>(half)) {
      most[threadIdx.x] = fmax(most[threadIdx.x], most[threadIdx.x + half]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    spreads[static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x] = {squares[0], most[0]};
  }
}

/// One block a place.
__global__ void __launch_bounds__(kPrepareThreads) split_places(SplitCall call) {
  const std::int64_t place = blockIdx.x;
  const std::int64_t source = call.sources == nullptr ? place : call.sources[place];
  const int slabs = slabs_of(call.columns);
  std::uint16_t* const row = call.rows + place * slabs * kSlabHalves;
  for (int column = static_cast<int>(threadIdx.x); column < slabs * kSlabColumns; column += kPrepareThreads) {
    float value = 0;
    if (source >= 0 && column < call.columns) {
      const double difference =
          static_cast<double>(call.values[source * call.columns + column]) - call.means[column];
      value = static_cast<float>(scalbn(difference, call.exponent));
    }
    const __half high = __float2half_rn(value);
    const __half low = __float2half_rn(value - __half2float(high));
    std::uint16_t* const slab = row + column / kSlabColumns * kSlabHalves + column % kSlabColumns;
    slab[0] = __half_as_ushort(high);
    slab[kSlabColumns] = __half_as_ushort(low);
  }
}

dim3 column_grid(const ColumnCall& call) {
  return dim3(static_cast<unsigned>((call.columns + kPrepareThreads - 1) / kPrepareThreads),
              static_cast<unsigned>(chunks_of(call.rows)));
}

}  // namespace

void find_means(core::Stream& stream, const ColumnCall& call) {
  stream.fill(call.first_bad, 0xff, sizeof *call.first_bad);
  const dim3 grid = column_grid(call);
  sum_columns<<<grid, kPrepareThreads, 0, core::cuda_stream(stream)>>>(call);
  core::check_launch("rbf_svm: sums of columns");
  add_chunks<<<grid.x, kPrepareThreads, 0, core::cuda_stream(stream)>>>(call, grid.y);
  core::check_launch("rbf_svm: means of columns");
}

void find_spreads(core::Stream& stream, const ColumnCall& call, Spread* spreads) {
  spread_columns<<<column_grid(call), kPrepareThreads, 0, core::cuda_stream(stream)>>>(call, spreads);
  core::check_launch("rbf_svm: spreads of columns");
}

void split_rows(core::Stream& stream, const SplitCall& call) {
  if (call.places == 0) return;
  split_places<<<static_cast<unsigned>(call.places), kPrepareThreads, 0, core::cuda_stream(stream)>>>(call);
  core::check_launch("rbf_svm: splitting rows");
}

}  // namespace warpscope::classifiers::rbf
