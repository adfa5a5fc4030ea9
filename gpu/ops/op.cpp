#include "gpu/ops/op.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops {
namespace {

using core::ElementType;
using core::Precision;

std::int64_t pixels(const OpShape& s) {
  return s.batch * s.height * s.width;
}
std::int64_t input(const OpShape& s) {
  return pixels(s) * s.in_channels;
}
std::int64_t conv_output(const OpShape& s) {
  return pixels(s) * s.out_channels;
}
std::int64_t taps(const OpShape& s) {
  return std::int64_t{s.kernel_height} * s.kernel_width;
}
std::int64_t weights(const OpShape& s) {
  return taps(s) * s.in_channels * s.out_channels;
}
std::int64_t out_channels(const OpShape& s) {
  return s.out_channels;
}
std::int64_t in_channels(const OpShape& s) {
  return s.in_channels;
}
std::int64_t pooled(const OpShape& s) {
  return s.batch * (s.height / 2) * (s.width / 2) * s.in_channels;
}
std::int64_t upsampled(const OpShape& s) {
  return 4 * input(s);
}
std::int64_t batch(const OpShape& s) {
  return s.batch;
}
std::int64_t count(const OpShape& s) {
  return s.count;
}
std::int64_t one(const OpShape&) {
  return 1;
}
std::int64_t data_set(const OpShape& s) {
  return s.count * s.height * s.width * s.in_channels;
}
std::int64_t features_in(const OpShape& s) {
  return s.batch * s.in_channels;
}
std::int64_t features_out(const OpShape& s) {
  return s.batch * s.out_channels;
}
std::int64_t matrix(const OpShape& s) {
  return std::int64_t{s.in_channels} * s.out_channels;
}
std::int64_t per_sample(const OpShape& s) {
  return s.batch * s.count;
}
std::int64_t first_state(const OpShape& s) {
  return states_of(s.rule) >= 1 ? s.count : 0;
}
std::int64_t second_state(const OpShape& s) {
  return states_of(s.rule) >= 2 ? s.count : 0;
}
std::int64_t parts(const OpShape&) {
  return kSumParts;
}
std::int64_t statistics(const OpShape&) {
  return step::kStatistics * kSumParts;
}
std::int64_t metrics(const OpShape&) {
  return step::kMetrics;
}
/// Elements of one channel of a block's convolution, and of its output.
std::int64_t block_pixels(const OpShape& s) {
  return s.upsample ? 4 * pixels(s) : pixels(s);
}
std::int64_t block_output(const OpShape& s) {
  if (!s.pool) return block_pixels(s) * s.out_channels;
  const int scale = s.upsample ? 2 : 1;
  return s.batch * (scale * s.height / 2) * (scale * s.width / 2) * s.out_channels;
}
std::int64_t block_argmax(const OpShape& s) {
  return s.pool ? (block_output(s) + 3) / 4 : 0;
}
std::int64_t control(const OpShape&) {
  return sizeof(step::StepControl);
}
std::int64_t ring(const OpShape& s) {
  return s.count * static_cast<std::int64_t>(sizeof(step::StepRecord));
}

constexpr auto kRead = Access::read;
constexpr auto kWrite = Access::write;
constexpr auto kUpdate = Access::update;

constexpr std::array kGather{
    Operand{"images", kRead, Role::byte, data_set}, Operand{"order", kRead, Role::index, count},
    Operand{"control", kRead, Role::control, control}, Operand{"output", kWrite, Role::activation, input}};
constexpr std::array kConvForward{Operand{"input", kRead, Role::activation, input},
                                  Operand{"weights", kRead, Role::weight, weights},
                                  Operand{"output", kWrite, Role::activation, conv_output}};
constexpr std::array kConvBackwardInput{Operand{"output_gradient", kRead, Role::activation, conv_output},
                                        Operand{"weights", kRead, Role::weight, weights},
                                        Operand{"input_gradient", kWrite, Role::activation, input}};
constexpr std::array kConvBackwardWeights{Operand{"input", kRead, Role::activation, input},
                                          Operand{"output_gradient", kRead, Role::activation, conv_output},
                                          Operand{"weights_gradient", kWrite, Role::gradient, weights}};
constexpr std::array kConvBackwardBias{Operand{"output_gradient", kRead, Role::activation, conv_output},
                                       Operand{"bias_gradient", kWrite, Role::gradient, out_channels}};
constexpr std::array kBlockForward{Operand{"input", kRead, Role::activation, input},
                                   Operand{"weights", kRead, Role::weight, weights},
                                   Operand{"bias", kRead, Role::weight, out_channels},
                                   Operand{"output", kWrite, Role::activation, block_output},
                                   Operand{"argmax", kWrite, Role::byte, block_argmax}};
constexpr std::array kBlockBackwardWeights{Operand{"input", kRead, Role::activation, input},
                                           Operand{"output_gradient", kRead, Role::activation, block_output},
                                           Operand{"argmax", kRead, Role::byte, block_argmax},
                                           Operand{"weights_gradient", kWrite, Role::gradient, weights},
                                           Operand{"bias_gradient", kWrite, Role::gradient, out_channels}};
constexpr std::array kBlockBackwardInput{Operand{"output_gradient", kRead, Role::activation, block_output},
                                         Operand{"argmax", kRead, Role::byte, block_argmax},
                                         Operand{"weights", kRead, Role::weight, weights},
                                         Operand{"input", kRead, Role::activation, input},
                                         Operand{"input_gradient", kWrite, Role::activation, input}};
constexpr std::array kLinearForward{Operand{"input", kRead, Role::activation, features_in},
                                    Operand{"weights", kRead, Role::weight, matrix},
                                    Operand{"output", kWrite, Role::activation, features_out}};
constexpr std::array kLinearBackwardInput{Operand{"output_gradient", kRead, Role::activation, features_out},
                                          Operand{"weights", kRead, Role::weight, matrix},
                                          Operand{"input_gradient", kWrite, Role::activation, features_in}};
constexpr std::array kLinearBackwardWeights{Operand{"input", kRead, Role::activation, features_in},
                                            Operand{"output_gradient", kRead, Role::activation, features_out},
                                            Operand{"weights_gradient", kWrite, Role::gradient, matrix}};
constexpr std::array kLinearBackwardBias{Operand{"output_gradient", kRead, Role::activation, features_out},
                                         Operand{"bias_gradient", kWrite, Role::gradient, out_channels}};
constexpr std::array kWeightsCast{Operand{"parameters", kRead, Role::parameter, count},
                                  Operand{"weights", kWrite, Role::weight, count}};
constexpr std::array kImagesWiden{Operand{"input", kRead, Role::activation, input},
                                  Operand{"output", kWrite, Role::scalar, input}};
constexpr std::array kGradientsAccumulate{Operand{"gradients", kRead, Role::gradient, count},
                                          Operand{"control", kRead, Role::control, control},
                                          Operand{"sums", kUpdate, Role::gradient, count}};
constexpr std::array kGradientsKeep{Operand{"gradients", kRead, Role::gradient, count},
                                    Operand{"control", kRead, Role::control, control},
                                    Operand{"kept", kUpdate, Role::gradient, per_sample}};
constexpr std::array kMicroBatchRecord{Operand{"metrics", kRead, Role::scalar, metrics},
                                       Operand{"control", kUpdate, Role::control, control},
                                       Operand{"sums", kUpdate, Role::scalar, metrics}};
constexpr std::array kGradientsNorm{Operand{"gradients", kRead, Role::gradient, count},
                                    Operand{"control", kUpdate, Role::control, control},
                                    Operand{"parts", kWrite, Role::scalar, parts}};
constexpr std::array kBiasForward{Operand{"input", kRead, Role::activation, input},
                                  Operand{"bias", kRead, Role::weight, in_channels},
                                  Operand{"output", kWrite, Role::activation, input, 0}};
constexpr std::array kReluForward{Operand{"input", kRead, Role::activation, input},
                                  Operand{"output", kWrite, Role::activation, input, 0}};
constexpr std::array kReluBackward{Operand{"output", kRead, Role::activation, input},
                                   Operand{"output_gradient", kRead, Role::activation, input},
                                   Operand{"input_gradient", kWrite, Role::activation, input, 1}};
constexpr std::array kPoolForward{Operand{"input", kRead, Role::activation, input},
                                  Operand{"output", kWrite, Role::activation, pooled},
                                  Operand{"argmax", kWrite, Role::byte, pooled}};
constexpr std::array kPoolBackward{Operand{"output_gradient", kRead, Role::activation, pooled},
                                   Operand{"argmax", kRead, Role::byte, pooled},
                                   Operand{"input_gradient", kWrite, Role::activation, input}};
constexpr std::array kUpForward{Operand{"input", kRead, Role::activation, input},
                                Operand{"output", kWrite, Role::activation, upsampled}};
constexpr std::array kUpBackward{Operand{"output_gradient", kRead, Role::activation, upsampled},
                                 Operand{"input_gradient", kWrite, Role::activation, input}};
constexpr std::array kMseForward{
    Operand{"prediction", kRead, Role::activation, input}, Operand{"target", kRead, Role::activation, input},
    Operand{"image_errors", kWrite, Role::scalar, batch}, Operand{"loss", kWrite, Role::scalar, one}};
constexpr std::array kMseBackward{Operand{"prediction", kRead, Role::activation, input},
                                  Operand{"target", kRead, Role::activation, input},
                                  Operand{"control", kRead, Role::control, control},
                                  Operand{"gradient", kWrite, Role::activation, input, 0}};
constexpr std::array kLabelsGather{
    Operand{"labels", kRead, Role::byte, count}, Operand{"order", kRead, Role::index, count},
    Operand{"control", kRead, Role::control, control}, Operand{"output", kWrite, Role::byte, batch}};
constexpr std::array kCrossEntropyForward{Operand{"logits", kRead, Role::activation, features_in},
                                          Operand{"labels", kRead, Role::byte, batch},
                                          Operand{"image_losses", kWrite, Role::scalar, batch},
                                          Operand{"predicted", kWrite, Role::byte, batch},
                                          Operand{"loss", kWrite, Role::scalar, one},
                                          Operand{"accuracy", kWrite, Role::scalar, one}};
constexpr std::array kCrossEntropyBackward{Operand{"logits", kRead, Role::activation, features_in},
                                           Operand{"labels", kRead, Role::byte, batch},
                                           Operand{"control", kRead, Role::control, control},
                                           Operand{"gradient", kWrite, Role::activation, features_in, 0}};
constexpr std::array kOptimizerUpdate{Operand{"gradients", kRead, Role::gradient, count},
                                      Operand{"control", kRead, Role::control, control},
                                      Operand{"norm_parts", kRead, Role::scalar, parts},
                                      Operand{"metrics", kRead, Role::scalar, metrics},
                                      Operand{"parameters", kUpdate, Role::parameter, count},
                                      Operand{"first_state", kUpdate, Role::parameter, first_state},
                                      Operand{"second_state", kUpdate, Role::parameter, second_state},
                                      Operand{"statistics", kWrite, Role::scalar, statistics}};
constexpr std::array kUpdatePerSample{Operand{"gradients", kRead, Role::gradient, per_sample},
                                      Operand{"control", kRead, Role::control, control},
                                      Operand{"parameters", kUpdate, Role::parameter, count},
                                      Operand{"first_state", kUpdate, Role::parameter, first_state},
                                      Operand{"second_state", kUpdate, Role::parameter, second_state}};
constexpr std::array kRecord{
    Operand{"metrics", kRead, Role::scalar, metrics}, Operand{"statistics", kRead, Role::scalar, statistics},
    Operand{"control", kUpdate, Role::control, control}, Operand{"ring", kUpdate, Role::control, ring}};

double flops_none(const OpShape&) {
  return 0.0;
}
double flops_input(const OpShape& s) {
  return static_cast<double>(input(s));
}
double flops_conv(const OpShape& s) {
  return 2.0 * static_cast<double>(conv_output(s)) * static_cast<double>(taps(s) * s.in_channels);
}
// What the layers one by one would cost: a block that needs fewer shows a higher rate.
double flops_block(const OpShape& s) {
  return 2.0 * static_cast<double>(block_pixels(s) * s.out_channels) *
         static_cast<double>(taps(s) * s.in_channels);
}
double flops_bias_gradient(const OpShape& s) {
  return static_cast<double>(conv_output(s));
}
double flops_pool(const OpShape& s) {
  return 3.0 * static_cast<double>(pooled(s));
}
double flops_up_backward(const OpShape& s) {
  return 3.0 * static_cast<double>(input(s));
}
double flops_mse_forward(const OpShape& s) {
  return 3.0 * static_cast<double>(input(s));
}
double flops_mse_backward(const OpShape& s) {
  return 2.0 * static_cast<double>(input(s));
}
double flops_linear(const OpShape& s) {
  return 2.0 * static_cast<double>(s.batch) * static_cast<double>(matrix(s));
}
double flops_linear_bias_gradient(const OpShape& s) {
  return static_cast<double>(features_out(s));
}
double flops_cross_entropy(const OpShape& s) {
  return 4.0 * static_cast<double>(features_in(s));
}
double flops_accumulate(const OpShape& s) {
  return 2.0 * static_cast<double>(s.count);
}
/// Of the rules' arithmetic without weight decay and clipping, and of the three sums of squares.
double flops_update(const OpShape& s) {
  constexpr std::array<double, kUpdateRuleCount> kOfRule{2, 4, 6, 12, 14, 8, 9};
  return (kOfRule[static_cast<std::size_t>(s.rule)] + 6.0) * static_cast<double>(s.count);
}
double flops_update_per_sample(const OpShape& s) {
  return flops_update(s) * static_cast<double>(s.batch);
}

std::int64_t terms_forward(const OpShape& s) {
  return taps(s) * s.in_channels;
}
std::int64_t terms_backward_input(const OpShape& s) {
  return taps(s) * s.out_channels;
}
std::int64_t terms_out_channels(const OpShape& s) {
  return s.out_channels;
}
std::int64_t terms_block_input(const OpShape& s) {
  return (s.upsample ? 4 : 1) * taps(s) * s.out_channels;
}
std::int64_t terms_two(const OpShape&) {
  return 2;
}
std::int64_t terms_slice(const OpShape& s) {
  return slice_length(s.count);
}
/// An element goes through a dozen roundings, a statistic through those of its sum as well.
constexpr std::int64_t kRuleRoundings = 12;
std::int64_t terms_update(const OpShape& s) {
  return slice_length(s.count) + kRuleRoundings;
}
std::int64_t terms_update_per_sample(const OpShape& s) {
  return kRuleRoundings * s.batch;
}
std::int64_t terms_four(const OpShape&) {
  return 4;
}

const std::array<OpContract, kOpCount> kContracts{{
    {Op::weights_cast, "weights.cast", "working weights in 16 bits from the FP32 master weights",
     kWeightsCast, flops_none, one},
    {Op::batch_gather, "batch.gather", "pick the batch's images and scale bytes to [0, 1]", kGather,
     flops_input, one},
    {Op::labels_gather, "labels.gather", "pick the batch's labels", kLabelsGather, flops_none, one},
    {Op::block_forward, "block.forward", "upsampling, convolution, bias, ReLU and pooling in one",
     kBlockForward, flops_block, terms_forward},
    {Op::conv2d_forward, "conv2d.forward", "y = x * w", kConvForward, flops_conv, terms_forward},
    {Op::linear_forward, "linear.forward", "y = x W^T", kLinearForward, flops_linear, in_channels},
    {Op::bias_forward, "bias.forward", "y = x + b", kBiasForward, flops_input, terms_two},
    {Op::relu_forward, "relu.forward", "y = max(x, 0)", kReluForward, flops_input, one},
    {Op::maxpool2d_forward, "maxpool2d.forward", "largest of each 2x2 window", kPoolForward, flops_pool, one},
    {Op::upsample2d_forward, "upsample2d.forward", "each pixel four times", kUpForward, flops_none, one},
    {Op::mse_forward, "mse.forward", "mean squared error of each image and of the batch", kMseForward,
     flops_mse_forward, input},
    {Op::cross_entropy_forward, "cross_entropy.forward", "softmax cross-entropy, predicted classes, accuracy",
     kCrossEntropyForward, flops_cross_entropy, in_channels},
    {Op::images_widen, "images.widen", "16-bit images to FP32, to be shown", kImagesWiden, flops_none, one},
    {Op::mse_backward, "mse.backward", "2 (y - t) / elements, times the loss scale", kMseBackward,
     flops_mse_backward, terms_two},
    {Op::cross_entropy_backward, "cross_entropy.backward",
     "(softmax - one-hot) / batch, times the loss scale", kCrossEntropyBackward, flops_cross_entropy,
     in_channels},
    {Op::block_backward_weights, "block.backward_weights", "gradients of a block's weights and bias",
     kBlockBackwardWeights, flops_block, block_pixels},
    {Op::block_backward_input, "block.backward_input", "gradient of a block's input", kBlockBackwardInput,
     flops_block, terms_block_input},
    {Op::conv2d_backward_input, "conv2d.backward_input", "gradient of the input", kConvBackwardInput,
     flops_conv, terms_backward_input},
    {Op::conv2d_backward_weights, "conv2d.backward_weights", "gradient of the weights", kConvBackwardWeights,
     flops_conv, pixels},
    {Op::conv2d_backward_bias, "conv2d.backward_bias", "gradient of the bias", kConvBackwardBias,
     flops_bias_gradient, pixels},
    {Op::linear_backward_input, "linear.backward_input", "gradient of the input", kLinearBackwardInput,
     flops_linear, terms_out_channels},
    {Op::linear_backward_weights, "linear.backward_weights", "gradient of the weights",
     kLinearBackwardWeights, flops_linear, batch},
    {Op::linear_backward_bias, "linear.backward_bias", "gradient of the bias", kLinearBackwardBias,
     flops_linear_bias_gradient, batch},
    {Op::relu_backward, "relu.backward", "dy where y > 0", kReluBackward, flops_input, one},
    {Op::maxpool2d_backward, "maxpool2d.backward", "dy to the largest of each window", kPoolBackward,
     flops_none, one},
    {Op::upsample2d_backward, "upsample2d.backward", "sum of the four copies", kUpBackward, flops_up_backward,
     terms_four},
    {Op::gradients_accumulate, "gradients.accumulate", "mean gradient over the micro-batches",
     kGradientsAccumulate, flops_accumulate, terms_two},
    {Op::gradients_keep, "gradients.keep", "the gradient of one sample beside those of the others",
     kGradientsKeep, flops_none, one},
    {Op::micro_batch_record, "micro_batch.record", "mean loss over the micro-batches, on to the next one",
     kMicroBatchRecord, flops_none, terms_two},
    {Op::gradients_norm, "gradients.norm", "sums of squares of the gradients; notes whether one overflowed",
     kGradientsNorm, flops_accumulate, terms_slice},
    {Op::optimizer_update, "optimizer.update", "clip, then one step of the optimizer on all parameters",
     kOptimizerUpdate, flops_update, terms_update},
    {Op::optimizer_update_per_sample, "optimizer.update_per_sample",
     "faulty on purpose: each sample updates weights and state by itself", kUpdatePerSample,
     flops_update_per_sample, terms_update_per_sample},
    {Op::step_record, "step.record", "note the loss, advance to the next batch", kRecord, flops_none, one},
}};

double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return std::ldexp(1.0, -24);
    case Precision::tf32:
      return std::ldexp(1.0, -11);
    case Precision::fp16:
      return std::ldexp(1.0, -11);
    case Precision::bf16:
      return std::ldexp(1.0, -8);
    case Precision::fp64:
      return std::ldexp(1.0, -53);
  }
  throw std::logic_error("unknown precision");
}

}  // namespace

