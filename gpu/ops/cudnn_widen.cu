// Variant `cudnn`: 16-bit weight gradients of convolutions to FP32, for shapes whose engines write no other type, and
// gamma and beta of batch_norm, which cuDNN reads in FP32. One element a thread: they are few beside the activations.

#include "gpu/core/cuda.h"
#include "gpu/ops/cudnn_widen.h"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::cudnn {
namespace {

constexpr int kThreads = 256;

/// A row of blocks for each source.
template <class T>
__global__ void widen_rows(const T* __restrict__ first, const T* __restrict__ second, float* __restrict__ to,
                           std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const T* from = blockIdx.y == 0 ? first : second;
  if (i < count) to[blockIdx.y * count + i] = to_float(from[i]);
}

}  // namespace

void widen(std::array<const void*, 2> from, core::Precision precision, float* to, std::int64_t count,
           const core::Stream& stream, std::string_view what) {
  const dim3 blocks(static_cast<unsigned>((count + kThreads - 1) / kThreads), from[1] == nullptr ? 1 : 2);
  with_storage(precision, [&]<class T>(T) {
    widen_rows<<<blocks, kThreads, 0, core::cuda_stream(stream)>>>(static_cast<const T*>(from[0]),
                                                                   static_cast<const T*>(from[1]), to, count);
  });
  core::check_launch(what);
}

}  // namespace warpscope::ops::cudnn
