// conv2d, variant `atomic`: the backward passes as they follow from the forward pass read backwards. What was
// read is added to, and since many threads add to the same place, with atomicAdd on a gradient that is zeroed
// first.
//
//   backward_input    one thread per element of dy, which scatters its products over the elements of dx
//   backward_weights  one atomicAdd for each weight and pixel; a thread takes one weight through 64 pixels
//   backward_bias     one atomicAdd for each element of dy
//
// The first rung of the backward passes: it adds nothing over another. Additions meet in any order, so that
// two runs differ in their last bits. Gradients are added to in FP32, so 16-bit storage is possible only
// where the result is a gradient of parameters. Limits: none on the shape. Bound by the atomic units of the
// L2 cache. At most 48 registers, no shared memory, no spills. Source: conv2d.cpp; CUDA C++ Programming Guide,
// "Atomic Functions".

#include <algorithm>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/simt_convolution.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

// Each thread starts at the channel of its own number: threads of a warp then add to neighbouring addresses
// at a time; from 0 on, all 32 would add to the same one.
template <class Index, class AnyShape>
__global__ void conv2d_backward_input_atomic(Index count, AnyShape s, const float* __restrict__ dy,
                                             const float* __restrict__ w, float* __restrict__ dx) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const Place<Index> at(e, s.output_height(), s.output_width(), s.out_channels);
    const float* weight =
        w + static_cast<Index>(at.channel) * s.kernel_height * s.kernel_width * s.in_channels;
    const float gradient = dy[e];
    const int start = at.channel % s.in_channels;
    for (int r = 0; r < s.kernel_height; ++r) {
      const int h = s.rows().input(at.row, r);
      for (int t = 0; t < s.kernel_width; ++t, weight += s.in_channels) {
        const int v = s.columns().input(at.column, t);
        if (h < 0 || h >= s.height || v < 0 || v >= s.width) continue;
        float* to = dx + ((at.image * s.height + h) * s.width + v) * s.in_channels;
        for (int c = start; c < s.in_channels; ++c) atomicAdd(to + c, gradient * weight[c]);
        for (int c = 0; c < start; ++c) atomicAdd(to + c, gradient * weight[c]);
      }
    }
  }
}

template <class T, class AnyShape>
__global__ void conv2d_backward_weights_atomic(std::int64_t count, std::int64_t pixels, std::int64_t span,
                                               AnyShape s, const T* __restrict__ x, const T* __restrict__ dy,
                                               float* __restrict__ dw) {
  const auto e = first_element<std::int64_t>();
  if (e >= count) return;
  const WeightPlace at(e, s);
  const std::int64_t begin = blockIdx.y * span;
  const std::int64_t end = begin + span < pixels ? begin + span : pixels;
  auto walk = walk_of(s, begin, 1);
  for (std::int64_t i = begin; i < end; ++i, walk.advance(s)) {
    const std::int64_t from = walk.input(i, at, s);
    if (from < 0) continue;
    atomicAdd(dw + e,
              to_float(x[from * s.in_channels + at.channel]) * to_float(dy[i * s.out_channels + at.filter]));
  }
}

template <class Index, class T>
__global__ void conv2d_backward_bias_atomic(Index count, int channels, const T* __restrict__ dy,
                                            float* __restrict__ db) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>())
    atomicAdd(db + e % static_cast<unsigned>(channels), to_float(dy[e]));
}

void backward_input(const OpCall& call) {
  const std::int64_t count = output_elements(call.shape);
  clear_floats(call, Name::input_gradient, input_elements(call.shape));
  with_index(largest_tensor(call.shape), [&]<class Index>(Index) {
    with_shape(call.shape, [&]<class AnyShape>(const AnyShape& shape) {
      run_elements(call, count, conv2d_backward_input_atomic<Index, AnyShape>, count, shape,
                   Name::output_gradient, Name::weights, Name::input_gradient);
    });
  });
}

/// Pixels of one thread of backward_weights: enough to pay for finding its weight, and no more than 2^15
/// spans, because a grid is at most 65,535 blocks high.
std::int64_t weights_span(std::int64_t pixels) {
  return std::max<std::int64_t>(64, (pixels >> 15) + 1);
}

void backward_weights(const OpCall& call) {
  const std::int64_t count = weights(call.shape);
  const std::int64_t positions = pixels(call.shape);
  const std::int64_t span = weights_span(positions);
  const dim3 blocks(static_cast<unsigned>((count + kElementThreads - 1) / kElementThreads),
                    static_cast<unsigned>((positions + span - 1) / span));
  clear_floats(call, Name::weights_gradient, count);
  with_storage(call.precision, [&]<class T>(T) {
    with_shape(call.shape, [&]<class AnyShape>(const AnyShape& shape) {
      run_kernel(call, {blocks}, conv2d_backward_weights_atomic<T, AnyShape>, count, positions, span, shape,
                 Name::input, Name::output_gradient, Name::weights_gradient);
    });
  });
}

void backward_bias(const OpCall& call) {
  const std::int64_t count = output_elements(call.shape);
  const int channels = call.shape.out_channels;
  clear_floats(call, Name::bias_gradient, channels);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, conv2d_backward_bias_atomic<Index, T>, count, channels, Name::output_gradient,
                 Name::bias_gradient);
  });
}

Variant atomic(Op op, std::vector<core::Precision> precisions, void (*launch)(const OpCall&),
               const char* summary) {
  return cuda_variant(
      op, "atomic", launch, summary,
      {.precisions = std::move(precisions), .deterministic = false, .presets = {{"atomic", true}}});
}

}  // namespace

Variant atomic_backward_input() {
  return atomic(Op::conv2d_backward_input, {core::Precision::fp32}, backward_input,
                "One thread per element of the output's gradient, which adds its products to the input's "
                "gradient with atomicAdd.");
}
Variant atomic_backward_weights() {
  return atomic(Op::conv2d_backward_weights,
                {core::Precision::fp32, core::Precision::fp16, core::Precision::bf16}, backward_weights,
                "One atomicAdd for each weight and output position.");
}
Variant atomic_backward_bias() {
  return atomic(Op::conv2d_backward_bias, {}, backward_bias,
                "One atomicAdd for each element of the output's gradient.");
}

}  // namespace warpscope::ops::conv2d
