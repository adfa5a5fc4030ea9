#include "gpu/ops/maxpool2d/maxpool2d.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::maxpool2d {
namespace {

std::int64_t pooled(const OpShape& s) {
  return s.batch * (s.height / 2) * (s.width / 2) * s.in_channels;
}
double forward_flops(const OpShape& s) {
  return 3.0 * static_cast<double>(pooled(s));
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, pooled},
                              Operand{Name::argmax, Access::write, Role::byte, pooled}};
constexpr std::array kBackward{Operand{Name::output_gradient, Access::read, Role::activation, pooled},
                               Operand{Name::argmax, Access::read, Role::byte, pooled},
                               Operand{Name::input_gradient, Access::write, Role::activation, sizes::input}};

}  // namespace

OpContract forward_contract() {
  return {.name = "maxpool2d.forward",
          .summary = "largest of each 2x2 window",
          .operands = kForward,
          .flops = forward_flops,
          .terms = sizes::one,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = forward_tests};
}

OpContract backward_contract() {
  return {.name = "maxpool2d.backward",
          .summary = "dy to the largest of each window",
          .operands = kBackward,
          .flops = sizes::no_flops,
          .terms = sizes::one,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = backward_tests};
}

}  // namespace warpscope::ops::maxpool2d
