// conv2d.backward_weights, variant `tree_reduction`: one block for each tap, four filters and up to 32 input
// channels. Threads are channels times pixels: each adds every so many-th pixel into four registers, and a
// tree in shared memory adds what the pixels' threads have. Over `per_weight` it adds that many threads share
// the pixels of one weight, so that layers with few weights fill the GPU too, and that an input element read
// once serves four filters. Every sum has a fixed order, the same bits every time.
//
// Limits: none on the shape. Each tap reads both tensors again through the caches, which bound it. 40
// registers, 8 KiB of shared memory, no spills. Source: conv2d.cpp; the tree: M. Harris, "Optimizing Parallel
// Reduction in CUDA" (2007), with sequential addressing.

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/simt_convolution.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

inline constexpr int kThreads = 512;
inline constexpr int kFilters = 4;

int groups_of(int count, int size) {
  return (count + size - 1) / size;
}

std::int64_t blocks_with(const OpShape& s, int lanes) {
  return std::int64_t{groups_of(s.out_channels, kFilters)} * s.kernel_height * s.kernel_width *
         groups_of(s.in_channels, lanes);
}

/// Threads of a block that lie along the channels, a power of two; the others lie along the pixels. As many
/// as there are channels, up to a warp; down to 8 (32 bytes of FP32, a sector) if there were too few blocks
/// for a GPU otherwise.
int channel_lanes(const OpShape& s) {
  int lanes = 1;
  while (lanes < 32 && lanes < s.in_channels) lanes *= 2;
  while (lanes > 8 && blocks_with(s, lanes) < 512) lanes /= 2;
  return lanes;
}

// Filters past the last one read the last one's gradients and are not written: no branch in the loop.
template <class T, class AnyShape>
__global__ __launch_bounds__(kThreads) void conv2d_backward_weights_tree_reduction(std::int64_t pixels,
                                                                                   int lanes, AnyShape s,
                                                                                   const T* __restrict__ x,
                                                                                   const T* __restrict__ dy,
                                                                                   float* __restrict__ dw) {
  __shared__ float partial[kFilters][kThreads];
  const auto thread = static_cast<int>(threadIdx.x);
  const auto groups = static_cast<unsigned>((s.in_channels + lanes - 1) / lanes);
  AnyShape filter_groups = s;
  filter_groups.in_channels = static_cast<int>(groups);
  const WeightPlace block(blockIdx.x, filter_groups);
  const int c = block.channel * lanes + thread % lanes;
  const int first_filter = block.filter * kFilters;
  const int stride = kThreads / lanes;
  int filter[kFilters];
  float sum[kFilters];
#pragma unroll
  for (int j = 0; j < kFilters; ++j) {
    filter[j] = min(first_filter + j, s.out_channels - 1);
    sum[j] = 0.0f;
  }
  if (c < s.in_channels) {
    const std::int64_t first = thread / lanes;
    auto walk = walk_of(s, first, stride);
    for (std::int64_t i = first; i < pixels; i += stride, walk.advance(s)) {
      const std::int64_t from = walk.input(i, block, s);
      if (from < 0) continue;
      const float value = to_float(x[from * s.in_channels + c]);
      const T* gradients = dy + i * s.out_channels;
#pragma unroll
      for (int j = 0; j < kFilters; ++j) sum[j] += value * to_float(gradients[filter[j]]);
    }
  }
#pragma unroll
  for (int j = 0; j < kFilters; ++j) partial[j][thread] = sum[j];
  for (int half = kThreads / 2; half >= lanes; half /= 2) {
    __syncthreads();
    if (thread >= half) continue;
#pragma unroll
    for (int j = 0; j < kFilters; ++j) partial[j][thread] += partial[j][thread + half];
  }
  if (thread >= lanes || c >= s.in_channels) return;
  const std::int64_t taps = std::int64_t{s.kernel_height} * s.kernel_width;
  for (int j = 0; j < kFilters && first_filter + j < s.out_channels; ++j)
    dw[((first_filter + j) * taps + block.tap) * s.in_channels + c] = partial[j][thread];
}

void backward_weights(const OpCall& call) {
  const int lanes = channel_lanes(call.shape);
  const auto blocks = static_cast<unsigned>(blocks_with(call.shape, lanes));
  with_storage(call.precision, [&]<class T>(T) {
    with_shape(call.shape, [&]<class AnyShape>(const AnyShape& shape) {
      run_kernel(call, {blocks, kThreads}, conv2d_backward_weights_tree_reduction<T, AnyShape>,
                 pixels(call.shape), lanes, shape, Name::input, Name::output_gradient,
                 Name::weights_gradient);
    });
  });
}

}  // namespace

Variant tree_reduction_backward_weights() {
  return cuda_variant(
      Op::conv2d_backward_weights, "tree_reduction", backward_weights,
      "A block for each tap and four filters, whose threads share the pixels and add up in a tree "
      "in shared memory.",
      {.precisions = {core::Precision::fp32, core::Precision::fp16, core::Precision::bf16},
       .presets = {{"atomic_free"}, {"tiled"}}});
}

}  // namespace warpscope::ops::conv2d
