// conv2d.backward_weights, variant `cudnn`: a 16-bit weight gradient to FP32, for shapes whose engines write
// no other type. One element a thread: weights are small beside the activations that cuDNN has just read.

#include "gpu/core/cuda.h"
#include "gpu/ops/conv2d/conv2d_cudnn_widen.h"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::conv2d {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void widen(const T* __restrict__ from, float* __restrict__ to, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) to[i] = to_float(from[i]);
}

}  // namespace

void widen_gradient(const void* from, core::Precision precision, float* to, std::int64_t count,
                    const core::Stream& stream) {
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  with_storage(precision, [&](auto storage) {
    using T = decltype(storage);
    widen<<<blocks, kThreads, 0, core::cuda_stream(stream)>>>(static_cast<const T*>(from), to, count);
  });
  core::check_launch("conv2d.backward_weights cudnn");
}

}  // namespace warpscope::ops::conv2d
