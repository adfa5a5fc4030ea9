#include "gpu/ops/embedding/embedding.h"

#include <array>
#include <string>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::embedding {
namespace {

double additions(const OpShape& s) {
  return static_cast<double>(sizes::output(s));
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::pixels},
                              Operand{Name::weights, Access::read, Role::weight, table},
                              Operand{Name::output, Access::write, Role::activation, sizes::output}};
constexpr std::array kBackwardWeights{
    Operand{Name::input, Access::read, Role::activation, sizes::pixels},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::output},
    Operand{Name::weights_gradient, Access::write, Role::gradient, table}};

std::string describe(const OpShape& s) {
  return fmt::format("{}x{}x{}x1, {}x{}", s.batch, s.height, s.width, s.count, s.out_channels);
}

}  // namespace

std::int64_t table(const OpShape& shape) {
  return shape.count * shape.out_channels;
}

OpContract forward_contract() {
  return {.name = "embedding.forward",
          .summary = "the row of a table for each character",
          .operands = kForward,
          .flops = sizes::no_flops,
          .terms = sizes::two_terms,
          .describe = describe,
          .variants = variants,
          .tests = forward_tests};
}

OpContract backward_weights_contract() {
  return {.name = "embedding.backward_weights",
          .summary = "for each row the sum of dy over its characters",
          .operands = kBackwardWeights,
          .flops = additions,
          .terms = sizes::pixels,
          .describe = describe,
          .variants = variants,
          .tests = backward_weights_tests};
}

}  // namespace warpscope::ops::embedding
