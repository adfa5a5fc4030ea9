#include "gpu/classifiers/head/network.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/ops/launch.h"

namespace warpscope::classifiers::head {
namespace {

using core::Buffer;
using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpShape;

std::size_t floats(std::size_t count) {
  return count * sizeof(float);
}

std::size_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

/// Products by tensor cores where operands stay FP32.
Precision precision_on(const core::DeviceInfo& device) {
  constexpr int kAmpere = 80;
  return device.compute_capability >= kAmpere ? Precision::tf32 : Precision::fp32;
}

/// The last of the table that runs here, by itself, and gives the same bits each time; a library's only where there is
/// no other.
const ops::Variant& choose(Op op, const ops::Context& context, Precision precision, const OpShape& shape) {
  const ops::Variant* found = nullptr;
  for (const bool library : {true, false}) {
    for (const ops::Variant* each : ops::variants_of(*context.variants, op, context.device->info().kind)) {
      if (each->library == library && each->deterministic && each->chain.empty() && each->formats.empty() &&
          ops::unavailable_reason(*each, context.device->info(), precision, &shape).empty()) {
        found = each;
      }
    }
  }
  if (found == nullptr) {
    throw core::Error(fmt::format("{} has no variant for {} on {}", ops::to_string(op),
                                  ops::describe(op, shape), context.device->info().id()));
  }
  return *found;
}

OpShape linear_shape(std::int64_t batch, int inputs, int outputs) {
  OpShape shape;
  shape.batch = batch;
  shape.in_channels = inputs;
  shape.out_channels = outputs;
  return shape;
}

}  // namespace

NetworkLayout::NetworkLayout(const NetworkShape& shape) {
  constexpr std::size_t kAligned = 64;  // elements: 256 bytes
  const auto place = [this](std::size_t count) {
    const std::size_t first = elements;
    elements += (count + kAligned - 1) / kAligned * kAligned;
    return first;
  };
  first_weights = place(product(shape.hidden, shape.columns));
  first_bias = place(static_cast<std::size_t>(shape.hidden));
  second_weights = place(product(shape.classes, shape.hidden));
  second_bias = place(static_cast<std::size_t>(shape.classes));
}

std::vector<float> initial_parameters(const NetworkShape& shape, std::uint64_t seed) {
  const NetworkLayout layout(shape);
  std::vector<float> parameters(layout.elements, 0.0f);
  const auto fill = [&](std::size_t first, std::size_t count, int inputs) {
    const double deviation = std::sqrt(2.0 / inputs);
    for (std::size_t i = first; i < first + count; ++i) {
      const double radius = std::sqrt(-2 * std::log(core::random_unit(seed, 2 * i)));
      const double angle = 2 * std::numbers::pi * core::random_unit(seed, 2 * i + 1);
      parameters[i] = static_cast<float>(deviation * radius * std::cos(angle));
    }
  };
  fill(layout.first_weights, product(shape.hidden, shape.columns), shape.columns);
  fill(layout.second_weights, product(shape.classes, shape.hidden), shape.hidden);
  return parameters;
}

Network::Network(const Place& place, const NetworkShape& shape, std::int64_t batch)
    : place_(place), context_(place.device), precision_(precision_on(place.device->info())), layout_(shape) {
  const auto memory = [&](std::size_t bytes) { return Buffer(place.device, bytes); };
  hidden_ = memory(floats(product(batch, shape.hidden)));
  hidden_gradient_ = memory(hidden_.bytes());
  logits_ = memory(floats(product(batch, shape.classes)));
  logits_gradient_ = memory(logits_.bytes());
  gradients_ = memory(floats(layout_.elements));
  place.stream->fill(gradients_.data(), 0, gradients_.bytes());  // between parameters it stays so
  losses_ = memory(floats(static_cast<std::size_t>(batch)));
  predicted_ = memory(static_cast<std::size_t>(batch));
  statistics_ = memory(floats(std::size_t{ops::kSumParts} * ops::step::kStatistics));
  norm_parts_ = memory(floats(ops::kSumParts));
  place.stream->fill(norm_parts_.data(), 0, norm_parts_.bytes());

  const OpShape first = linear_shape(batch, shape.columns, shape.hidden);
  const OpShape second = linear_shape(batch, shape.hidden, shape.classes);
  const OpShape middle = linear_shape(batch, shape.hidden, shape.hidden);
  const OpShape classes = linear_shape(batch, shape.classes, shape.classes);
  OpShape parameters;
  parameters.count = static_cast<std::int64_t>(layout_.elements);
  parameters.rule = ops::UpdateRule::adam;
  prepare(kFirstProduct, Op::linear_forward, first);
  prepare(kFirstBias, Op::bias_forward, middle);
  prepare(kRelu, Op::relu_forward, middle);
  prepare(kSecondProduct, Op::linear_forward, second);
  prepare(kSecondBias, Op::bias_forward, classes);
  prepare(kLoss, Op::cross_entropy_forward, classes);
  prepare(kLossGradient, Op::cross_entropy_backward, classes);
  prepare(kSecondWeights, Op::linear_backward_weights, second);
  prepare(kSecondBiasGradient, Op::linear_backward_bias, second);
  prepare(kHiddenGradient, Op::linear_backward_input, second);
  prepare(kReluGradient, Op::relu_backward, middle);
  prepare(kFirstWeights, Op::linear_backward_weights, first);
  prepare(kFirstBiasGradient, Op::linear_backward_bias, first);
  prepare(kUpdate, Op::optimizer_update, parameters);
  std::size_t most = 0;
  for (const Launch& each : launches_)
    most = std::max(most, ops::workspace_bytes(*each.variant, each.shape, precision_));
  workspace_ = memory(most);
}

void Network::prepare(Call call, Op op, const OpShape& shape) {
  Launch& made = launches_[call];
  made.variant = &choose(op, context_, precision_, shape);
  made.shape = shape;
  made.prepared = ops::prepare({made.variant, &context_, shape, precision_});
}

/// Calls write what their contract says they write, and nothing that is only read.
void Network::launch(Call call, const Operands& operands) {
  const Launch& launched = launches_[call];
  ops::OpCall made{launched.variant, &context_, launched.shape, precision_};
  for (const auto& [name, memory] : operands)
    made.operands[name] = const_cast<void*>(memory);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  made.workspace = workspace_.data();
  made.prepared = launched.prepared.get();
  made.stream = place_.stream;
  ops::launch(made);
}

void Network::forward(const float* rows, const float* parameters) {
  float* const hidden = hidden_.as<float>();
  float* const logits = logits_.as<float>();
  launch(kFirstProduct,
         {{Name::input, rows}, {Name::weights, parameters + layout_.first_weights}, {Name::output, hidden}});
  launch(kFirstBias,
         {{Name::input, hidden}, {Name::bias, parameters + layout_.first_bias}, {Name::output, hidden}});
  launch(kRelu, {{Name::input, hidden}, {Name::output, hidden}});
  launch(
      kSecondProduct,
      {{Name::input, hidden}, {Name::weights, parameters + layout_.second_weights}, {Name::output, logits}});
  launch(kSecondBias,
         {{Name::input, logits}, {Name::bias, parameters + layout_.second_bias}, {Name::output, logits}});
}

void Network::backward(const Step& step, const float* parameters) {
  float* const of_logits = logits_gradient_.as<float>();
  float* const of_hidden = hidden_gradient_.as<float>();
  float* const gradients = gradients_.as<float>();
  launch(kLossGradient, {{Name::logits, logits_.data()},
                         {Name::labels, step.labels},
                         {Name::control, step.control},
                         {Name::gradient, of_logits}});
  launch(kSecondWeights, {{Name::input, hidden_.data()},
                          {Name::output_gradient, of_logits},
                          {Name::weights_gradient, gradients + layout_.second_weights}});
  launch(kSecondBiasGradient,
         {{Name::output_gradient, of_logits}, {Name::bias_gradient, gradients + layout_.second_bias}});
  launch(kHiddenGradient, {{Name::output_gradient, of_logits},
                           {Name::weights, parameters + layout_.second_weights},
                           {Name::input_gradient, of_hidden}});
  launch(kReluGradient, {{Name::output, hidden_.data()},
                         {Name::output_gradient, of_hidden},
                         {Name::input_gradient, of_hidden}});
  launch(kFirstWeights, {{Name::input, step.rows},
                         {Name::output_gradient, of_hidden},
                         {Name::weights_gradient, gradients + layout_.first_weights}});
  launch(kFirstBiasGradient,
         {{Name::output_gradient, of_hidden}, {Name::bias_gradient, gradients + layout_.first_bias}});
}

void Network::step(const Step& step, float* parameters, float* moments) {
  forward(step.rows, parameters);
  launch(kLoss, {{Name::logits, logits_.data()},
                 {Name::labels, step.labels},
                 {Name::sample_losses, losses_.data()},
                 {Name::predicted, predicted_.data()},
                 {Name::loss, step.metrics + ops::step::kLossMetric},
                 {Name::accuracy, step.metrics + ops::step::kAccuracyMetric}});
  backward(step, parameters);
  launch(kUpdate, {{Name::gradients, gradients_.data()},
                   {Name::control, step.control},
                   {Name::norm_parts, norm_parts_.data()},
                   {Name::metrics, step.metrics},
                   {Name::parameters, parameters},
                   {Name::first_state, moments},
                   {Name::second_state, moments + layout_.elements},
                   {Name::statistics, statistics_.data()}});
}

}  // namespace warpscope::classifiers::head
