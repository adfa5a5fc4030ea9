#include <cmath>
#include <limits>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/test_shapes.h"
#include "gpu/ops/update_draw.h"

namespace warpscope::ops::optimizer {
namespace {

using step::StepControl;

/// Every rule at every count.
std::vector<OpShape> update_shapes() {
  std::vector<OpShape> shapes;
  for (int rule = 0; rule < kUpdateRuleCount; ++rule) {
    for (const int count : {1, 3, 255, 1024, 1025, 100003}) {
      shapes.push_back({.count = count, .rule = static_cast<UpdateRule>(rule)});
    }
  }
  return shapes;
}

/// A single sample, and several only where their order changes nothing.
std::vector<OpShape> per_sample_shapes() {
  auto shapes = update_shapes();
  for (const int count : {1, 259, 5000}) shapes.push_back({.batch = 5, .count = count});
  return shapes;
}

OpShape random_update(Random& random) {
  OpShape shape = test_shapes::random_parameters(random);
  shape.rule = static_cast<UpdateRule>(test_shapes::between(random, 0, kUpdateRuleCount - 1));
  if (shape.rule != UpdateRule::sgd) shape.batch = 1;  // more samples have an order, and results with it
  return shape;
}

std::vector<OpShape> accumulate_shapes() {
  auto shapes = test_shapes::parameters();
  for (const int shards : {2, 4, 8}) {
    for (const int count : {1, 259, 5000}) shapes.push_back({.count = count, .shards = shards});
  }
  return shapes;
}

OpShape random_accumulate(Random& random) {
  OpShape shape = test_shapes::random_parameters(random);
  shape.shards = 1 << test_shapes::between(random, 0, 3);
  return shape;
}

void fit_accumulate(const Draw& draw) {
  update_draw::settings(draw);
  update_draw::divide_in_shards(draw);
  update_draw::point_alike(draw, Name::gradients, Name::sums);
}

void fit_keep(const Draw& draw) {
  update_draw::settings(draw);
}

/// Half of the gradients hold one NaN or infinity.
void fit_norm(const Draw& draw) {
  constexpr double kNotFinite[] = {std::numeric_limits<double>::quiet_NaN(),
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity()};
  draw.edit(Name::gradients, [&](std::vector<double>& values) {
    if (draw.random() % 2 != 0) return;
    const std::size_t place =
        draw.random() % 2 == 0 ? values.size() - 1 : static_cast<std::size_t>(draw.random() % values.size());
    values[place] = kNotFinite[draw.random() % 3];
  });
}

/// Gradients of N(0, 1) after dividing by the loss scale; first moments that point where they do, so that
/// nothing cancels and Lion's signs are sure; second moments that are not negative.
void fit_moments(const Draw& draw) {
  double loss_scale = 1;
  draw.edit_item<StepControl>(
      Name::control, [&](StepControl& control) { loss_scale = static_cast<double>(control.loss_scale); });
  draw.edit(Name::gradients, [&](std::vector<double>& values) {
    for (double& value : values) value *= loss_scale;
  });
  draw.edit(Name::second_state, update_draw::square);
  if (row_of(draw.shape.rule).states[0].of_squares) {
    draw.edit(Name::first_state, update_draw::square);
  } else {
    update_draw::point_alike(draw, Name::gradients, Name::first_state);
  }
}

/// The parts of the gradients' norm, and clipping that sometimes does something.
void fit_clipping(const Draw& draw) {
  const std::vector<double> gradients = draw.values(Name::gradients);
  const auto length = static_cast<std::size_t>(slice_length(draw.shape.count));
  double squares = 0;
  draw.edit(Name::norm_parts, [&](std::vector<double>& parts) {
    parts.assign(parts.size(), 0.0);
    for (std::size_t i = 0; i < gradients.size(); ++i) parts[i / length] += gradients[i] * gradients[i];
    for (const double part : parts) squares += part;
  });
  draw.edit_item<StepControl>(Name::control, [&](StepControl& control) {
    Random& random = draw.random;
    const double norm = std::sqrt(squares) / static_cast<double>(control.loss_scale);
    if (update_draw::one_in(random, 2)) {
      control.clip_norm = static_cast<float>(norm * update_draw::uniform(random, 0.1, 1.5));
    }
    if (update_draw::one_in(random, 3)) {
      control.clip_value = static_cast<float>(update_draw::uniform(random, 0.3, 2.0));
    }
  });
}

void fit_update(const Draw& draw) {
  update_draw::settings(draw);
  fit_moments(draw);
  fit_clipping(draw);
  update_draw::sometimes_lose_the_loss(draw);
}

/// With weight decay several samples do have an order.
void fit_per_sample(const Draw& draw) {
  update_draw::settings(draw, draw.shape.batch == 1);
  fit_moments(draw);
}

OpTests tests_of(void (*fit)(const Draw&)) {
  return {.shapes = test_shapes::parameters,
          .random_shape = test_shapes::random_parameters,
          .fit = fit,
          .no_derivative = kNoFunction};
}

}  // namespace

OpTests accumulate_tests() {
  OpTests tests = tests_of(fit_accumulate);
  tests.shapes = accumulate_shapes;
  tests.random_shape = random_accumulate;
  return tests;
}

OpTests keep_tests() {
  return tests_of(fit_keep);
}

OpTests norm_tests() {
  return tests_of(fit_norm);
}

OpTests update_tests() {
  return {.shapes = update_shapes,
          .random_shape = random_update,
          .fit = fit_update,
          .no_derivative = kNoFunction};
}

OpTests per_sample_tests() {
  return {.shapes = per_sample_shapes,
          .random_shape = random_update,
          .fit = fit_per_sample,
          .no_derivative = kNoFunction};
}

}  // namespace warpscope::ops::optimizer
