#include "gpu/ops/conv2d/axis_taps.h"

#include <numeric>

#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d {

AxisTaps forward_axis(const OpShape& s, int outputs, int kernel) {
  return {.extent = outputs,
          .first = 0,
          .lower = -padding_of(s, kernel),
          .count = kernel,
          .shift = s.dilation,
          .tap = 0,
          .tap_step = 1};
}

// Tap r reads (input + padding - r dilation) / stride.
AxisTaps backward_axis(const OpShape& s, int inputs, int kernel, int remainder) {
  const int every = s.stride / std::gcd(s.stride, s.dilation);
  AxisTaps axis{.extent = static_cast<int>(divide_up(inputs - remainder, s.stride)),
                .first = remainder,
                .lower = 0,
                .count = 0,
                .shift = every * s.dilation / s.stride,
                .tap = 0,
                .tap_step = -every};
  for (int r = 0; r < kernel; ++r) {
    const int place = remainder + padding_of(s, kernel) - r * s.dilation;
    if (place % s.stride != 0) continue;
    ++axis.count;
    axis.tap = r;  // the last one reads the lowest place
    axis.lower = place / s.stride;
  }
  return axis;
}

}  // namespace warpscope::ops::conv2d
