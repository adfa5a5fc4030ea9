// maxpool2d.forward, variant `vectorized`: a thread pools 16 bytes of neighbouring channels, 4 in FP32 and 8
// in 16 bits. Over `naive` it adds accesses of 16 bytes (the widest there are) and that finding the window is
// paid for once for all of them. Limits: channels that are no multiple of 16 bytes, and tensors that do not start
// at one, are taken one at a time. Bound by memory. At most 60 registers, no shared memory, no spills. Source:
// maxpool2d.cpp; CUDA C++ Programming Guide, "Device Memory Accesses".

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::maxpool2d {
namespace {

template <class Index, class T, int V, class Window>
__global__ void maxpool2d_forward_vectorized(Index count, Image image, Window window,
                                             const Vec<T, V>* __restrict__ x, Vec<T, V>* __restrict__ y,
                                             Vec<std::uint8_t, V>* __restrict__ argmax) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const WindowPlace<Index> at(e, image.height / window.height, image.width / window.width, image.channels);
    const Index corner = at.corner(image, window);
    Largest largest[V];
    Vec<T, V> values = x[corner];
#pragma unroll
    for (int j = 0; j < V; ++j) largest[j] = {to_float(values.at[j]), 0};
#pragma unroll(Window::unrolled)
    for (unsigned place = 1; place < window.height * window.width; ++place) {
      const Index pixels_on = static_cast<Index>(place / window.width) * image.width + place % window.width;
      values = x[corner + pixels_on * image.channels];
#pragma unroll
      for (int j = 0; j < V; ++j) largest[j].meet(to_float(values.at[j]), place);
    }
    Vec<T, V> out;
    Vec<std::uint8_t, V> places;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      out.at[j] = from_float<T>(largest[j].value);
      places.at[j] = static_cast<std::uint8_t>(largest[j].place);
    }
    y[e] = out;
    argmax[e] = places;
  }
}

template <class T, int V, class Window>
void launch(const OpCall& call, Window window) {
  const std::int64_t count = pooled_elements(call.shape) / V;
  with_index(input_elements(call.shape), [&]<class Index>(Index) {
    run_elements(call, count, maxpool2d_forward_vectorized<Index, T, V, Window>, count,
                 image_of(call.shape, V), window, Name::input, Name::output, Name::argmax);
  });
}

void forward(const OpCall& call) {
  if (pooled_elements(call.shape) == 0) return;
  with_storage(call.precision, [&]<class T>(T) {
    const bool wide = call.shape.in_channels % kWide<T> == 0 &&
                      aligned_16(call.operand<T>(Name::input), call.operand<T>(Name::output),
                                 call.operand<T>(Name::argmax));
    if (wide) {
      with_known_window(call.shape, [&](auto window) { launch<T, kWide<T>>(call, window); });
    } else {
      with_window(call.shape, [&](auto window) { launch<T, 1>(call, window); });
    }
  });
}

}  // namespace

Variant vectorized_forward() {
  return cuda_variant(Op::maxpool2d_forward, "vectorized", forward,
                      "Several channels a thread, in accesses of 16 bytes.");
}

}  // namespace warpscope::ops::maxpool2d
