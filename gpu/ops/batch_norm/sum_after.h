#pragma once
// What a batch norm's last pass computes with it: y = relu(norm(x)) + addend, where ReLU and addition are covered.

#include <vector>

#include "gpu/ops/chains.h"

namespace warpscope::ops::batch_norm {

/// `own` and what may follow it: [relu.forward] [add.forward], whose other operand `addend` comes from outside.
inline std::vector<Link> relu_and_sum_after(Op own) {
  return {{.op = own, .renames = {{Name::output, Name::biased}}},
          {.op = Op::relu_forward,
           .renames = {{Name::input, Name::biased}, {Name::output, Name::activated}},
           .optional = true,
           .without = Rename{Name::biased, Name::activated},
           .shape = input_shape},
          {.op = Op::add_forward,
           .renames = {{Name::input, Name::activated}},
           .optional = true,
           .without = Rename{Name::activated, Name::output},
           .shape = input_shape}};
}

}  // namespace warpscope::ops::batch_norm
