#include "gpu/ops/global_average_pool/global_average_pool.h"

#include <array>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::global_average_pool {
namespace {

std::int64_t pixels_of_one(const OpShape& s) {
  return std::int64_t{s.height} * s.width;
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::output, Access::write, Role::activation, sizes::features_in}};
constexpr std::array kBackward{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::features_in},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input}};

}  // namespace

OpContract forward_contract() {
  return {.name = "global_average_pool.forward",
          .summary = "mean of each channel over the image",
          .operands = kForward,
          .flops = sizes::one_flop_each,
          .terms = pixels_of_one,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = forward_tests};
}

OpContract backward_contract() {
  return {.name = "global_average_pool.backward",
          .summary = "dy / (H W) at every pixel",
          .operands = kBackward,
          .flops = sizes::one_flop_each,
          .terms = sizes::one,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = backward_tests};
}

}  // namespace warpscope::ops::global_average_pool
