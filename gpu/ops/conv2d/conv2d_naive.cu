// conv2d, variant `naive`: the first rung on CUDA, the formulas of conv2d.h with one thread per element of
// the result.
//
//   forward           one thread per element of y, which gathers its taps
//   backward_input    one thread per element of dx, which gathers the gradients that its element reached
//   backward_weights  one thread per weight, which walks through all images with its sum in a register
//   backward_bias     a sum over 65,536 and more pixels is no work for one thread: blocks of 32 channels by 8
//                     threads add spans of pixels into the workspace, and the same kernel adds the spans
//
// Every sum has a fixed order: the same bits every time. Sums over images are made of sums over rows, so that
// rounding errors stay those of short sums. Limits: none on the shape. Slow by design: every product reads
// both factors through the cache, so the caches bound it, far under the arithmetic; and
// backward_weights has only as many threads as weights. At most 48 registers, no spills; 1 KiB of shared
// memory in backward_bias. Source: conv2d.h.

#include "gpu/core/cuda.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/conv2d_variants.h"
#include "gpu/ops/elementwise.cuh"

namespace warpscope::ops::conv2d {
namespace {

struct Shape {
  std::int64_t batch;
  int height;
  int width;
  int in_channels;
  int out_channels;
  int kernel_height;
  int kernel_width;
};

Shape device_shape(const OpShape& s) {
  return {s.batch, s.height, s.width, s.in_channels, s.out_channels, s.kernel_height, s.kernel_width};
}

std::int64_t pixels(const OpShape& s) {
  return s.batch * s.height * s.width;
}
std::int64_t weights(const OpShape& s) {
  return std::int64_t{s.kernel_height} * s.kernel_width * s.in_channels * s.out_channels;
}
std::int64_t largest_tensor(const OpShape& s) {
  return std::max({input_elements(s), pixels(s) * s.out_channels, weights(s)});
}

/// One element (image, row, column, channel) of a tensor with the shape's images and `channels` channels.
template <class Index>
struct Place {
  Index image;
  int row;
  int column;
  int channel;
  __device__ Place(Index element, const Shape& s, int channels) {
    channel = static_cast<int>(element % static_cast<unsigned>(channels));
    element /= static_cast<unsigned>(channels);
    column = static_cast<int>(element % static_cast<unsigned>(s.width));
    element /= static_cast<unsigned>(s.width);
    row = static_cast<int>(element % static_cast<unsigned>(s.height));
    image = element / static_cast<unsigned>(s.height);
  }
};

template <class Index>
__global__ void conv2d_forward_naive(Index count, Shape s, const float* __restrict__ x,
                                     const float* __restrict__ w, float* __restrict__ y) {
  const int p = (s.kernel_height - 1) / 2;
  const int q = (s.kernel_width - 1) / 2;
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const Place<Index> at(e, s, s.out_channels);
    const float* weight =
        w + static_cast<Index>(at.channel) * s.kernel_height * s.kernel_width * s.in_channels;
    float sum = 0.0f;
    for (int r = 0; r < s.kernel_height; ++r) {
      const int h = at.row + r - p;
      for (int t = 0; t < s.kernel_width; ++t, weight += s.in_channels) {
        const int v = at.column + t - q;
        if (h < 0 || h >= s.height || v < 0 || v >= s.width) continue;
        const float* from = x + ((at.image * s.height + h) * s.width + v) * s.in_channels;
        for (int c = 0; c < s.in_channels; ++c) sum += from[c] * weight[c];
      }
    }
    y[e] = sum;
  }
}

template <class Index>
__global__ void conv2d_backward_input_naive(Index count, Shape s, const float* __restrict__ dy,
                                            const float* __restrict__ w, float* __restrict__ dx) {
  const int p = (s.kernel_height - 1) / 2;
  const int q = (s.kernel_width - 1) / 2;
  const Index filter = static_cast<Index>(s.kernel_height) * s.kernel_width * s.in_channels;
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const Place<Index> at(e, s, s.in_channels);
    const float* weight = w + at.channel;
    float sum = 0.0f;
    for (int r = 0; r < s.kernel_height; ++r) {
      const int h = at.row - r + p;
      for (int t = 0; t < s.kernel_width; ++t, weight += s.in_channels) {
        const int v = at.column - t + q;
        if (h < 0 || h >= s.height || v < 0 || v >= s.width) continue;
        const float* from = dy + ((at.image * s.height + h) * s.width + v) * s.out_channels;
        for (int k = 0; k < s.out_channels; ++k) sum += from[k] * weight[k * filter];
      }
    }
    dx[e] = sum;
  }
}

template <class Index>
__global__ void conv2d_backward_weights_naive(Index count, Shape s, const float* __restrict__ x,
                                              const float* __restrict__ dy, float* __restrict__ dw) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    Index rest = e;
    const auto c = static_cast<int>(rest % static_cast<unsigned>(s.in_channels));
    rest /= static_cast<unsigned>(s.in_channels);
    const int column_shift =
        static_cast<int>(rest % static_cast<unsigned>(s.kernel_width)) - (s.kernel_width - 1) / 2;
    rest /= static_cast<unsigned>(s.kernel_width);
    const int row_shift =
        static_cast<int>(rest % static_cast<unsigned>(s.kernel_height)) - (s.kernel_height - 1) / 2;
    const auto k = static_cast<int>(rest / static_cast<unsigned>(s.kernel_height));
    const int first_row = max(0, -row_shift);
    const int end_row = min(s.height, s.height - row_shift);
    const int first_column = max(0, -column_shift);
    const int end_column = min(s.width, s.width - column_shift);
    float sum = 0.0f;
    for (Index n = 0; n < static_cast<Index>(s.batch); ++n) {
      for (int h = first_row; h < end_row; ++h) {
        const Index image_row = n * s.height + h;
        const float* in =
            x + ((image_row + row_shift) * s.width + (first_column + column_shift)) * s.in_channels + c;
        const float* out = dy + (image_row * s.width + first_column) * s.out_channels + k;
        float row = 0.0f;
        for (int v = first_column; v < end_column; ++v, in += s.in_channels, out += s.out_channels)
          row += *in * *out;
        sum += row;
      }
    }
    dw[e] = sum;
  }
}

