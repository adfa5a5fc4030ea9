#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "gpu/ops/augment/mixup.h"
#include "gpu/ops/op_tests.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::cross_entropy {
namespace {

/// Each size of the groups that a GPU's variants work in, and more images than fit at once.
std::vector<OpShape> shapes() {
  std::vector<OpShape> list;
  const auto add = [&](std::int64_t batch, int classes) {
    list.push_back({.batch = batch, .in_channels = classes});
  };
  add(1, 1), add(1, 2), add(7, 3), add(33, 8), add(5, 9), add(2100, 10), add(17, 16), add(64, 17), add(3, 32);
  add(9, 33), add(2, 64), add(11, 65), add(300, 100), add(1, 255), add(40, 256);
  return list;
}

OpShape random_shape(Random& random) {
  const int batch = test_shapes::between(random, 1, 2100);
  return {.batch = batch, .in_channels = std::min(test_shapes::channels(random), 256)};
}

/// A logit that stands out; between 64 and 128, where FP32 still takes its difference to the others without
/// rounding.
constexpr double kLargeLogit = 80;

void fit_labels(const Draw& draw) {
  for (std::byte& label : draw.operands[Name::labels]) {
    label = static_cast<std::byte>(draw.random() % static_cast<std::uint64_t>(draw.shape.in_channels));
  }
}

/// Where one logit stands out it is no label's: a loss of exp(-80) is zero in FP16, and its relative error infinite.
void raise_one(const Draw& draw, std::size_t image, std::span<double> logits) {
  const Bytes& labels = draw.operands[Name::labels];
  const std::size_t raised = draw.random() % logits.size();
  const auto next = static_cast<std::size_t>(
      augment::partner_of(static_cast<std::int64_t>(image), static_cast<std::int64_t>(labels.size())));
  const auto is_label = [&](std::size_t n) { return static_cast<std::size_t>(labels[n]) == raised; };
  if (labels.empty() || is_label(image) || is_label(next)) return;
  logits[raised] = kLargeLogit;
}

/// Multiples of 1/64, so that in FP32 too the difference of two logits is exact and what is left is the op's
/// own error. One of four images has large logits throughout, one a single large one, and one a tie.
void fit_logits(const Draw& draw) {
  const auto classes = static_cast<std::size_t>(draw.shape.in_channels);
  draw.edit(Name::logits, [&](std::vector<double>& values) {
    std::normal_distribution<float> normal;
    for (double& value : values) value = std::round(64 * normal(draw.random)) / 64;
    for (std::size_t image = 0; image * classes < values.size(); ++image) {
      const auto kind = draw.random() % 4;
      const std::span logits(values.data() + image * classes, classes);
      if (kind == 0) {
        for (double& value : logits) value += kLargeLogit;
      } else if (kind == 1) {
        raise_one(draw, image, logits);
      } else if (kind == 2) {
        const double largest = *std::max_element(logits.begin(), logits.end());
        logits[draw.random() % classes] = largest;
      }
    }
  });
}

/// The gradient of a mean is scaled so that it lies well inside the range of FP16, as training scales it. At times
/// nothing is mixed.
void fit(const Draw& draw) {
  fit_labels(draw);
  fit_logits(draw);
  const int width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(draw.shape.batch)));
  const int exponent = width - 2 + static_cast<int>(draw.random() % 4);
  draw.edit_item<step::StepControl>(Name::control, [&](step::StepControl& control) {
    constexpr float kLeast = 0.3f, kSteps = 1000;
    control.loss_scale = std::ldexp(1.0f, exponent);
    control.seed = draw.random();
    const float alpha = kLeast + 1.7f * static_cast<float>(draw.random() % 1001) / kSteps;
    control.mixup = draw.random() % 8 == 0 ? 0.0f : alpha;
  });
}

/// Losses so small that differences keep their digits.
void smooth(const Draw& draw) {
  draw.edit(Name::logits, [](std::vector<double>& values) {
    for (double& value : values) value = std::clamp(value, -4.0, 4.0);
  });
}

OpTests of_forward() {
  return {.shapes = shapes,
          .random_shape = random_shape,
          .fit = fit,
          .smooth = smooth,
          .no_derivative = kForwardOp};
}

OpTests of_backward(Op forward) {
  return {.shapes = shapes,
          .random_shape = random_shape,
          .fit = fit,
          .derivative = Derivative{.forward = forward,
                                   .shape = {.batch = 6, .in_channels = 5},
                                   .variable = Name::logits,
                                   .result = Name::gradient,
                                   .output = Name::loss,
                                   .output_gradient = {}}};
}

}  // namespace

OpTests forward_tests() {
  return of_forward();
}
OpTests mixed_forward_tests() {
  return of_forward();
}
OpTests backward_tests() {
  return of_backward(Op::cross_entropy_forward);
}
OpTests mixed_backward_tests() {
  return of_backward(Op::mixed_cross_entropy_forward);
}

}  // namespace warpscope::ops::cross_entropy
