// Batch normalization over the batch of all ranks, in pieces between which sums go over ranks. Rank r has n_r of the n
// positions, and the share w_r = n_r / n of the images:
//
//   moments            moments = (mean[c], variance[c]) = (1/n_r sum x, 1/n_r sum (x - mean[c])^2)
//   allreduce_moments  mean[c] = sum over r of w_r mean_r[c]
//                      variance[c] = sum over r of w_r (variance_r[c] + (mean_r[c] - mean[c])^2)
//                      statistics = (mean[c], 1 / sqrt(variance[c] + 1e-5))
//   (batch_norm.infer writes y, batch_norm.track moves the running moments)
//   backward_sums      dgamma[c] = sum dy xn;  dbeta[c] = sum dy,  with xn = (x - mean[c]) r[c]
//   allreduce_sums     dgamma[c] = sum over r of w_r dgamma_r[c];  dbeta[c] likewise
//   backward_input     dx = gamma[c] r[c] (dy - dbeta[c] / n_r - xn dgamma[c] / n_r)
//
// The loss that a rank goes back from is the mean over its images, which counts w_r times in that of all: its gradients
// are too large by 1 / w_r, and so is dx, of which the sums over all positions are over w_r n = n_r. The update then
// takes the mean of all ranks' gradients, which are alike for gamma and beta.
//
// `moments` and `statistics`: (2,C). dx may lie in the memory of dy. Ranks and share are those of OpCall::context; one
// rank changes nothing. OpShape: batch, height, width, in_channels; of sums over ranks `linked` and `peers` too.
// Source: T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances"
// (1979).

#include <array>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {
namespace {

std::int64_t two_a_channel(const OpShape& s) {
  return 2 * sizes::in_channels(s);
}

double moments_flops(const OpShape& s) {
  return 4.0 * static_cast<double>(sizes::input(s));
}
double sums_flops(const OpShape& s) {
  return 5.0 * static_cast<double>(sizes::input(s));
}
double input_flops(const OpShape& s) {
  return 6.0 * static_cast<double>(sizes::input(s));
}
double allreduce_flops(const OpShape& s) {
  return 4.0 * static_cast<double>(sizes::in_channels(s));
}

/// A product and a sum for each level of a tree of 1,024 ranks.
std::int64_t levels(const OpShape&) {
  return 11;
}

std::string describe_channels(const OpShape& s) {
  return fmt::format("{} channels", s.in_channels);
}

constexpr std::array kMoments{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::moments, Access::write, Role::scalar, two_a_channel}};
constexpr std::array kAllreduceMoments{Operand{Name::moments, Access::update, Role::scalar, two_a_channel},
                                       Operand{Name::statistics, Access::write, Role::scalar, two_a_channel}};
constexpr std::array kBackwardSums{
    Operand{Name::input, Access::read, Role::activation, sizes::input},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::statistics, Access::read, Role::scalar, two_a_channel},
    Operand{Name::weights_gradient, Access::write, Role::gradient, sizes::in_channels},
    Operand{Name::bias_gradient, Access::write, Role::gradient, sizes::in_channels}};
constexpr std::array kAllreduceSums{
    Operand{Name::weights_gradient, Access::update, Role::gradient, sizes::in_channels},
    Operand{Name::bias_gradient, Access::update, Role::gradient, sizes::in_channels}};
constexpr std::array kBackwardInput{
    Operand{Name::input, Access::read, Role::activation, sizes::input},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::input},
    Operand{Name::weights, Access::read, Role::weight, sizes::in_channels},
    Operand{Name::statistics, Access::read, Role::scalar, two_a_channel},
    Operand{Name::weights_gradient, Access::read, Role::gradient, sizes::in_channels},
    Operand{Name::bias_gradient, Access::read, Role::gradient, sizes::in_channels},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input, 1}};

}  // namespace

OpContract moments_contract() {
  return {.name = "batch_norm.moments",
          .summary = "mean and variance of each channel over the rank's part of the batch",
          .operands = kMoments,
          .flops = moments_flops,
          .terms = sizes::pixels,
          .describe = sizes::describe_images};
}

OpContract allreduce_moments_contract() {
  return {.name = "batch_norm.allreduce_moments",
          .summary = "mean and variance over all ranks",
          .operands = kAllreduceMoments,
          .flops = allreduce_flops,
          .terms = levels,
          .describe = describe_channels,
          .parameters = {Parameter::linked, Parameter::peers},
          .scope = Scope::parameters,
          .adds_over_ranks = true};
}

OpContract backward_sums_contract() {
  return {.name = "batch_norm.backward_sums",
          .summary = "gradients of gamma and beta, sums over the rank's part of the batch",
          .operands = kBackwardSums,
          .flops = sums_flops,
          .terms = sizes::pixels,
          .describe = sizes::describe_images};
}

OpContract allreduce_sums_contract() {
  return {.name = "batch_norm.allreduce_sums",
          .summary = "mean gradients of gamma and beta over all ranks",
          .operands = kAllreduceSums,
          .flops = allreduce_flops,
          .terms = levels,
          .describe = describe_channels,
          .parameters = {Parameter::linked, Parameter::peers},
          .scope = Scope::parameters,
          .adds_over_ranks = true};
}

OpContract backward_input_contract() {
  return {.name = "batch_norm.backward_input",
          .summary = "gradient of the input, from sums over all ranks",
          .operands = kBackwardInput,
          .flops = input_flops,
          .terms = sizes::two_terms,
          .describe = sizes::describe_images};
}

}  // namespace warpscope::ops::batch_norm
