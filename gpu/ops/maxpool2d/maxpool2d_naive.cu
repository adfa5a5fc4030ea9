// maxpool2d.forward, variant `naive`: the first rung on CUDA. One thread per pooled element, which reads its
// window, one element at a time, and compares in FP32. Limits: none on the shape. Bound by memory. At most 30
// registers, no shared memory, no spills. Source: maxpool2d.cpp.

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::maxpool2d {
namespace {

template <class Index, class T, class Window>
__global__ void maxpool2d_forward_naive(Index count, Image image, Window window, const T* __restrict__ x,
                                        T* __restrict__ y, std::uint8_t* __restrict__ argmax) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const WindowPlace<Index> at(e, image.height / window.height, image.width / window.width, image.channels);
    const Index corner = at.corner(image, window);
    Largest largest{to_float(x[corner]), 0};
    for (unsigned place = 1; place < window.height * window.width; ++place) {
      const Index pixels_on = static_cast<Index>(place / window.width) * image.width + place % window.width;
      largest.meet(to_float(x[corner + pixels_on * image.channels]), place);
    }
    y[e] = from_float<T>(largest.value);
    argmax[e] = static_cast<std::uint8_t>(largest.place);
  }
}

void forward(const OpCall& call) {
  const std::int64_t pooled = pooled_elements(call.shape);
  if (pooled == 0) return;
  with_storage_and_index(call.precision, input_elements(call.shape), [&]<class T, class Index>() {
    with_window(call.shape, [&]<class Window>(Window window) {
      run_elements(call, pooled, maxpool2d_forward_naive<Index, T, Window>, pooled, image_of(call.shape),
                   window, Name::input, Name::output, Name::argmax);
    });
  });
}

}  // namespace

Variant naive_forward() {
  return naive_variant(Op::maxpool2d_forward, forward,
                       "One thread per pooled element, one element of its window at a time.");
}

}  // namespace warpscope::ops::maxpool2d