const OpContract& contract(Op op) {
  return kContracts[static_cast<std::size_t>(op)];
}

std::span<const OpContract> contracts() {
  return kContracts;
}

int states_of(UpdateRule rule) {
  switch (rule) {
    case UpdateRule::sgd:
      return 0;
    case UpdateRule::momentum:
    case UpdateRule::nesterov:
    case UpdateRule::rmsprop:
    case UpdateRule::lion:
      return 1;
    case UpdateRule::adam:
    case UpdateRule::adamw:
      return 2;
  }
  throw std::logic_error("unknown update rule");
}

std::string_view to_string(UpdateRule rule) {
  constexpr std::array<std::string_view, kUpdateRuleCount> kNames{"sgd",   "momentum", "nesterov", "adam",
                                                                  "adamw", "rmsprop",  "lion"};
  return kNames[static_cast<std::size_t>(rule)];
}

UpdateRule parse_update_rule(std::string_view text) {
  std::string valid;
  for (int i = 0; i < kUpdateRuleCount; ++i) {
    const auto rule = static_cast<UpdateRule>(i);
    if (text == to_string(rule)) return rule;
    valid += fmt::format("{}{}", i == 0 ? "" : ", ", to_string(rule));
  }
  throw core::BadInput(fmt::format("unknown optimizer '{}'; valid: {}", text, valid));
}

