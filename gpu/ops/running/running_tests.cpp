#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"
#include "gpu/ops/update_draw.h"

namespace warpscope::ops::running {
namespace {

void fit_begin(const Draw& draw) {
  update_draw::settings(draw);
}

OpTests tests_of(void (*fit)(const Draw&)) {
  return {.shapes = test_shapes::parameters,
          .random_shape = test_shapes::random_parameters,
          .fit = fit,
          .no_derivative = kNoFunction};
}

}  // namespace

OpTests begin_tests() {
  return tests_of(fit_begin);
}

OpTests end_tests() {
  return tests_of(nullptr);
}

}  // namespace warpscope::ops::running
