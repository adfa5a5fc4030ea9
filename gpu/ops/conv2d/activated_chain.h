#pragma once
// The chains of variants that finish a convolution's sums on the way out.

#include <utility>
#include <vector>

#include "gpu/ops/chains.h"

namespace warpscope::ops::conv2d {

/// conv2d.forward bias.forward? (relu.forward | gelu.forward)?
inline std::vector<Link> activated_forward_chain() {
  std::vector<Link> chain{{.op = Op::conv2d_forward, .renames = {{Name::output, Name::product}}},
                          optional_link(Op::bias_forward, Name::product, Name::biased, result_shape)};
  for (Link& each : activation_after(Name::biased, Name::output, result_shape))
    chain.push_back(std::move(each));
  return chain;
}

/// conv2d.backward_input add.forward? (relu.backward | gelu.backward)?
inline std::vector<Link> summed_gradient_chain() {
  std::vector<Link> chain{
      {.op = Op::conv2d_backward_input, .renames = {{Name::input_gradient, Name::product}}},
      optional_link(Op::add_forward, Name::product, Name::unmasked_gradient, input_shape)};
  for (Link& each : derivative_after(input_shape)) chain.push_back(std::move(each));
  return chain;
}

}  // namespace warpscope::ops::conv2d
