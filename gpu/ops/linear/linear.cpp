// A linear layer without its bias (bias.forward adds that).
//
//   forward            y[n,o]  = sum_i x[n,i] W[o,i]       y  = x W^T
//   backward_input     dx[n,i] = sum_o dy[n,o] W[o,i]      dx = dy W
//   backward_weights   dW[o,i] = sum_n dy[n,o] x[n,i]      dW = dy^T x
//   backward_bias      db[o]   = sum_n dy[n,o]
//
// x, dx: (N,I); y, dy: (N,O); W, dW: (O,I), all row-major. dW and db are FP32 in every precision; sums are
// taken in FP32.
// Errors: none. OpShape: batch = N, in_channels = I, out_channels = O; height = width = 1. Source:
// torch.nn.Linear has the same formulas and layouts.

#include <array>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::linear {
namespace {

std::int64_t weights(const OpShape& s) {
  return std::int64_t{s.in_channels} * s.out_channels;
}
double flops(const OpShape& s) {
  return 2.0 * static_cast<double>(s.batch) * static_cast<double>(weights(s));
}
double bias_flops(const OpShape& s) {
  return static_cast<double>(sizes::features_out(s));
}
std::string describe_layer(const OpShape& s) {
  return fmt::format("{}x{} -> {}", s.batch, s.in_channels, s.out_channels);
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::features_in},
                              Operand{Name::weights, Access::read, Role::weight, weights},
                              Operand{Name::output, Access::write, Role::activation, sizes::features_out}};
constexpr std::array kBackwardInput{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::features_out},
    Operand{Name::weights, Access::read, Role::weight, weights},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::features_in}};
constexpr std::array kBackwardWeights{
    Operand{Name::input, Access::read, Role::activation, sizes::features_in},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::features_out},
    Operand{Name::weights_gradient, Access::write, Role::gradient, weights}};
constexpr std::array kBackwardBias{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::features_out},
    Operand{Name::bias_gradient, Access::write, Role::gradient, sizes::out_channels}};

OpContract contract_of(const char* name, const char* summary, std::span<const Operand> operands,
                       std::int64_t (*terms)(const OpShape&)) {
  return {.name = name,
          .summary = summary,
          .operands = operands,
          .flops = flops,
          .terms = terms,
          .describe = describe_layer,
          .work = Work::products};
}

}  // namespace

OpContract forward_contract() {
  return contract_of("linear.forward", "y = x W^T", kForward, sizes::in_channels);
}

OpContract backward_input_contract() {
  return contract_of("linear.backward_input", "gradient of the input", kBackwardInput, sizes::out_channels);
}

OpContract backward_weights_contract() {
  return contract_of("linear.backward_weights", "gradient of the weights", kBackwardWeights, sizes::batch);
}

OpContract backward_bias_contract() {
  OpContract made = contract_of("linear.backward_bias", "gradient of the bias", kBackwardBias, sizes::batch);
  made.flops = bias_flops;
  made.work = Work::movement;
  return made;
}

WARPSCOPE_VARIANTS(reference_forward(), reference_backward_input(), reference_backward_weights(),
                   reference_backward_bias(), loops_forward(), loops_backward_input(),
                   loops_backward_weights(), loops_backward_bias(), onednn_forward(), onednn_backward_input(),
                   onednn_backward_weights(),
                   onednn_backward_bias()
                       WARPSCOPE_IF_CUDA(, naive_forward(), naive_backward_input(), naive_backward_weights(),
                                         naive_backward_bias(), atomic_backward_input(),
                                         atomic_backward_weights(), atomic_backward_bias(),
                                         per_sample_backward_weights(), warp_shuffle_backward_bias(),
                                         tiled_forward(), tiled_backward_input(), tiled_backward_weights(),
                                         wmma_forward(), wmma_backward_input(), wmma_backward_weights(),
                                         split_k_forward(), split_k_fused_forward(), split_k_backward_input(),
                                         split_k_backward_weights(), split_k_fused_backward_weights())
                           WARPSCOPE_IF_HOPPER(, hopper_forward(), hopper_backward_weights())
                               WARPSCOPE_IF_CUBLAS(, cublas_forward(), cublas_fused_forward(),
                                                   cublas_backward_input(), cublas_backward_weights()))

}  // namespace warpscope::ops::linear
