
#include "gpu/ops/op_tests.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::augment {
namespace {

/// Photographs, digits, a row, one pixel and what no vector takes; data sets smaller than a batch too.
std::vector<OpShape> shapes() {
  using test_shapes::image;
  std::vector<OpShape> list{image(1, 1, 1, 1),  image(4, 32, 32, 3), image(3, 28, 28, 1),
                            image(5, 8, 12, 3), image(2, 1, 40, 1),  image(3, 16, 4, 1),
                            image(2, 20, 1, 3), image(3, 7, 5, 3),   image(2, 6, 8, 2),
                            image(9, 4, 4, 3),  image(2, 3, 4, 70),  image(2, 64, 48, 3)};
  std::int64_t count = 1;
  for (OpShape& shape : list) shape.count = (count = count % 17 + 3);
  return list;
}

/// Half of them of the sizes that vectors take.
OpShape random_shape(Random& random) {
  OpShape shape = test_shapes::random_image(random);
  if (random() % 2 == 0) {
    shape.width = 4 * test_shapes::between(random, 1, 12);
    shape.in_channels = random() % 2 == 0 ? 1 : 3;
  }
  shape.count = test_shapes::between(random, 1, 40);
  return shape;
}

float up_to(Random& random, float most) {
  constexpr float kSteps = 1000;
  return most * static_cast<float>(random() % 1001) / kSteps;
}

/// Each way, and of small images farther than there are pixels.
std::int32_t any_shift(Random& random) {
  return static_cast<std::int32_t>(test_shapes::between(random, 0, 40)) - 20;
}

/// Each augmentation is on half of the time. Colours stay away from black, near which a contrast leaves so
/// little of a number that its relative error has no bound.
void fit(const Draw& draw) {
  test_shapes::any_position(draw);
  draw.edit_item<step::StepControl>(Name::control, [&](step::StepControl& control) {
    Random& random = draw.random;
    const auto on = [&random] { return random() % 2 == 0; };
    control.seed = random();
    control.micro_batch = static_cast<std::uint32_t>(random() % 3);
    control.flip = static_cast<std::uint32_t>(random() % 3);
    control.crop = on() ? static_cast<std::uint32_t>(test_shapes::between(random, 1, 16)) : 0;
    control.shift_down = on() ? any_shift(random) : 0;
    control.shift_right = on() ? any_shift(random) : 0;
    control.cutout = on() ? static_cast<std::uint32_t>(test_shapes::between(random, 1, 16)) : 0;
    control.jitter = on() ? up_to(random, 0.25f) : 0.0f;
    control.mixup = on() ? 0.3f + up_to(random, 1.7f) : 0.0f;
  });
  draw.edit(Name::images, [](std::vector<double>& values) {
    constexpr double kLeast = 64;
    for (double& value : values) value = kLeast + std::fmod(value, 256 - kLeast);
  });
}

}  // namespace

OpTests augment_tests() {
  return {.shapes = shapes, .random_shape = random_shape, .fit = fit, .no_derivative = kNoFunction};
}

}  // namespace warpscope::ops::augment
