// maxpool2d.backward, variant `atomic`: the first rung, which holds for windows that overlap too. One thread
// per element of dy, which adds it with atomicAdd to the element that won its window; dx is zeroed first.
// Here windows do not overlap: each element gets at most one addition, to zero, so the result has the same
// bits every time. Limits: none on the shape; FP32 only. Bound by memory, which dx goes through twice. At
// most 30 registers, no shared memory, no spills. Source: maxpool2d.cpp.

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::maxpool2d {
namespace {

template <class Index, class Window>
__global__ void maxpool2d_backward_atomic(Index count, Image image, Window window,
                                          const float* __restrict__ dy,
                                          const std::uint8_t* __restrict__ argmax, float* __restrict__ dx) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const WindowPlace<Index> at(e, image.height / window.height, image.width / window.width, image.channels);
    const unsigned winner = argmax[e];
    const Index pixels_on = static_cast<Index>(winner / window.width) * image.width + winner % window.width;
    atomicAdd(dx + at.corner(image, window) + pixels_on * image.channels, dy[e]);
  }
}

void backward(const OpCall& call) {
  const std::int64_t elements = input_elements(call.shape);
  const std::int64_t pooled = pooled_elements(call.shape);
  clear_floats(call, Name::input_gradient, elements);
  if (pooled == 0) return;
  with_index(elements, [&]<class Index>(Index) {
    with_window(call.shape, [&]<class Window>(Window window) {
      run_elements(call, pooled, maxpool2d_backward_atomic<Index, Window>, pooled, image_of(call.shape),
                   window, Name::output_gradient, Name::argmax, Name::input_gradient);
    });
  });
}

}  // namespace

Variant atomic_backward() {
  return cuda_variant(
      Op::maxpool2d_backward, "atomic", backward,
      "One thread per pooled element, which adds its gradient to the winner with atomicAdd.",
      {.precisions = {core::Precision::fp32, core::Precision::tf32}, .presets = {{"atomic"}}});
}

}  // namespace warpscope::ops::maxpool2d
