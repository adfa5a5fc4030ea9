// maxpool2d.backward, variant `gather`: one thread per element of dx, which looks up whether it won its window, 4 bytes
// at a time (2 in 16-bit precisions). Over `atomic` it adds that dx is written once instead of cleared and then added
// to, without atomics, and that 16-bit storage is possible. Limits: none on the shape. Bound by memory, with each
// gradient and code read by all elements of a window. At most 32 registers, no shared memory, no spills. Source:
// maxpool2d.cpp.

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::maxpool2d {
namespace {

template <class Index, class T, class Window>
__global__ void maxpool2d_backward_gather(Index count, Image image, Window window, const T* __restrict__ dy,
                                          const std::uint8_t* __restrict__ argmax, T* __restrict__ dx) {
  const unsigned rows = image.height / window.height;
  const unsigned columns = image.width / window.width;
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    const WindowPlace<Index> at(e, image.height, image.width, image.channels);  // a pixel here
    const unsigned row = at.row / window.height;
    const unsigned column = at.column / window.width;
    T gradient = from_float<T>(0.0f);
    if (row < rows && column < columns) {
      const Index pooled = ((at.image * rows + row) * columns + column) * image.channels + at.channel;
      const unsigned place = at.row % window.height * window.width + at.column % window.width;
      if (argmax[pooled] == place) gradient = dy[pooled];
    }
    dx[e] = gradient;
  }
}

void backward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    with_window(call.shape, [&]<class Window>(Window window) {
      run_elements(call, count, maxpool2d_backward_gather<Index, T, Window>, count, image_of(call.shape),
                   window, Name::output_gradient, Name::argmax, Name::input_gradient);
    });
  });
}

}  // namespace

Variant gather_backward() {
  return cuda_variant(Op::maxpool2d_backward, "gather", backward,
                      "One thread per element, which looks up whether it won its window: no atomics.");
}

}  // namespace warpscope::ops::maxpool2d
