#include "gpu/ops/batch/batch.h"
#include "gpu/ops/op_tests.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::batch {
namespace {

/// Data sets smaller than a batch too: the order is then walked more than once.
std::vector<OpShape> shapes() {
  auto list = test_shapes::images();
  std::int64_t count = 1;
  for (OpShape& shape : list) shape.count = (count = 2 * count + 1);
  return list;
}

OpShape random_shape(Random& random) {
  OpShape shape = test_shapes::random_image(random);
  shape.count = test_shapes::between(random, 1, 40);
  return shape;
}

/// Any position of the order.
void fit(const Draw& draw) {
  draw.edit_item<step::StepControl>(Name::control, [&](step::StepControl& control) {
    control.position =
        static_cast<std::uint32_t>(draw.random() % static_cast<std::uint64_t>(draw.shape.count));
  });
}

}  // namespace

const OpTests& gather_tests() {
  static const OpTests tests{
      .shapes = shapes, .random_shape = random_shape, .fit = fit, .no_derivative = kNoFunction};
  return tests;
}

}  // namespace warpscope::ops::batch
