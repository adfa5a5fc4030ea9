// Mean squared error over all elements of a batch (as torch.nn.functional.mse_loss, reduction "mean").
//
//   forward   image_errors[n] = 1/(H W C) sum_{h,w,c} (y - t)^2;   loss = 1/N sum_n image_errors[n]
//   backward  dy = control.loss_scale * 2 (y - t) / (N H W C)
//
// y, t: (N,H,W,C). The PSNR of image n, for values in [0, 1], is -10 log10(image_errors[n]) dB. Sums are
// taken in a fixed order: the result is deterministic. There are two ops since evaluations need no gradient. OpShape:
// batch, height, width, in_channels.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::mse {
namespace {

double forward_flops(const OpShape& s) {
  return 3.0 * static_cast<double>(sizes::input(s));
}
double backward_flops(const OpShape& s) {
  return 2.0 * static_cast<double>(sizes::input(s));
}

constexpr std::array kForward{Operand{Name::prediction, Access::read, Role::activation, sizes::input},
                              Operand{Name::target, Access::read, Role::activation, sizes::input},
                              Operand{Name::sample_losses, Access::write, Role::scalar, sizes::batch},
                              Operand{Name::loss, Access::write, Role::scalar, sizes::one}};
constexpr std::array kBackward{Operand{Name::prediction, Access::read, Role::activation, sizes::input},
                               Operand{Name::target, Access::read, Role::activation, sizes::input},
                               Operand{Name::control, Access::read, Role::control, sizes::step_control},
                               Operand{Name::gradient, Access::write, Role::activation, sizes::input, 0}};

}  // namespace

OpContract forward_contract() {
  return {.name = "mse.forward",
          .summary = "mean squared error of each image and of the batch",
          .operands = kForward,
          .flops = forward_flops,
          .terms = sizes::input,
          .describe = sizes::describe_images};
}

OpContract backward_contract() {
  return {.name = "mse.backward",
          .summary = "2 (y - t) / elements, times the loss scale",
          .operands = kBackward,
          .flops = backward_flops,
          .terms = sizes::two_terms,
          .describe = sizes::describe_images};
}

WARPSCOPE_VARIANTS(reference_forward(), reference_backward(), loops_forward(),
                   loops_backward() WARPSCOPE_IF_CUDA(, naive_forward(), naive_backward(),
                                                      vectorized_forward(), vectorized_backward()))

}  // namespace warpscope::ops::mse