std::string_view to_string(Op op) {
  return contract(op).name;
}

bool is_block(Op op) {
  return op == Op::block_forward || op == Op::block_backward_weights || op == Op::block_backward_input;
}

Op parse_op(std::string_view text) {
  std::string valid;
  for (const auto& entry : kContracts) {
    if (text == entry.name) return entry.op;
    valid += valid.empty() ? "" : ", ";
    valid += entry.name;
  }
  throw core::BadInput(fmt::format("unknown operation '{}'; valid: {}", text, valid));
}

ElementType element_type(Role role, Precision precision) {
  const bool fp64 = precision == Precision::fp64;
  switch (role) {
    case Role::activation:
    case Role::weight:
      if (precision == Precision::fp16) return ElementType::f16;
      if (precision == Precision::bf16) return ElementType::bf16;
      return fp64 ? ElementType::f64 : ElementType::f32;
    case Role::gradient:
    case Role::parameter:
    case Role::scalar:
      return fp64 ? ElementType::f64 : ElementType::f32;
    case Role::byte:
      return ElementType::u8;
    case Role::index:
      return ElementType::u32;
    case Role::control:
      return ElementType::bytes;
  }
  throw std::logic_error("unknown role");
}

std::size_t operand_bytes(Op op, int index, const OpShape& shape, Precision precision) {
  const Operand& operand = contract(op).operands[static_cast<std::size_t>(index)];
  return static_cast<std::size_t>(operand.elements(shape)) *
         core::size_of(element_type(operand.role, precision));
}

