// global_average_pool, variant `loops`: sums of up to 64 neighbouring channels side by side, pixel by pixel, so that
// memory is read in its order and sums are vectors. Over `reference` it adds that order. Limits: none on the shape; one
// thread. Source: global_average_pool.cpp.

#include <algorithm>
#include <array>
#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::global_average_pool {
namespace {

constexpr int kTogether = 64;  // sums that fit in registers and the first-level cache

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t pixels = std::int64_t{s.height} * s.width;
  const float share = 1.0f / static_cast<float>(pixels);
  const T* x = call.operand<const T>(Name::input);
  T* y = call.operand<T>(Name::output);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int first = 0; first < s.in_channels; first += kTogether) {
      const int channels = std::min(kTogether, s.in_channels - first);
      std::array<float, kTogether> sums{};
      for (std::int64_t p = 0; p < pixels; ++p) {
        const T* const pixel = x + (n * pixels + p) * s.in_channels + first;
        for (int c = 0; c < channels; ++c) sums[static_cast<std::size_t>(c)] += to_float(pixel[c]);
      }
      T* const means = y + n * s.in_channels + first;
      for (int c = 0; c < channels; ++c) means[c] = from_float<T>(sums[static_cast<std::size_t>(c)] * share);
    }
  }
}

template <class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t pixels = std::int64_t{s.height} * s.width;
  const float share = 1.0f / static_cast<float>(pixels);
  const T* dy = call.operand<const T>(Name::output_gradient);
  T* dx = call.operand<T>(Name::input_gradient);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t p = 0; p < pixels; ++p) {
      for (int c = 0; c < s.in_channels; ++c) dx[c] = from_float<T>(to_float(dy[c]) * share);
      dx += s.in_channels;
    }
    dy += s.in_channels;
  }
}

}  // namespace

Variant loops_forward() {
  return loops_variant(Op::global_average_pool_forward, by_storage<forward<float>, forward<BFloat16>>,
                       "Sums of neighbouring channels side by side on one thread.");
}
Variant loops_backward() {
  return loops_variant(Op::global_average_pool_backward, by_storage<backward<float>, backward<BFloat16>>,
                       "A loop over the pixels on one thread.");
}

}  // namespace warpscope::ops::global_average_pool
