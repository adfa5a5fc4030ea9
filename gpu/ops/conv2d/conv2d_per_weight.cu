// conv2d.backward_weights, variant `per_weight`: one thread owns a weight and walks through all images with
// its sum in a register. Over `atomic` it adds that the gradient is written once instead of added to once for
// each pixel, and that every sum has a fixed order, the same bits every time. Sums over the batch are made of
// sums over rows, so that rounding errors stay those of short sums.
//
// Limits: none on the shape, but there are only as many threads as weights: layers with few weights and many
// pixels leave most of the GPU idle. 32 registers, no shared memory, no spills. Source: conv2d.h.

#include "gpu/core/cuda.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/conv2d_variants.h"
#include "gpu/ops/conv2d/simt_convolution.cuh"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::conv2d {
namespace {

template <class Index, class T>
__global__ void conv2d_backward_weights_per_weight(Index count, Shape s, const T* __restrict__ x,
                                                   const T* __restrict__ dy, float* __restrict__ dw) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const WeightPlace at(e, s);
    const int first_row = max(0, -at.row_shift);
    const int end_row = min(s.height, s.height - at.row_shift);
    const int first_column = max(0, -at.column_shift);
    const int end_column = min(s.width, s.width - at.column_shift);
    float sum = 0.0f;
    for (Index n = 0; n < static_cast<Index>(s.batch); ++n) {
      for (int h = first_row; h < end_row; ++h) {
        const Index image_row = n * s.height + h;
        const T* in =
            x + ((image_row + at.row_shift) * s.width + (first_column + at.column_shift)) * s.in_channels +
            at.channel;
        const T* out = dy + (image_row * s.width + first_column) * s.out_channels + at.filter;
        float row = 0.0f;
        for (int v = first_column; v < end_column; ++v, in += s.in_channels, out += s.out_channels)
          row += to_float(*in) * to_float(*out);
        sum += row;
      }
    }
    dw[e] = sum;
  }
}

void backward_weights(const OpCall& call) {
  const std::int64_t count = weights(call.shape);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    with_index(largest_tensor(call.shape), [&](auto index) {
      using Index = decltype(index);
      conv2d_backward_weights_per_weight<Index, T>
          <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              static_cast<Index>(count), device_shape(call.shape), call.operand<const T>(Name::input),
              call.operand<const T>(Name::output_gradient), call.operand<float>(Name::weights_gradient));
    });
  });
  core::check_launch("conv2d.backward_weights per_weight");
}

}  // namespace

Variant per_weight_backward_weights() {
  return {.op = Op::conv2d_backward_weights,
          .name = "per_weight",
          .device = core::DeviceKind::cuda,
          .precisions = {core::Precision::fp32, core::Precision::fp16, core::Precision::bf16},
          .minimum_compute_capability = 75,
          .presets = {{"naive"}},
          .summary =
              "One thread per weight, which walks through all images with its sum in a register: no "
              "atomics.",
          .launch = backward_weights};
}

}  // namespace warpscope::ops::conv2d
