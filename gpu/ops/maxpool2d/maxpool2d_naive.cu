// maxpool2d, variant `naive`: the first rung on CUDA. forward: one thread per pooled element, which reads its
// window. backward: one thread per element of dx, which asks its window whether it won; so every element is
// written once and nothing needs clearing first. Limits: none on the shape. Bound by memory. At most 30
// registers, no shared memory, no spills. Source: maxpool2d.h.

#include "gpu/core/cuda.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/maxpool2d/maxpool2d_variants.h"

namespace warpscope::ops::maxpool2d {
namespace {

/// Height, width and channels of the larger tensor, x or dx.
struct Image {
  unsigned height;
  unsigned width;
  unsigned channels;
};

template <class Index>
__global__ void maxpool2d_forward_naive(Index count, Image image, const float* __restrict__ x,
                                        float* __restrict__ y, std::uint8_t* __restrict__ argmax) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    Index rest = e;
    const auto c = static_cast<unsigned>(rest % image.channels);
    rest /= image.channels;
    const auto j = static_cast<unsigned>(rest % (image.width / 2));
    rest /= image.width / 2;
    const auto i = static_cast<unsigned>(rest % (image.height / 2));
    rest /= image.height / 2;
    const Index corner = ((rest * image.height + 2 * i) * image.width + 2 * j) * image.channels + c;
    const Index down = static_cast<Index>(image.width) * image.channels;
    const float window[4] = {x[corner], x[corner + image.channels], x[corner + down],
                             x[corner + down + image.channels]};
    float best = window[0];
    unsigned winner = 0;
#pragma unroll
    for (unsigned place = 1; place < 4; ++place) {
      // not (value <= best) is true of a NaN value; best == best is false of a NaN that has already won.
      if (!(window[place] <= best) && best == best) {
        best = window[place];
        winner = place;
      }
    }
    y[e] = best;
    argmax[e] = static_cast<std::uint8_t>(winner);
  }
}

template <class Index>
__global__ void maxpool2d_backward_naive(Index count, Image image, const float* __restrict__ dy,
                                         const std::uint8_t* __restrict__ argmax, float* __restrict__ dx) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    Index rest = e;
    const auto c = static_cast<unsigned>(rest % image.channels);
    rest /= image.channels;
    const auto column = static_cast<unsigned>(rest % image.width);
    rest /= image.width;
    const auto row = static_cast<unsigned>(rest % image.height);
    rest /= image.height;
    const unsigned i = row / 2;
    const unsigned j = column / 2;
    float gradient = 0.0f;
    if (i < image.height / 2 && j < image.width / 2) {
      const Index window = ((rest * (image.height / 2) + i) * (image.width / 2) + j) * image.channels + c;
      if (argmax[window] == 2 * (row % 2) + column % 2) gradient = dy[window];
    }
    dx[e] = gradient;
  }
}

Image image_of(const OpShape& s) {
  return {static_cast<unsigned>(s.height), static_cast<unsigned>(s.width),
          static_cast<unsigned>(s.in_channels)};
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t pooled = s.batch * (s.height / 2) * (s.width / 2) * s.in_channels;
  if (pooled == 0) return;
  with_index(input_elements(s), [&](auto index) {
    using Index = decltype(index);
    maxpool2d_forward_naive<Index>
        <<<element_blocks(pooled), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
            static_cast<Index>(pooled), image_of(s), call.operand<const float>(kForwardInput),
            call.operand<float>(kForwardOutput), call.operand<std::uint8_t>(kForwardArgmax));
  });
  core::check_launch("maxpool2d.forward naive");
}

void backward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_index(count, [&](auto index) {
    using Index = decltype(index);
    maxpool2d_backward_naive<Index>
        <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
            static_cast<Index>(count), image_of(call.shape),
            call.operand<const float>(kBackwardOutputGradient),
            call.operand<const std::uint8_t>(kBackwardArgmax), call.operand<float>(kBackwardInputGradient));
  });
  core::check_launch("maxpool2d.backward naive");
}

Variant naive(Op op, void (*launch)(const OpCall&), const char* summary) {
  return {.op = op,
          .name = "naive",
          .device = core::DeviceKind::cuda,
          .precisions = {core::Precision::fp32},
          .minimum_compute_capability = 75,
          .summary = summary,
          .launch = launch};
}

}  // namespace

Variant naive_forward() {
  return naive(Op::maxpool2d_forward, forward, "One thread per pooled element, 4 bytes at a time.");
}
Variant naive_backward() {
  return naive(Op::maxpool2d_backward, backward,
               "One thread per element of the input's gradient, which asks its window whether it won.");
}

}  // namespace warpscope::ops::maxpool2d
