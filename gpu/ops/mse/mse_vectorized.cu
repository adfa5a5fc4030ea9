// mse, variant `vectorized`: over `naive` it adds 16-byte accesses, and forward splits large images of small
// batches among several blocks, so that the whole GPU reads. Each thread adds its vectors, a tree adds the
// threads, one more block adds the parts of each image and then the images: all in an order that only the
// shape fixes, so the result is the same bits every time, and its rounding error that of short sums. Limits:
// none on the shape; images that are not a multiple of a vector (forward), the rest of a batch (backward) and
// memory that is not aligned to 16 bytes go element by element. Bound by memory. At most 32 registers, 1 KiB
// of shared memory, no spills; workspace: 4 bytes a part. Source: mse.cpp; vectorized.cuh; the tree: M. Harris,
// "Optimizing parallel reduction in CUDA" (2007).

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::mse {
namespace {

// Parts of this size or larger, until there are enough of them for the largest GPUs.
constexpr std::int64_t kPartElements = 4096;
constexpr std::int64_t kWantedParts = 1024;

/// How images are cut: each into `count` parts of `elements`, the last one perhaps shorter.
struct Parts {
  std::int64_t count;
  std::int64_t elements;
};

Parts parts_of(const OpShape& s) {
  const std::int64_t image_size = input_elements(s) / s.batch;
  const std::int64_t wanted = std::max<std::int64_t>(1, kWantedParts / s.batch);
  const std::int64_t pieces = (image_size + kPartElements - 1) / kPartElements;
  // Whole pieces: a multiple of any vector, so that every part starts where a vector may.
  const std::int64_t elements = (pieces + wanted - 1) / wanted * kPartElements;
  return {(image_size + elements - 1) / elements, elements};
}

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

/// Block (part, image) leaves the sum of its squares. `Width` is that of a vector or 1.
template <int Width, class T>
__global__ void mse_parts_vectorized(std::int64_t image_size, std::int64_t part_size, std::int64_t images,
                                     const T* __restrict__ y, const T* __restrict__ t,
                                     float* __restrict__ sums) {
  const std::int64_t parts = gridDim.x / images;
  const std::int64_t image = blockIdx.x / parts;
  const std::int64_t begin = blockIdx.x % parts * part_size;
  const std::int64_t end = std::min(begin + part_size, image_size);
  y += image * image_size;
  t += image * image_size;
  float sum = 0.0f;
  for (std::int64_t i = begin + threadIdx.x * Width; i < end; i += kElementThreads * Width) {
    float values[Width];
    float targets[Width];
    load_floats(y + i, values);
    load_floats(t + i, targets);
    float squares = 0.0f;
    for (int k = 0; k < Width; ++k) squares += (values[k] - targets[k]) * (values[k] - targets[k]);
    sum += squares;
  }
  const float total = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void mse_loss_vectorized(std::int64_t images, std::int64_t parts, float image_size,
                                    const float* __restrict__ sums, float* __restrict__ image_errors,
                                    float* __restrict__ loss) {
  float errors = 0.0f;
  for (std::int64_t n = threadIdx.x; n < images; n += kElementThreads) {
    float sum = 0.0f;
    for (std::int64_t part = 0; part < parts; ++part) sum += sums[n * parts + part];
    const float error = sum / image_size;
    image_errors[n] = error;
    errors += error;
  }
  const float total = block_sum(errors);
  if (threadIdx.x == 0) *loss = total / static_cast<float>(images);
}

// The gradient may lie in the prediction's memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void mse_backward_vectorized(Index vectors, Index count, float factor, const T* y,
                                        const T* __restrict__ t,
                                        const step::StepControl* __restrict__ control, T* dy) {
  const float scale = control->loss_scale * factor;
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    constexpr int kWidth = decltype(width)::value;
    float values[kWidth];
    float targets[kWidth];
    load_floats(y + i, values);
    load_floats(t + i, targets);
    for (int k = 0; k < kWidth; ++k) values[k] = scale * (values[k] - targets[k]);
    store_floats(dy + i, values);
  });
}

std::size_t forward_workspace(const OpShape& s, core::Precision) {
  return static_cast<std::size_t>(s.batch * parts_of(s).count) * sizeof(float);
}

template <int Width, class T>
void launch_parts(const OpCall& call, const T* y, const T* t, float* sums) {
  const OpShape& s = call.shape;
  const Parts parts = parts_of(s);
  run_kernel(call, "parts of the images", {static_cast<unsigned>(s.batch * parts.count)},
             mse_parts_vectorized<Width, T>, input_elements(s) / s.batch, parts.elements, s.batch, y, t,
             sums);
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t image_size = input_elements(s) / s.batch;
  auto* sums = static_cast<float*>(call.workspace);
  with_storage(call.precision, [&]<class T>(T) {
    const T* y = call.operand<const T>(Name::prediction);
    const T* t = call.operand<const T>(Name::target);
    if (image_size % kWide<T> == 0 && aligned_16(y, t)) {
      launch_parts<kWide<T>>(call, y, t, sums);
    } else {
      launch_parts<1>(call, y, t, sums);
    }
  });
  run_kernel(call, "loss of the batch", {1}, mse_loss_vectorized, s.batch, parts_of(s).count, image_size,
             sums, Name::sample_losses, Name::loss);
}

void backward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    const T* y = call.operand<const T>(Name::prediction);
    const T* t = call.operand<const T>(Name::target);
    T* dy = call.operand<T>(Name::gradient);
    const VectorCover covered = cover(count, kWide<T>, aligned_16(y, t, dy));
    run_kernel(call, {covered.blocks}, mse_backward_vectorized<Index, T>, covered.vectors, count,
               2.0f / static_cast<float>(count), y, t, Name::control, dy);
  });
}

}  // namespace

Variant vectorized_forward() {
  return cuda_variant(Op::mse_forward, "vectorized", forward,
                      "16 bytes at a time, large images split among several blocks.",
                      {.workspace_bytes = forward_workspace});
}
Variant vectorized_backward() {
  return cuda_variant(Op::mse_backward, "vectorized", backward,
                      "16 bytes at a time: four or eight elements a thread.");
}

}  // namespace warpscope::ops::mse
