#pragma once
// The chain that variants of linear.backward_weights cover.

#include <utility>
#include <vector>

#include "gpu/ops/chains.h"

namespace warpscope::ops::linear {

/// The whole backward pass of a layer: its three gradients, and the derivative of the activation that its input came
/// from.
inline std::vector<Link> backward_chain() {
  std::vector<Link> chain{{.op = Op::linear_backward_weights},
                          {.op = Op::linear_backward_bias, .optional = true},
                          {.op = Op::linear_backward_input,
                           .renames = {{Name::input_gradient, Name::unmasked_gradient}},
                           .optional = true,
                           .needs = {Op::linear_backward_bias}}};
  for (Link& each : derivative_after(input_shape, {Op::linear_backward_input})) {
    chain.push_back(std::move(each));
  }
  return chain;
}

}  // namespace warpscope::ops::linear
