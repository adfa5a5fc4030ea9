#include "gpu/ops/upsample2d/upsample2d.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::upsample2d {
namespace {

std::int64_t upsampled(const OpShape& s) {
  return 4 * sizes::input(s);
}
double backward_flops(const OpShape& s) {
  return 3.0 * static_cast<double>(sizes::input(s));
}
std::int64_t backward_terms(const OpShape&) {
  return 4;
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, upsampled}};
constexpr std::array kBackward{Operand{Name::output_gradient, Access::read, Role::activation, upsampled},
                               Operand{Name::input_gradient, Access::write, Role::activation, sizes::input}};

}  // namespace

OpContract forward_contract() {
  return {.name = "upsample2d.forward",
          .summary = "each pixel four times",
          .operands = kForward,
          .flops = sizes::no_flops,
          .terms = sizes::one,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = forward_tests};
}

OpContract backward_contract() {
  return {.name = "upsample2d.backward",
          .summary = "sum of the four copies",
          .operands = kBackward,
          .flops = backward_flops,
          .terms = backward_terms,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = backward_tests};
}

}  // namespace warpscope::ops::upsample2d
