// conv2d.backward_input, variant `gather`: one thread per element of dx, which gathers the output gradients
// that its element reached. Over `atomic` it adds that each sum lives in a register: no atomics, nothing to
// clear first, dx is written once, 16-bit storage is possible, and every sum has a fixed order, the same bits
// every time.
//
// Limits: none on the shape. Every product reads both factors through the cache, which bounds it. At most 48
// registers, no shared memory, no spills. Source: conv2d.cpp.

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/simt_convolution.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

template <class Index, class T, class AnyShape>
__global__ void conv2d_backward_input_gather(Index count, AnyShape s, const T* __restrict__ dy,
                                             const T* __restrict__ w, T* __restrict__ dx) {
  const Index filter = static_cast<Index>(s.kernel_height) * s.kernel_width * s.in_channels;
  const int height = s.output_height();
  const int width = s.output_width();
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const Place<Index> at(e, s.height, s.width, s.in_channels);
    const T* weight = w + at.channel;
    float sum = 0.0f;
    for (int r = 0; r < s.kernel_height; ++r) {
      const int h = s.rows().output(at.row, r);
      for (int t = 0; t < s.kernel_width; ++t, weight += s.in_channels) {
        const int v = s.columns().output(at.column, t);
        if (h < 0 || h >= height || v < 0 || v >= width) continue;
        const T* from = dy + ((at.image * height + h) * width + v) * s.out_channels;
        for (int k = 0; k < s.out_channels; ++k) sum += to_float(from[k]) * to_float(weight[k * filter]);
      }
    }
    dx[e] = from_float<T>(sum);
  }
}

void backward_input(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage_and_index(call.precision, largest_tensor(call.shape), [&]<class T, class Index>() {
    with_shape(call.shape, [&]<class AnyShape>(const AnyShape& shape) {
      run_elements(call, count, conv2d_backward_input_gather<Index, T, AnyShape>, count, shape,
                   Name::output_gradient, Name::weights, Name::input_gradient);
    });
  });
}

}  // namespace

Variant gather_backward_input() {
  return cuda_variant(Op::conv2d_backward_input, "gather", backward_input,
                      "One thread per element of the input's gradient, which sums its taps in a register: no "
                      "atomics, nothing to clear.",
                      {.precisions = {core::Precision::fp32, core::Precision::fp16, core::Precision::bf16},
                       .presets = {{"naive"}, {"atomic_free", true}, {"tiled"}}});
}

}  // namespace warpscope::ops::conv2d
