// mse, variant `naive`: the first rung on CUDA. forward: one block per image; each thread adds its share of
// the elements and a tree adds the threads, both in a fixed order, so the result is the same bits every time;
// a second kernel of one block adds the images the same way. A sum of n elements is thus made of chains of n
// / 256 and a tree of depth 8, and its rounding error stays that of short sums. backward: one thread per
// element. Limits: few images leave most of the GPU idle in forward. Bound by memory otherwise. At most 32
// registers, 1 KiB of shared memory, no spills. Source: mse.cpp; the tree: M. Harris, "Optimizing parallel
// reduction in CUDA" (2007).

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::mse {
namespace {

/// The sum of `value` over the block, valid in thread 0. Every thread of the block must call it, once per
/// kernel.
__device__ float block_sum(float value) {
  __shared__ float partial[kElementThreads];
  partial[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = kElementThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  return partial[0];
}

template <class T>
__global__ void mse_image_errors_naive(std::int64_t image_size, const T* __restrict__ y,
                                       const T* __restrict__ t, float* __restrict__ image_errors) {
  y += blockIdx.x * image_size;
  t += blockIdx.x * image_size;
  float sum = 0.0f;
  for (std::int64_t i = threadIdx.x; i < image_size; i += kElementThreads) {
    const float difference = to_float(y[i]) - to_float(t[i]);
    sum += difference * difference;
  }
  const float total = block_sum(sum);
  if (threadIdx.x == 0) image_errors[blockIdx.x] = total / static_cast<float>(image_size);
}

__global__ void mse_loss_naive(std::int64_t images, const float* __restrict__ image_errors,
                               float* __restrict__ loss) {
  float sum = 0.0f;
  for (std::int64_t n = threadIdx.x; n < images; n += kElementThreads) sum += image_errors[n];
  const float total = block_sum(sum);
  if (threadIdx.x == 0) *loss = total / static_cast<float>(images);
}

// The gradient may lie in the prediction's memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void mse_backward_naive(Index count, float factor, const T* y, const T* __restrict__ t,
                                   const step::StepControl* __restrict__ control, T* dy) {
  const float scale = control->loss_scale * factor;
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>())
    dy[i] = from_float<T>(scale * (to_float(y[i]) - to_float(t[i])));
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage(call.precision, [&]<class T>(T) {
    run_kernel(call, "errors of the images", {static_cast<unsigned>(s.batch)}, mse_image_errors_naive<T>,
               input_elements(s) / s.batch, Name::prediction, Name::target, Name::sample_losses);
  });
  run_kernel(call, "loss of the batch", {1}, mse_loss_naive, s.batch, Name::sample_losses, Name::loss);
}

void backward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, mse_backward_naive<Index, T>, count, 2.0f / static_cast<float>(count),
                 Name::prediction, Name::target, Name::control, Name::gradient);
  });
}

}  // namespace

Variant naive_forward() {
  return naive_variant(Op::mse_forward, forward,
                       "One block per image adds in a tree; one more block adds the images.");
}
Variant naive_backward() {
  return naive_variant(Op::mse_backward, backward, "One thread per element.");
}

}  // namespace warpscope::ops::mse
