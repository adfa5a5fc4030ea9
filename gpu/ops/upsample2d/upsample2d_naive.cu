// upsample2d, variant `naive`: the first rung on CUDA. forward: one thread per element of the larger output.
// backward: one thread per element of dx, which adds its four copies in a fixed order. Limits: none on the
// shape. Bound by memory. At most 32 registers, no shared memory, no spills. Source: upsample2d.cpp.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::upsample2d {
namespace {

// The rows of all images are one long column of rows: since both tensors keep every image whole, row i of x
// is rows 2i and 2i + 1 of y whichever image it belongs to, and the height is not needed.
template <class Index, class T>
__global__ void upsample2d_forward_naive(Index count, unsigned width, unsigned channels,
                                         const T* __restrict__ x, T* __restrict__ y) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    Index row = e / channels;
    const auto c = static_cast<unsigned>(e % channels);
    const auto column = static_cast<unsigned>(row % (2 * width));
    row /= 2 * width;
    y[e] = x[(row / 2 * width + column / 2) * channels + c];
  }
}

template <class Index, class T>
__global__ void upsample2d_backward_naive(Index count, unsigned width, unsigned channels,
                                          const T* __restrict__ dy, T* __restrict__ dx) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    Index row = e / channels;
    const auto c = static_cast<unsigned>(e % channels);
    const auto column = static_cast<unsigned>(row % width);
    row /= width;
    const Index corner = (row * 4 * width + 2 * column) * channels + c;
    const Index down = static_cast<Index>(2) * width * channels;
    const float upper = to_float(dy[corner]) + to_float(dy[corner + channels]);
    const float lower = to_float(dy[corner + down]) + to_float(dy[corner + down + channels]);
    dx[e] = from_float<T>(upper + lower);
  }
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = 4 * input_elements(s);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, upsample2d_forward_naive<Index, T>, count, s.width, s.in_channels, Name::input,
                 Name::output);
  });
}

void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = input_elements(s);
  with_storage_and_index(call.precision, 4 * count, [&]<class T, class Index>() {
    run_elements(call, count, upsample2d_backward_naive<Index, T>, count, s.width, s.in_channels,
                 Name::output_gradient, Name::input_gradient);
  });
}

}  // namespace

Variant naive_forward() {
  return naive_variant(Op::upsample2d_forward, forward, "One thread per element of the larger output.");
}
Variant naive_backward() {
  return naive_variant(Op::upsample2d_backward, backward,
                       "One thread per element of the smaller gradient, which adds four.");
}

}  // namespace warpscope::ops::upsample2d
