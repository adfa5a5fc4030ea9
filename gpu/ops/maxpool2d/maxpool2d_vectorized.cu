// maxpool2d.forward, variant `vectorized`: a thread pools 16 bytes of neighbouring channels, 4 in FP32 and 8
// in 16 bits. Over `naive` it adds accesses of 16 bytes (the widest there are) and that finding the window is
// paid for once for all of them. Limits: windows of 2x2; channels that are no multiple of 16 bytes, and
// tensors that do not start at one, are taken one at a time. Bound by memory. At most 32 registers, no shared
// memory, no spills. Source: maxpool2d.h; CUDA C++ Programming Guide, "Device Memory Accesses".

#include "gpu/core/cuda.h"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/maxpool2d/maxpool2d_variants.h"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::maxpool2d {
namespace {

template <class Index, class T, int V>
__global__ void maxpool2d_forward_vectorized(Index count, Image image, const Vec<T, V>* __restrict__ x,
                                             Vec<T, V>* __restrict__ y,
                                             Vec<std::uint8_t, V>* __restrict__ argmax) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const WindowPlace<Index> at(e, image.height / 2, image.width / 2, image.channels);
    const Index corner = at.corner(image);
    const Index down = static_cast<Index>(image.width) * image.channels;
    const Vec<T, V> window[4] = {x[corner], x[corner + image.channels], x[corner + down],
                                 x[corner + down + image.channels]};
    Vec<T, V> out;
    Vec<std::uint8_t, V> places;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float values[4] = {to_float(window[0].at[j]), to_float(window[1].at[j]),
                               to_float(window[2].at[j]), to_float(window[3].at[j])};
      const Largest largest = largest_of(values);
      out.at[j] = from_float<T>(largest.value);
      places.at[j] = static_cast<std::uint8_t>(largest.place);
    }
    y[e] = out;
    argmax[e] = places;
  }
}

template <class T, int V>
void launch(const OpCall& call) {
  const std::int64_t count = pooled_elements(call.shape) / V;
  with_index(input_elements(call.shape), [&](auto index) {
    using Index = decltype(index);
    maxpool2d_forward_vectorized<Index, T, V>
        <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
            static_cast<Index>(count), image_of(call.shape, V), call.operand<const Vec<T, V>>(Name::input),
            call.operand<Vec<T, V>>(Name::output), call.operand<Vec<std::uint8_t, V>>(Name::argmax));
  });
}

void forward(const OpCall& call) {
  if (pooled_elements(call.shape) == 0) return;
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    const bool wide = call.shape.in_channels % kWide<T> == 0 &&
                      aligned_16(call.operand<T>(Name::input), call.operand<T>(Name::output),
                                 call.operand<T>(Name::argmax));
    wide ? launch<T, kWide<T>>(call) : launch<T, 1>(call);
  });
  core::check_launch("maxpool2d.forward vectorized");
}

}  // namespace

Variant vectorized_forward() {
  return {.op = Op::maxpool2d_forward,
          .name = "vectorized",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .summary = "Several channels a thread, in accesses of 16 bytes.",
          .launch = forward,
          .refuses = refuses_other_windows};
}

}  // namespace warpscope::ops::maxpool2d
