// Rows in another order on CUDA: a block a row, four numbers a thread where rows are aligned to that.

#include "gpu/classifiers/head/take_rows.h"
#include "gpu/core/cuda.h"

namespace warpscope::classifiers::head {
namespace {

constexpr int kThreads = 256;

template <class Numbers>
__global__ void __launch_bounds__(kThreads)
    take(const Numbers* values, const std::uint32_t* order, std::int64_t columns, Numbers* to) {
  const Numbers* const from = values + std::int64_t{order[blockIdx.x]} * columns;
  Numbers* const row = to + std::int64_t{blockIdx.x} * columns;
  for (std::int64_t j = threadIdx.x; j < columns; j += kThreads) row[j] = from[j];
}

}  // namespace

void take_rows_cuda(const Place& place, const FeatureMatrix& features, const std::uint32_t* order,
                    std::int64_t count, float* to) {
  if (count == 0) return;
  constexpr int kWidth = 4;
  const auto blocks = static_cast<unsigned>(count);
  cudaStream_t stream = core::cuda_stream(*place.stream);
  // Memory of a device begins at a multiple of 256 bytes, but a part of a matrix need not.
  const bool aligned = features.columns % kWidth == 0 &&
                       reinterpret_cast<std::uintptr_t>(features.values) % sizeof(float4) == 0;
  if (aligned) {
    take<<<blocks, kThreads, 0, stream>>>(reinterpret_cast<const float4*>(features.values), order,
                                          features.columns / kWidth, reinterpret_cast<float4*>(to));
  } else {
    take<<<blocks, kThreads, 0, stream>>>(features.values, order, features.columns, to);
  }
  core::check_launch("take_rows");
}

}  // namespace warpscope::classifiers::head
