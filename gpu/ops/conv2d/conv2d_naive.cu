// conv2d.forward, variant `naive`: the first rung on CUDA, the formula of conv2d.cpp with one thread per
// element of y, which gathers its taps. 16-bit storage is converted to FP32 as it is read; sums are FP32.
//
// Limits: none on the shape. Slow by design: every product reads both factors through the cache, so the
// caches bound it, far under the arithmetic. At most 40 registers, no shared memory, no spills. Source:
// conv2d.cpp.

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/simt_convolution.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

template <class Index, class T, class AnyShape>
__global__ void conv2d_forward_naive(Index count, AnyShape s, const T* __restrict__ x,
                                     const T* __restrict__ w, T* __restrict__ y) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const Place<Index> at(e, s.output_height(), s.output_width(), s.out_channels);
    const T* weight = w + static_cast<Index>(at.channel) * s.kernel_height * s.kernel_width * s.in_channels;
    float sum = 0.0f;
    for (int r = 0; r < s.kernel_height; ++r) {
      const int h = s.rows().input(at.row, r);
      for (int t = 0; t < s.kernel_width; ++t, weight += s.in_channels) {
        const int v = s.columns().input(at.column, t);
        if (h < 0 || h >= s.height || v < 0 || v >= s.width) continue;
        const T* from = x + ((at.image * s.height + h) * s.width + v) * s.in_channels;
        for (int c = 0; c < s.in_channels; ++c) sum += to_float(from[c]) * to_float(weight[c]);
      }
    }
    y[e] = from_float<T>(sum);
  }
}

void forward(const OpCall& call) {
  const std::int64_t count = output_elements(call.shape);
  with_storage_and_index(call.precision, largest_tensor(call.shape), [&]<class T, class Index>() {
    with_shape(call.shape, [&]<class AnyShape>(const AnyShape& shape) {
      run_elements(call, count, conv2d_forward_naive<Index, T, AnyShape>, count, shape, Name::input,
                   Name::weights, Name::output);
    });
  });
}

}  // namespace

Variant naive_forward() {
  return cuda_variant(Op::conv2d_forward, "naive", forward,
                      "One thread per output element, which gathers its taps.",
                      {.precisions = {core::Precision::fp32, core::Precision::fp16, core::Precision::bf16},
                       .presets = {{"naive", true}, {"atomic"}, {"atomic_free"}}});
}

}  // namespace warpscope::ops::conv2d
