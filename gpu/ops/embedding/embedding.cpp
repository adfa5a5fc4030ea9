// An embedding: each character is a row of a table. With a byte b = round(255 x), 0 if that is V or more,
//
//   forward           y[n,h,w,:] = w[b[n,h,w],:]
//   backward_weights  dw[v,:] = sum over all (n,h,w) with b[n,h,w] = v of dy[n,h,w,:]
//
// Row 0 is that of what is not in the alphabet; it learns like the others. x is (N,H,W,1), w (V,D), y (N,H,W,D). No
// gradient goes to x, which is what batch.gather makes of the data. OpShape: batch, height, width, in_channels = 1,
// out_channels = D, count = V, at most 256. Source: PyTorch's nn.Embedding.

#include "gpu/ops/embedding/embedding.h"

#include <array>
#include <string>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

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
          .terms = sizes::two_terms,
          .describe = describe};
}

OpContract backward_weights_contract() {
  return {.name = "embedding.backward_weights",
          .summary = "for each row the sum of dy over its characters",
          .operands = kBackwardWeights,
          .flops = additions,
          .terms = sizes::pixels,
          .describe = describe};
}

WARPSCOPE_VARIANTS(reference_forward(), reference_backward_weights(), loops_forward(),
                   loops_backward_weights()
                       WARPSCOPE_IF_CUDA(, naive_forward(), naive_backward_weights(), vectorized_forward(),
                                         atomic_backward_weights(), scatter_rows_backward_weights()))

}  // namespace warpscope::ops::embedding