double minimum_bytes(Op op, const OpShape& shape, Precision precision) {
  OpShape used = shape;
  if (op == Op::batch_gather || op == Op::labels_gather) used.count = shape.batch;
  if (op == Op::gradients_keep) used.batch = 1;
  if (op == Op::step_record) used.count = 1;
  double bytes = 0;
  const auto operands = contract(op).operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const double once = static_cast<double>(operand_bytes(op, static_cast<int>(i), used, precision));
    bytes += operands[i].access == Access::update ? 2 * once : once;
  }
  return bytes;
}

double least_flops(Op op, const OpShape& shape) {
  const double flops = contract(op).flops(shape);
  if (!is_block(op) || !shape.upsample) return flops;
  const int met = ((shape.kernel_height + 1) / 2) * ((shape.kernel_width + 1) / 2);
  return flops * met / static_cast<double>(taps(shape));
}

std::string describe(Op op, const OpShape& s) {
  switch (op) {
    case Op::conv2d_forward:
    case Op::conv2d_backward_input:
    case Op::conv2d_backward_weights:
    case Op::conv2d_backward_bias:
      return fmt::format("{}x{}x{}x{} -> {}, {}x{}", s.batch, s.height, s.width, s.in_channels,
                         s.out_channels, s.kernel_height, s.kernel_width);
    case Op::block_forward:
    case Op::block_backward_weights:
    case Op::block_backward_input:
      return fmt::format("{}{}x{}x{}x{} -> {}, {}x{}{}{}", s.upsample ? "up, " : "", s.batch, s.height,
                         s.width, s.in_channels, s.out_channels, s.kernel_height, s.kernel_width,
                         s.relu ? ", relu" : "", s.pool ? ", pool" : "");
    case Op::linear_forward:
    case Op::linear_backward_input:
    case Op::linear_backward_weights:
    case Op::linear_backward_bias:
      return fmt::format("{}x{} -> {}", s.batch, s.in_channels, s.out_channels);
    case Op::labels_gather:
      return fmt::format("{} labels", s.batch);
    case Op::cross_entropy_forward:
    case Op::cross_entropy_backward:
      return fmt::format("{}x{}", s.batch, s.in_channels);
    case Op::weights_cast:
    case Op::gradients_accumulate:
    case Op::gradients_norm:
      return fmt::format("{} parameters", s.count);
    case Op::gradients_keep:
      return fmt::format("{} x {} parameters", s.batch, s.count);
    case Op::optimizer_update:
      return fmt::format("{}, {} parameters", to_string(s.rule), s.count);
    case Op::optimizer_update_per_sample:
      return fmt::format("{}, {} x {} parameters", to_string(s.rule), s.batch, s.count);
    case Op::micro_batch_record:
    case Op::step_record:
      return "1 record";
    default:
      return fmt::format("{}x{}x{}x{}", s.batch, s.height, s.width, s.in_channels);
  }
}

double tolerance(Precision precision, std::int64_t terms) {
  const double accumulate =
      precision == Precision::fp64 ? unit_roundoff(Precision::fp64) : unit_roundoff(Precision::fp32);
  return 4.0 * accumulate * std::sqrt(static_cast<double>(terms)) + 2.0 * unit_roundoff(precision);
}

}  // namespace warpscope::ops
