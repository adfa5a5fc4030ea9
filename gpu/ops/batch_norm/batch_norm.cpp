// Batch normalization: over the n = N H W positions of a batch for each channel, as torch.nn.BatchNorm2d and
// BatchNorm1d (S. Ioffe, C. Szegedy, "Batch normalization", 2015).
//
//   forward   mean[c] = 1/n sum x;  r[c] = 1 / sqrt(1/n sum (x - mean[c])^2 + 1e-5)      (sums over n, h, w)
//             y = (x - mean[c]) r[c] gamma[c] + beta[c]
//   backward  xn = (x - mean[c]) r[c];  dgamma[c] = sum dy xn;  dbeta[c] = sum dy
//             dx = gamma[c] r[c] (dy - dbeta[c] / n - xn dgamma[c] / n)
//   infer     y = (x - running_mean[c]) / sqrt(running_variance[c] + 1e-5) gamma[c] + beta[c]
//   track     running_mean[c]     += 0.1 (mean[c] - running_mean[c])
//             running_variance[c] += 0.1 (n / (n - 1) (1 / r[c]^2 - 1e-5) - running_variance[c])
//
// x, y, dx, dy: (N,H,W,C). `weights` is gamma, `bias` is beta: (C). `statistics`: the means of all channels and
// then the r of all: (2,C), FP32 in every precision, as sums and gradients of parameters are. y may lie in the
// memory of x, dx in that of dy. Sums are taken in a fixed order: the result is deterministic.
//
// Where ranks normalize over the batch of all of them, the same is cut in pieces, between which sums go over ranks
// (batch_norm_ranks.cpp).
//
// track leaves all as it is while control.halted is set, and a channel of which mean or variance is not finite.
// With one position (n = 1) the variance is 0 and stays so: n / (n - 1) is left out. OpShape: batch, height,
// width, in_channels.

#include <array>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::batch_norm {
namespace {

std::int64_t statistics(const OpShape& s) {
  return 2 * sizes::in_channels(s);
}

double forward_flops(const OpShape& s) {
  return 7.0 * static_cast<double>(sizes::input(s));
}
double infer_flops(const OpShape& s) {
  return 3.0 * static_cast<double>(sizes::input(s));
}
double backward_flops(const OpShape& s) {
  return 10.0 * static_cast<double>(sizes::input(s));
}
double track_flops(const OpShape& s) {
  return 10.0 * static_cast<double>(sizes::in_channels(s));
}

/// Two sums over the positions.
std::int64_t two_sums(const OpShape& s) {
  return 2 * sizes::pixels(s);
}

std::string describe_track(const OpShape& s) {
  return fmt::format("{} channels of {} values", s.in_channels, sizes::pixels(s));
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::weights, Access::read, Role::weight, sizes::in_channels},
                              Operand{Name::bias, Access::read, Role::weight, sizes::in_channels},
                              Operand{Name::output, Access::write, Role::activation, sizes::input, 0},
                              Operand{Name::statistics, Access::write, Role::scalar, statistics}};
constexpr std::array kInfer{
    Operand{Name::input, Access::read, Role::activation, sizes::input},
    Operand{Name::weights, Access::read, Role::weight, sizes::in_channels},
    Operand{Name::bias, Access::read, Role::weight, sizes::in_channels},
    Operand{Name::running_mean, Access::read, Role::parameter, sizes::in_channels},
    Operand{Name::running_variance, Access::read, Role::parameter, sizes::in_channels},
    Operand{Name::output, Access::write, Role::activation, sizes::input, 0}};
constexpr std::array kBackward{
    Operand{Name::input, Access::read, Role::activation, sizes::input},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::weights, Access::read, Role::weight, sizes::in_channels},
    Operand{Name::statistics, Access::read, Role::scalar, statistics},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input, 1},
    Operand{Name::weights_gradient, Access::write, Role::gradient, sizes::in_channels},
    Operand{Name::bias_gradient, Access::write, Role::gradient, sizes::in_channels}};
constexpr std::array kTrack{
    Operand{Name::statistics, Access::read, Role::scalar, statistics},
    Operand{Name::control, Access::read, Role::control, sizes::step_control},
    Operand{Name::running_mean, Access::update, Role::parameter, sizes::in_channels},
    Operand{Name::running_variance, Access::update, Role::parameter, sizes::in_channels}};

}  // namespace

OpContract forward_contract() {
  return {.name = "batch_norm.forward",
          .summary = "y = (x - mean) / deviation gamma + beta, over the batch",
          .operands = kForward,
          .flops = forward_flops,
          .terms = sizes::pixels,
          .describe = sizes::describe_images};
}

OpContract infer_contract() {
  return {.name = "batch_norm.infer",
          .summary = "the same with running mean and variance",
          .operands = kInfer,
          .flops = infer_flops,
          .terms = sizes::two_terms,
          .describe = sizes::describe_images};
}

OpContract backward_contract() {
  return {.name = "batch_norm.backward",
          .summary = "gradients of input, gamma and beta",
          .operands = kBackward,
          .flops = backward_flops,
          .terms = two_sums,
          .describe = sizes::describe_images};
}

OpContract track_contract() {
  return {.name = "batch_norm.track",
          .summary = "running mean and variance, a tenth towards the batch's",
          .operands = kTrack,
          .flops = track_flops,
          .terms = sizes::two_terms,
          .describe = describe_track,
          .scope = Scope::parameters};
}

WARPSCOPE_VARIANTS(reference_forward(), reference_infer(), reference_backward(), reference_track(),
                   reference_moments(), reference_allreduce_moments(), reference_backward_sums(),
                   reference_allreduce_sums(), reference_backward_input(), loops_forward(), loops_infer(),
                   loops_backward(), loops_track(), loops_moments(), loops_allreduce_moments(),
                   loops_backward_sums(), loops_allreduce_sums(),
                   loops_backward_input()
                       WARPSCOPE_IF_CUDA(, naive_forward(), naive_infer(), naive_backward(), naive_track(),
                                         naive_moments(), naive_backward_sums(), naive_backward_input(),
                                         host_mpi_allreduce_moments(), host_mpi_allreduce_sums(),
                                         nccl_plain_allreduce_moments(), nccl_plain_allreduce_sums(),
                                         p2p_two_shot_allreduce_moments(), p2p_two_shot_allreduce_sums(),
                                         welford_forward(), summed_forward(), welford_moments(),
                                         vectorized_infer(), summed_infer(), warp_shuffle_backward(),
                                         warp_shuffle_backward_sums(), warp_shuffle_backward_input(),
                                         pooled_forward(), pooled_infer(), pooled_backward(),
                                         recomputed_forward(), recomputed_infer(), recomputed_backward())
                           WARPSCOPE_IF_CUDNN(, cudnn_forward(), cudnn_infer(), cudnn_backward()))

}  // namespace warpscope::ops::batch_norm
