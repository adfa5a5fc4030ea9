// conv2d.backward_bias, variant `warp_shuffle`: the gradient of the output is a matrix of pixels times
// channels whose columns are added. A warp reads several pixels by 128 bytes of channels at a time, 16 bytes
// a thread where the channels allow it, with sums in registers; threads with the same channels add up by
// shuffles, the warps of a block in shared memory. Several blocks share the pixels of a group of channels;
// their sums go to the workspace, and the same kernel adds those. Over `atomic` it adds that every element
// costs one addition in a register instead of an atomic one, and a fixed order: the same bits every time.
//
// Limits: none on the shape; channels that are no multiple of 16 bytes, and tensors that do not start at one,
// are read an element at a time. Bound by memory. At most 32 registers, 2 KiB of shared memory, no spills.
// Source: conv2d.cpp; M. Harris, "Faster Parallel Reductions on Kepler" (2014).

#include <algorithm>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/simt_convolution.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

inline constexpr int kWarp = 32;
inline constexpr int kWarps = 8;
inline constexpr int kMaximumSpans = 128;
inline constexpr int kBlockChannels = 64;  // 8 threads by 8 channels; 32 threads by one

// sums[blockIdx.y][k] = sum of values[i][k] over the `span` rows i of this block. `lanes` threads of a warp
// (a power of two) lie along the channels, V of them each, and the others along the rows.
template <class T, int V>
__global__ __launch_bounds__(kWarp* kWarps) void conv2d_backward_bias_warp_shuffle(
    std::int64_t rows, std::int64_t span, int channels, int lanes, const T* __restrict__ values,
    float* __restrict__ sums) {
  __shared__ float partial[kWarps][kBlockChannels];
  const auto thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarp;
  const int warp = thread / kWarp;
  const int warp_rows = kWarp / lanes;
  const int first_channel = static_cast<int>(blockIdx.x) * lanes * V;
  const int c = first_channel + lane % lanes * V;
  const std::int64_t begin = blockIdx.y * span;
  const std::int64_t end = begin + span < rows ? begin + span : rows;
  float sum[V] = {};
  if (c < channels) {
#pragma unroll 4
    for (std::int64_t i = begin + warp * warp_rows + lane / lanes; i < end; i += kWarps * warp_rows) {
      const auto group = *reinterpret_cast<const Vec<T, V>*>(values + i * channels + c);
#pragma unroll
      for (int j = 0; j < V; ++j) sum[j] += to_float(group.at[j]);
    }
  }
  for (int offset = kWarp / 2; offset >= lanes; offset /= 2) {
#pragma unroll
    for (int j = 0; j < V; ++j) sum[j] += __shfl_xor_sync(0xffffffffu, sum[j], offset);
  }
  if (lane < lanes) {
#pragma unroll
    for (int j = 0; j < V; ++j) partial[warp][lane * V + j] = sum[j];
  }
  __syncthreads();
  const int k = first_channel + thread;
  if (thread >= lanes * V || k >= channels) return;
  float total = partial[0][thread];
  for (int j = 1; j < kWarps; ++j) total += partial[j][thread];
  sums[static_cast<std::int64_t>(blockIdx.y) * channels + k] = total;
}

template <class T, int V>
void add_rows(const OpCall& call, std::string_view part, std::int64_t rows, std::int64_t spans,
              const T* values, float* sums) {
  const int channels = call.shape.out_channels;
  const int vectors = channels / V;
  const int widest = V == 1 ? kWarp : 8;
  int lanes = 1;
  while (lanes < widest && lanes < vectors) lanes *= 2;
  const dim3 blocks(static_cast<unsigned>((vectors + lanes - 1) / lanes), static_cast<unsigned>(spans));
  run_kernel(call, part, {blocks, kWarp * kWarps}, conv2d_backward_bias_warp_shuffle<T, V>, rows,
             (rows + spans - 1) / spans, channels, lanes, values, sums);
}

template <class T>
void add_rows(const OpCall& call, std::string_view part, std::int64_t rows, std::int64_t spans,
              const T* values, float* sums) {
  const bool wide = call.shape.out_channels % kWide<T> == 0 && aligned_16(values);
  const auto add = wide ? add_rows<T, kWide<T>> : add_rows<T, 1>;
  add(call, part, rows, spans, values, sums);
}

/// Spans of pixels that the first pass adds: enough to fill a GPU, few enough for one second pass.
std::int64_t bias_spans(const OpShape& s) {
  return std::clamp<std::int64_t>(pixels(s) / 128, 1, kMaximumSpans);
}

std::size_t bias_workspace(const OpShape& s, core::Precision) {
  const std::int64_t spans = bias_spans(s);
  return spans == 1 ? 0 : static_cast<std::size_t>(spans * s.out_channels) * sizeof(float);
}

void backward_bias(const OpCall& call) {
  const std::int64_t spans = bias_spans(call.shape);
  auto* db = call.operand<float>(Name::bias_gradient);
  auto* sums = spans == 1 ? db : static_cast<float*>(call.workspace);
  with_storage(call.precision, [&]<class T>(T) {
    add_rows(call, "spans of pixels", pixels(call.shape), spans, call.operand<const T>(Name::output_gradient),
             sums);
  });
  if (spans > 1) add_rows<float>(call, "sum of the spans", spans, 1, sums, db);
}

}  // namespace

Variant warp_shuffle_backward_bias() {
  return cuda_variant(
      Op::conv2d_backward_bias, "warp_shuffle", backward_bias,
      "Sums in registers from 16-byte reads, added up by warp shuffles and a second pass over blocks, "
      "in a fixed order.",
      {.presets = {{"naive"}, {"atomic_free"}, {"tiled"}}, .workspace_bytes = bias_workspace});
}

}  // namespace warpscope::ops::conv2d
