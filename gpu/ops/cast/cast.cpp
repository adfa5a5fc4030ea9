#include "gpu/ops/cast/cast.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::cast {
namespace {

constexpr std::array kWeights{Operand{Name::parameters, Access::read, Role::parameter, sizes::count},
                              Operand{Name::weights, Access::write, Role::weight, sizes::count}};
constexpr std::array kImages{Operand{Name::input, Access::read, Role::activation, sizes::input},
                             Operand{Name::output, Access::write, Role::scalar, sizes::input}};

}  // namespace

OpContract weights_contract() {
  return {.name = "weights.cast",
          .summary = "working weights in 16 bits from the FP32 master weights",
          .operands = kWeights,
          .flops = sizes::no_flops,
          .terms = sizes::one,
          .describe = sizes::describe_parameters,
          .variants = variants,
          .tests = weights_tests,
          .scope = Scope::parameters};
}

OpContract images_contract() {
  return {.name = "images.widen",
          .summary = "16-bit images to FP32, to be shown",
          .operands = kImages,
          .flops = sizes::no_flops,
          .terms = sizes::one,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = images_tests,
          .scope = Scope::display};
}

}  // namespace warpscope::ops::cast
