#include <cmath>
#include <limits>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::joint {
namespace {

constexpr int kMostClasses = 256;

std::vector<OpShape> shapes() {
  return {{.batch = 1, .in_channels = 1},
          {.batch = 3, .in_channels = 10},
          {.batch = 64, .in_channels = 10},
          {.batch = 7, .in_channels = kMostClasses}};
}

OpShape random_shape(Random& random) {
  return {.batch = test_shapes::between(random, 1, 70),
          .in_channels = test_shapes::between(random, 1, kMostClasses)};
}

/// A share between 0.001 and 1000, and at times a cross-entropy that is no number.
void fit(const Draw& draw) {
  constexpr double kDecades = 6, kSteps = 1000;
  draw.edit_item<step::StepControl>(Name::control, [&](step::StepControl& control) {
    const double unit = static_cast<double>(draw.random() % 1001) / kSteps;
    control.joint = static_cast<float>(std::pow(10.0, kDecades * (unit - 0.5)));
  });
  if (draw.random() % 8 != 0) return;
  draw.edit(Name::head_loss,
            [](std::vector<double>& values) { values[0] = std::numeric_limits<double>::infinity(); });
}

}  // namespace

OpTests weigh_tests() {
  return {
      .shapes = shapes,
      .random_shape = random_shape,
      .fit = fit,
      .no_derivative = "weighs a gradient: that of the whole objective is held against finite differences"};
}

}  // namespace warpscope::ops::joint
