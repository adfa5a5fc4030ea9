// maxpool2d.backward, variant `direct`: windows do not overlap, so a thread owns one. It writes all of
// its elements, zeros included, for 16 bytes of neighbouring channels. Over `atomic` it adds that dx is
// written once instead of cleared and then added to, without atomics, in wide accesses, and that 16-bit
// storage is possible. Over `gather`: each gradient is read once, in wide accesses. Last rows and columns that
// fill no window belong to windows that lie half outside: their threads write zeros to what is inside.
//
// Limits: channels that are no multiple of 16 bytes, and tensors that do not start at one, are taken one at a
// time. Bound by memory. At most 44 registers, no shared memory, no spills. Source: maxpool2d.cpp.

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::maxpool2d {
namespace {

inline constexpr unsigned kNone = kMostPlaces;  // the winner of a window that lies half outside

__host__ __device__ constexpr unsigned rounded_up(unsigned extent, unsigned step) {
  return (extent + step - 1) / step;
}

template <class Index, class T, int V, class Window>
__global__ void maxpool2d_backward_direct(Index count, Image image, Window window,
                                          const Vec<T, V>* __restrict__ dy,
                                          const Vec<std::uint8_t, V>* __restrict__ argmax,
                                          Vec<T, V>* __restrict__ dx) {
  const T zero = from_float<T>(0.0f);
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const WindowPlace<Index> at(e, rounded_up(image.height, window.height),
                                rounded_up(image.width, window.width), image.channels);
    // How much of the window lies inside.
    const unsigned rows = min(window.height, image.height - window.height * at.row);
    const unsigned columns = min(window.width, image.width - window.width * at.column);
    Vec<T, V> gradient;
    unsigned winner[V];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      gradient.at[j] = zero;
      winner[j] = kNone;
    }
    if (rows == window.height && columns == window.width) {
      const Index pooled =
          ((at.image * (image.height / window.height) + at.row) * (image.width / window.width) + at.column) *
              image.channels +
          at.channel;
      gradient = dy[pooled];
      const Vec<std::uint8_t, V> winners = argmax[pooled];
#pragma unroll
      for (int j = 0; j < V; ++j) winner[j] = winners.at[j];
    }
    const Index corner = at.corner(image, window);
#pragma unroll(Window::unrolled)
    for (unsigned place = 0; place < window.height * window.width; ++place) {
      if (place / window.width >= rows || place % window.width >= columns) continue;
      Vec<T, V> out;
#pragma unroll
      for (int j = 0; j < V; ++j) out.at[j] = winner[j] == place ? gradient.at[j] : zero;
      dx[corner + (static_cast<Index>(place / window.width) * image.width + place % window.width) *
                      image.channels] = out;
    }
  }
}

template <class T, int V, class Window>
void launch(const OpCall& call, Window window) {
  const OpShape& s = call.shape;
  const Image image = image_of(s, V);
  const std::int64_t count = s.batch * rounded_up(image.height, window.height) *
                             rounded_up(image.width, window.width) * image.channels;
  with_index(input_elements(s), [&]<class Index>(Index) {
    run_elements(call, count, maxpool2d_backward_direct<Index, T, V, Window>, count, image, window,
                 Name::output_gradient, Name::argmax, Name::input_gradient);
  });
}

void backward(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    const bool wide = call.shape.in_channels % kWide<T> == 0 &&
                      aligned_16(call.operand<T>(Name::output_gradient), call.operand<T>(Name::argmax),
                                 call.operand<T>(Name::input_gradient));
    if (wide) {
      with_known_window(call.shape, [&](auto window) { launch<T, kWide<T>>(call, window); });
    } else {
      with_window(call.shape, [&](auto window) { launch<T, 1>(call, window); });
    }
  });
}

}  // namespace

Variant direct_backward() {
  return cuda_variant(
      Op::maxpool2d_backward, "direct", backward,
      "One thread per window, which writes all its elements once, zeros included, in accesses of 16 "
      "bytes.");
}

}  // namespace warpscope::ops::maxpool2d
