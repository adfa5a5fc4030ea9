// maxpool2d.backward, variant `direct`: windows do not overlap, so a thread owns one. It writes all four of
// its elements, zeros included, for 16 bytes of neighbouring channels. Over `atomic` it adds that dx is
// written once instead of cleared and then added to, without atomics, in wide accesses, and that 16-bit
// storage is possible. An odd last row or column belongs to windows that lie half outside: their threads
// write zeros to what is inside.
//
// Limits: windows of 2x2; channels that are no multiple of 16 bytes, and tensors that do not start at one,
// are taken one at a time. Bound by memory. At most 48 registers, no shared memory, no spills. Source:
// maxpool2d.h.

#include "gpu/core/cuda.h"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/maxpool2d/maxpool2d_variants.h"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::maxpool2d {
namespace {

inline constexpr unsigned kNone = 4;  // the winner of a window that lies half outside

template <class Index, class T, int V>
__global__ void maxpool2d_backward_direct(Index count, Image image, const Vec<T, V>* __restrict__ dy,
                                          const Vec<std::uint8_t, V>* __restrict__ argmax,
                                          Vec<T, V>* __restrict__ dx) {
  const T zero = from_float<T>(0.0f);
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const WindowPlace<Index> at(e, (image.height + 1) / 2, (image.width + 1) / 2, image.channels);
    const bool has_right = 2 * at.column + 1 < image.width;
    const bool has_down = 2 * at.row + 1 < image.height;
    Vec<T, V> gradient;
    unsigned winner[V];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      gradient.at[j] = zero;
      winner[j] = kNone;
    }
    if (has_right && has_down) {
      const Index window =
          ((at.image * (image.height / 2) + at.row) * (image.width / 2) + at.column) * image.channels +
          at.channel;
      gradient = dy[window];
      const Vec<std::uint8_t, V> winners = argmax[window];
#pragma unroll
      for (int j = 0; j < V; ++j) winner[j] = winners.at[j];
    }
    const Index corner = at.corner(image);
#pragma unroll
    for (unsigned place = 0; place < 4; ++place) {
      if ((place / 2 == 1 && !has_down) || (place % 2 == 1 && !has_right)) continue;
      Vec<T, V> out;
#pragma unroll
      for (int j = 0; j < V; ++j) out.at[j] = winner[j] == place ? gradient.at[j] : zero;
      dx[corner + (static_cast<Index>(place / 2) * image.width + place % 2) * image.channels] = out;
    }
  }
}

template <class T, int V>
void launch(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = s.batch * ((s.height + 1) / 2) * ((s.width + 1) / 2) * (s.in_channels / V);
  with_index(input_elements(s), [&](auto index) {
    using Index = decltype(index);
    maxpool2d_backward_direct<Index, T, V>
        <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
            static_cast<Index>(count), image_of(s, V), call.operand<const Vec<T, V>>(Name::output_gradient),
            call.operand<const Vec<std::uint8_t, V>>(Name::argmax),
            call.operand<Vec<T, V>>(Name::input_gradient));
  });
}

void backward(const OpCall& call) {
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    const bool wide = call.shape.in_channels % kWide<T> == 0 &&
                      aligned_16(call.operand<T>(Name::output_gradient), call.operand<T>(Name::argmax),
                                 call.operand<T>(Name::input_gradient));
    wide ? launch<T, kWide<T>>(call) : launch<T, 1>(call);
  });
  core::check_launch("maxpool2d.backward direct");
}

}  // namespace

Variant direct_backward() {
  return {.op = Op::maxpool2d_backward,
          .name = "direct",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .summary =
              "One thread per window, which writes all its elements once, zeros included, in accesses of 16 "
              "bytes.",
          .launch = backward,
          .refuses = refuses_other_windows};
}

}  // namespace warpscope::ops::maxpool2d
