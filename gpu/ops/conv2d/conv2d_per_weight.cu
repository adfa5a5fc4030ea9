// conv2d.backward_weights, variant `per_weight`: one thread owns a weight and walks through all images with
// its sum in a register. Over `atomic` it adds that the gradient is written once instead of added to once for
// each pixel, and that every sum has a fixed order, the same bits every time. Sums over the batch are made of
// sums over rows, so that rounding errors stay those of short sums.
//
// Limits: none on the shape, but there are only as many threads as weights: layers with few weights and many
// pixels leave most of the GPU idle. At most 40 registers, no shared memory, no spills. Source: conv2d.cpp.

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/simt_convolution.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

template <class Index, class T, class AnyShape>
__global__ void conv2d_backward_weights_per_weight(Index count, AnyShape s, const T* __restrict__ x,
                                                   const T* __restrict__ dy, float* __restrict__ dw) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const WeightPlace at(e, s);
    const int r = at.tap / s.kernel_width;
    const int t = at.tap % s.kernel_width;
    const int first_row = s.rows().first_output(r);
    const int end_row = s.rows().end_output(r, s.height, s.output_height());
    const int first_column = s.columns().first_output(t);
    const int end_column = s.columns().end_output(t, s.width, s.output_width());
    const int step = s.columns().stride * s.in_channels;
    float sum = 0.0f;
    for (Index n = 0; n < static_cast<Index>(s.batch); ++n) {
      for (int h = first_row; h < end_row; ++h) {
        const Index row_in = n * s.height + s.rows().input(h, r);
        const Index row_out = n * s.output_height() + h;
        const T* in =
            x + (row_in * s.width + s.columns().input(first_column, t)) * s.in_channels + at.channel;
        const T* out = dy + (row_out * s.output_width() + first_column) * s.out_channels + at.filter;
        float row = 0.0f;
        for (int v = first_column; v < end_column; ++v, in += step, out += s.out_channels)
          row += to_float(*in) * to_float(*out);
        sum += row;
      }
    }
    dw[e] = sum;
  }
}

void backward_weights(const OpCall& call) {
  const std::int64_t count = weights(call.shape);
  with_storage_and_index(call.precision, largest_tensor(call.shape), [&]<class T, class Index>() {
    with_shape(call.shape, [&]<class AnyShape>(const AnyShape& shape) {
      run_elements(call, count, conv2d_backward_weights_per_weight<Index, T, AnyShape>, count, shape,
                   Name::input, Name::output_gradient, Name::weights_gradient);
    });
  });
}

}  // namespace

Variant per_weight_backward_weights() {
  return cuda_variant(Op::conv2d_backward_weights, "per_weight", backward_weights,
                      "One thread per weight, which walks through all images with its sum in a register: no "
                      "atomics.",
                      {.precisions = {core::Precision::fp32, core::Precision::fp16, core::Precision::bf16},
                       .presets = {{"naive"}}});
}

}  // namespace warpscope::ops::conv2d
