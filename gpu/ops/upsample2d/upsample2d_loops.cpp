// upsample2d, variant `loops`: loops over the small image, whole runs of channels copied, or added in FP32,
// at a time. Limits: none on the shape; one thread. Source: upsample2d.cpp.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::upsample2d {
namespace {

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  const View4<T> y{call.operand<T>(Name::output), 2 * s.height, 2 * s.width, s.in_channels};
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int h = 0; h < s.height; ++h) {
      for (int w = 0; w < s.width; ++w) {
        std::copy_n(x, s.in_channels, y.at(n, 2 * h, 2 * w));
        std::copy_n(x, s.in_channels, y.at(n, 2 * h, 2 * w + 1));
        std::copy_n(x, s.in_channels, y.at(n, 2 * h + 1, 2 * w));
        std::copy_n(x, s.in_channels, y.at(n, 2 * h + 1, 2 * w + 1));
        x += s.in_channels;
      }
    }
  }
}

template <class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const T> dy{call.operand<const T>(Name::output_gradient), 2 * s.height, 2 * s.width,
                          s.in_channels};
  T* dx = call.operand<T>(Name::input_gradient);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int h = 0; h < s.height; ++h) {
      for (int w = 0; w < s.width; ++w) {
        const T* upper = dy.at(n, 2 * h, 2 * w);
        const T* lower = dy.at(n, 2 * h + 1, 2 * w);
        for (int c = 0; c < s.in_channels; ++c) {
          dx[c] = from_float<T>(to_float(upper[c]) + to_float(upper[s.in_channels + c]) + to_float(lower[c]) +
                                to_float(lower[s.in_channels + c]));
        }
        dx += s.in_channels;
      }
    }
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return loops_variant(op, run, "A loop over the pixels of the small image on one thread.");
}

}  // namespace

Variant loops_forward() {
  return loops(Op::upsample2d_forward, by_storage<forward<float>, forward<BFloat16>>);
}
Variant loops_backward() {
  return loops(Op::upsample2d_backward, by_storage<backward<float>, backward<BFloat16>>);
}

}  // namespace warpscope::ops::upsample2d