inline constexpr int kColumns = 32;
inline constexpr int kRowsAtOnce = 8;

// sums[blockIdx.y][k] = sum of rows[i][k] for the `span` rows i of this block. Thread (k, j) adds rows j, j +
// 8, ...
__global__ void conv2d_backward_bias_naive(std::int64_t rows, std::int64_t span, int channels,
                                           const float* __restrict__ values, float* __restrict__ sums) {
  __shared__ float partial[kRowsAtOnce][kColumns];
  const int k = static_cast<int>(blockIdx.x) * kColumns + static_cast<int>(threadIdx.x);
  const std::int64_t begin = blockIdx.y * span;
  const std::int64_t end = min(rows, begin + span);
  float sum = 0.0f;
  if (k < channels) {
    for (std::int64_t i = begin + threadIdx.y; i < end; i += kRowsAtOnce) sum += values[i * channels + k];
  }
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || k >= channels) return;
  for (int j = 1; j < kRowsAtOnce; ++j) sum += partial[j][threadIdx.x];
  sums[static_cast<std::int64_t>(blockIdx.y) * channels + k] = sum;
}

void forward(const OpCall& call) {
  const std::int64_t count = pixels(call.shape) * call.shape.out_channels;
  with_index(largest_tensor(call.shape), [&](auto index) {
    using Index = decltype(index);
    conv2d_forward_naive<Index>
        <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
            static_cast<Index>(count), device_shape(call.shape), call.operand<const float>(kForwardInput),
            call.operand<const float>(kForwardWeights), call.operand<float>(kForwardOutput));
  });
  core::check_launch("conv2d.forward naive");
}

void backward_input(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_index(largest_tensor(call.shape), [&](auto index) {
    using Index = decltype(index);
    conv2d_backward_input_naive<Index>
        <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
            static_cast<Index>(count), device_shape(call.shape),
            call.operand<const float>(kInputOutputGradient), call.operand<const float>(kInputWeights),
            call.operand<float>(kInputInputGradient));
  });
  core::check_launch("conv2d.backward_input naive");
}

void backward_weights(const OpCall& call) {
  const std::int64_t count = weights(call.shape);
  with_index(largest_tensor(call.shape), [&](auto index) {
    using Index = decltype(index);
    conv2d_backward_weights_naive<Index>
        <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
            static_cast<Index>(count), device_shape(call.shape), call.operand<const float>(kWeightsInput),
            call.operand<const float>(kWeightsOutputGradient), call.operand<float>(kWeightsGradient));
  });
  core::check_launch("conv2d.backward_weights naive");
}

/// Spans of pixels that the first pass of backward_bias adds: enough to fill a GPU, few enough for one second
/// pass.
std::int64_t bias_spans(const OpShape& s) {
  return std::clamp<std::int64_t>(pixels(s) / 256, 1, 256);
}

std::size_t bias_workspace(const OpShape& s, core::Precision) {
  return static_cast<std::size_t>(bias_spans(s) * s.out_channels) * sizeof(float);
}

void backward_bias(const OpCall& call) {
  const int channels = call.shape.out_channels;
  const std::int64_t rows = pixels(call.shape);
  const std::int64_t spans = bias_spans(call.shape);
  const auto groups = static_cast<unsigned>((channels + kColumns - 1) / kColumns);
  const dim3 threads(kColumns, kRowsAtOnce);
  const cudaStream_t stream = core::cuda_stream(*call.stream);
  auto* sums = static_cast<float*>(call.workspace);
  conv2d_backward_bias_naive<<<dim3(groups, static_cast<unsigned>(spans)), threads, 0, stream>>>(
      rows, (rows + spans - 1) / spans, channels, call.operand<const float>(kBiasOutputGradient), sums);
  core::check_launch("conv2d.backward_bias naive, spans of pixels");
  conv2d_backward_bias_naive<<<dim3(groups, 1), threads, 0, stream>>>(spans, spans, channels, sums,
                                                                      call.operand<float>(kBiasGradient));
  core::check_launch("conv2d.backward_bias naive, sum of the spans");
}

Variant naive(Op op, void (*launch)(const OpCall&), const char* summary) {
  return {.op = op,
          .name = "naive",
          .device = core::DeviceKind::cuda,
          .precisions = {core::Precision::fp32},
          .minimum_compute_capability = 75,
          .summary = summary,
          .launch = launch};
}

}  // namespace

Variant naive_forward() {
  return naive(Op::conv2d_forward, forward, "One thread per output element, which gathers its taps.");
}
Variant naive_backward_input() {
  return naive(Op::conv2d_backward_input, backward_input,
               "One thread per element of the input's gradient, which gathers its taps.");
}
Variant naive_backward_weights() {
  return naive(Op::conv2d_backward_weights, backward_weights,
               "One thread per weight, which walks through all images with its sum in a register.");
}
Variant naive_backward_bias() {
  Variant variant =
      naive(Op::conv2d_backward_bias, backward_bias,
            "Blocks of 32 channels by 8 threads add spans of pixels, then the spans, in a fixed order.");
  variant.workspace_bytes = bias_workspace;
  return variant;
}

}  // namespace warpscope::ops::conv2d
