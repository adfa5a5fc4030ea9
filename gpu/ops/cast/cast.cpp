// Changes of element type, each element by itself.
//
//   weights.cast   w[i] = round(p[i]): the working weights of a step from the master parameters
//   images.widen   y[i] = float(x[i]): activations in FP32, to be shown
//
// round: to nearest even in the type of activations; NaN stays NaN, what is too large becomes an infinity.
// Where both types are the same, both are copies. Errors: none. OpShape: count = number of parameters
// (weights.cast); batch, height, width, in_channels (images.widen). Source: P. Micikevicius et al., "Mixed
// precision training" (2018), 3.1.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

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
          .describe = sizes::describe_parameters,
          .scope = Scope::parameters};
}

OpContract images_contract() {
  return {.name = "images.widen",
          .summary = "16-bit images to FP32, to be shown",
          .operands = kImages,
          .describe = sizes::describe_images,
          .scope = Scope::display};
}

WARPSCOPE_VARIANTS(reference_weights(), reference_widen(), loops_weights(),
                   loops_widen() WARPSCOPE_IF_CUDA(, vectorized_weights(), vectorized_widen()))

}  // namespace warpscope::ops::cast
