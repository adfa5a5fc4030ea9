#pragma once
// The chain that variants of linear.backward_weights cover.

#include <vector>

#include "gpu/ops/chains.h"

namespace warpscope::ops::linear {

/// The whole backward pass of a layer: its three gradients, and the ReLU that its input came from.
inline std::vector<Link> backward_chain() {
  return {{.op = Op::linear_backward_weights},
          {.op = Op::linear_backward_bias, .optional = true},
          {.op = Op::linear_backward_input,
           .renames = {{Name::input_gradient, Name::unmasked_gradient}},
           .optional = true,
           .needs = {Op::linear_backward_bias}},
          {.op = Op::relu_backward,
           .renames = {{Name::output, Name::input}, {Name::output_gradient, Name::unmasked_gradient}},
           .optional = true,
           .without = Rename{Name::unmasked_gradient, Name::input_gradient},
           .needs = {Op::linear_backward_input},
           .shape = input_shape}};
}

}  // namespace warpscope::ops::linear
