#include <algorithm>
#include <cmath>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::add {
namespace {

/// What is added to a sum that the same call makes is large and positive at the first position: so a single number
/// neither cancels nor lies where an activation leaves little of it.
void fit(const Draw& draw) {
  constexpr double kAboveAll = 8.0;
  if (!draw.values(Name::input).empty()) return;
  draw.edit(Name::addend, [&](std::vector<double>& values) {
    const auto first = std::min(values.size(), static_cast<std::size_t>(draw.shape.in_channels));
    for (std::size_t i = 0; i < first; ++i) values[i] = kAboveAll + std::abs(values[i]);
  });
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = test_shapes::images,
          .random_shape = test_shapes::random_image,
          .fit = fit,
          .no_derivative = kForwardOp,
          .lets_nan_through = true};
}

}  // namespace warpscope::ops::add
