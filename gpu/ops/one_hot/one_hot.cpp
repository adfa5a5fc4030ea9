// One-hot characters: a channel for each of them. With a byte b = round(255 x), for every channel c = 0 to C - 1
//
//   forward   y[n,h,w,c] = 1 if b[n,h,w] = c + 1, else 0
//
// Byte 0, which stands for what is not in the alphabet, and bytes above C have no channel. x is (N,H,W,1), y (N,H,W,C).
// There is no gradient: x is what batch.gather makes of the data, and the function is constant but for its steps.
// OpShape: batch, height, width, in_channels = 1, out_channels = C, at most 255.
// Source: X. Zhang, J. Zhao, Y. LeCun, "Character-level convolutional networks for text classification" (2015).

#include <array>
#include <string>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::one_hot {
namespace {

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::pixels},
                              Operand{Name::output, Access::write, Role::activation, sizes::output}};

std::string describe(const OpShape& s) {
  return fmt::format("{}x{}x{}x1 -> {}", s.batch, s.height, s.width, s.out_channels);
}

}  // namespace

OpContract forward_contract() {
  return {.name = "one_hot.forward",
          .summary = "a channel for each character, 1 where the text has it",
          .operands = kForward,
          .terms = sizes::two_terms,
          .describe = describe};
}

WARPSCOPE_VARIANTS(reference_forward(),
                   loops_forward() WARPSCOPE_IF_CUDA(, naive_forward(), vectorized_forward()))

}  // namespace warpscope::ops::one_hot
