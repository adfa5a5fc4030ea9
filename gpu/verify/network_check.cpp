#include "gpu/verify/network_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "gpu/core/random.h"
#include "gpu/ops/op_tests.h"
#include "gpu/ops/step/step.h"
#include "gpu/plan/plan.h"

namespace warpscope::verify {
namespace {

using core::Precision;

constexpr int kBatch = 2;
constexpr std::int64_t kImages = 4;
constexpr std::int64_t kRing = 4;
constexpr float kJoint = 0.25f;  ///< of networks with a head

/// Rounds as storing in the precision's weights does.
std::vector<float> rounded(const std::vector<float>& values, Precision precision) {
  const auto type = element_type(ops::Role::weight, precision);
  const std::vector<double> wide(values.begin(), values.end());
  const std::vector<double> stored = decode(encode(wide, type), type);
  std::vector<float> result(stored.size());
  std::transform(stored.begin(), stored.end(), result.begin(),
                 [](double v) { return static_cast<float>(v); });
  return result;
}

/// Weights as training begins with, and biases off zero.
std::vector<float> random_parameters(const models::Model& model, std::uint64_t seed) {
  std::vector<float> parameters = models::initial_parameters(model, seed);
  for (const models::Parameter& parameter : models::parameter_layout(model).parameters) {
    if (parameter.shape.size() != 1 || !parameter.learned) continue;
    for (std::size_t i = 0; i < parameter.elements; ++i) {
      const double unit = core::random_unit(seed + 1, parameter.offset + i);
      parameters[parameter.offset + i] = static_cast<float>(unit - 0.5);
    }
  }
  return parameters;
}

/// FP16 gradients need scaling, as in training.
ops::step::StepControl control_of(Precision precision) {
  ops::step::StepControl control;
  control.epoch_size = kBatch;
  control.learning_rate = 0;  // the weights stay what they are
  control.joint = kJoint;
  control.loss_scale = precision == Precision::fp16 ? 256.0f : 1.0f;
  return control;
}

/// The program of a training step, run node by node with the references.
class Chain {
 public:
  Chain(const NetworkCase& network, const plan::Program& program, const ops::step::StepControl& control)
      : program_(program), memory_(program.tensors.size()) {
    const std::vector<double> parameters(network.parameters.begin(), network.parameters.end());
    const std::vector<std::uint32_t> order = plan::in_order(kImages);
    const std::vector<ops::step::StepRecord> ring(kRing);
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
      const plan::Tensor& tensor = program.tensors[t];
      memory_[t] = [&]() -> Bytes {
        switch (tensor.storage) {
          case plan::Storage::images:
            return bytes_of(network.images);
          case plan::Storage::labels:
            return bytes_of(network.labels);
          case plan::Storage::order:
            return bytes_of(order);
          case plan::Storage::control:
            return bytes_of(std::span(&control, 1));
          case plan::Storage::ring:
            return bytes_of(ring);
          case plan::Storage::parameters:
            return encode(
                std::span(parameters).subspan(tensor.offset, static_cast<std::size_t>(tensor.elements)),
                core::ElementType::f64);
          default:
            return {};
        }
      }();
    }
  }

  /// What a node reads, by name.
  Operands operands_of(const plan::Node& node) const {
    Operands operands;
    const auto contract = ops::contract(node.op).operands;
    for (std::size_t i = 0; i < contract.size(); ++i) {
      operands[contract[i].name] = memory_[static_cast<std::size_t>(node.tensors[i])];
    }
    return operands;
  }

  /// Runs one node; its tensors then hold what it wrote. The inputs of the whole-buffer ops at the end are
  /// not kept up.
  void run(const plan::Node& node) {
    const Operands after = run_reference(node.op, node.shape, operands_of(node));
    const auto contract = ops::contract(node.op).operands;
    for (std::size_t i = 0; i < contract.size(); ++i) {
      if (contract[i].access == ops::Access::read) continue;
      memory_[static_cast<std::size_t>(node.tensors[i])] = after[contract[i].name];
    }
  }

  std::vector<double> values(int tensor) const {
    return decode(memory_[static_cast<std::size_t>(tensor)], core::ElementType::f64);
  }
  const plan::Program& program() const { return program_; }

 private:
  const plan::Program& program_;
  std::vector<Bytes> memory_;
};

/// Runs the chain and notes what the tolerance follows from. `margin` is one op's relative rounding error.
void run_chain(Chain& chain, double margin, NetworkCase& network) {
  int before = 0;
  for (const plan::Node& node : chain.program().nodes) {
    const ops::OpContract& contract = ops::contract(node.op);
    if (contract.scope == ops::Scope::parameters) continue;
    const double moved = margin * std::sqrt(static_cast<double>(++before));
    const auto corners = ops::tests_of(contract.op).corners;
    if (corners != nullptr) network.corners += 2 * corners(node.shape, chain.operands_of(node), moved);
    chain.run(node);
    ++network.path;
    network.terms = std::max(network.terms, contract.terms(node.shape));
  }
}

/// A plan's side: device memory bound to one plan, and what a step leaves there.
struct PlanStep {
  std::vector<float> gradients;
  float loss = 0;
  bool deterministic = true;  ///< by what its variants declare
};

PlanStep run_plan(const NetworkCase& network, const ops::Context& context, const plan::Selection& selection) {
  context.device->make_current();
  const auto stream = context.device->make_stream();
  const ops::step::StepControl control = control_of(selection.precision);
  const core::Buffer images = core::upload(context.device, *stream, network.images);
  const core::Buffer labels = core::upload(context.device, *stream, network.labels);
  const core::Buffer orders = core::upload(context.device, *stream, plan::in_order(kImages));
  const core::Buffer controls = core::upload(context.device, *stream, std::vector{control});
  const core::Buffer ring = core::upload(context.device, *stream, std::vector<ops::step::StepRecord>(kRing));
  const core::Buffer parameters = core::upload(context.device, *stream, network.parameters);
  const core::Buffer gradients(context.device, network.parameters.size() * sizeof(float));
  stream->fill(gradients.data(), 0xFF, gradients.bytes());  // NaN: a gradient left unwritten shows

  plan::Bindings bindings;
  bindings.images = images.as<std::uint8_t>();
  bindings.labels = labels.as<std::uint8_t>();
  bindings.image_count = kImages;
  bindings.order = orders.as<std::uint32_t>();
  bindings.control = controls.as<ops::step::StepControl>();
  bindings.ring = ring.as<ops::step::StepRecord>();
  bindings.ring_capacity = kRing;
  bindings.parameters = parameters.as<float>();
  bindings.gradients = gradients.as<float>();
  plan::Plan step(network.model, plan::Purpose::training, selection, kBatch, context, *stream, bindings);
  step.launch(*stream);
  PlanStep result;
  result.gradients = core::download<float>(*stream, gradients.data(), network.parameters.size());
  for (float& gradient : result.gradients) gradient /= control.loss_scale;
  result.loss = core::download<ops::step::StepRecord>(*stream, ring.data(), 1)[0].loss;
  for (const plan::PlanNode& node : step.nodes()) {
    if (node.variant != nullptr && !node.variant->deterministic) result.deterministic = false;
  }
  return result;
}

}  // namespace

models::Model small_network() {
  using enum models::LayerKind;
  return {"small",
          8,
          8,
          3,
          {{conv2d, "conv1", 3, 16, 3},
           {relu, "relu1"},
           {maxpool2d, "pool1", 0, 0, 2},
           {conv2d, "conv2", 16, 8, 3},
           {relu, "relu2"},
           {maxpool2d, "pool2", 0, 0, 2},
           {conv2d, "conv3", 8, 8, 3},
           {relu, "relu3"},
           {upsample2d, "up3"},
           {conv2d, "conv4", 8, 16, 3},
           {relu, "relu4"},
           {upsample2d, "up4"},
           {conv2d, "conv5", 16, 3, 3}}};
}

models::Model small_classifier() {
  using enum models::LayerKind;
  return {"small classifier",
          8,
          8,
          3,
          {{conv2d, "conv1", 3, 16, 3},
           {relu, "relu1"},
           {maxpool2d, "pool1", 0, 0, 2},
           {linear, "fc1", 4 * 4 * 16, 24},
           {relu, "relu2"},
           {linear, "fc2", 24, 5}},
          models::Loss::cross_entropy,
          5};
}

models::Model small_joint_network() {
  constexpr int kClasses = 5;
  models::Model model = models::with_head(small_network(), kClasses);
  model.name = "small with a head";
  return model;
}

models::Model small_text_network(models::LayerKind first) {
  using enum models::LayerKind;
  constexpr int kSymbols = 200, kClasses = 5;
  models::Model model{"small text",
                      1,
                      24,
                      1,
                      {{first, "first"},
                       {conv1d, "conv1", 0, 16, 5},
                       {relu, "relu1"},
                       {maxpool1d, "pool1", 0, 0, 3},
                       {linear, "fc1", 0, kClasses}},
                      models::Loss::cross_entropy,
                      kClasses};
  model.layers[0].symbols = kSymbols;
  model.layers[0].out_channels = first == embedding ? 12 : 0;
  model.layers[1].valid = true;
  models::fit_layers(model);
  return model;
}

NetworkCase make_network_case(Precision precision, std::uint64_t seed, const models::Model& model) {
  NetworkCase network;
  network.model = model;
  network.parameters = rounded(random_parameters(network.model, seed), precision);
  for (std::int64_t i = 0; i < kImages * model.height * model.width * model.channels; ++i) {
    network.images.push_back(
        static_cast<std::uint8_t>(core::random_bits(seed + 2, static_cast<std::uint64_t>(i)) & 0xff));
  }
  for (std::int64_t i = 0; i < kImages; ++i) {
    network.labels.push_back(static_cast<std::uint8_t>(i % std::max({1, model.classes, model.head_classes})));
  }
  const plan::Program program =
      plan::lower(model, plan::Purpose::training, kBatch, kImages, kRing, Precision::fp64);
  Chain chain(network, program, control_of(Precision::fp64));
  // Half a unit roundoff is about the standard deviation of a rounded value's error.
  run_chain(chain, ops::tolerance(precision, 1) / 4, network);
  network.loss = chain.values(program.loss).front();
  network.gradients.resize(network.parameters.size());
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const plan::Tensor& tensor = program.tensors[t];
    if (tensor.storage != plan::Storage::gradients || tensor.name == "gradients") continue;
    const auto values = chain.values(static_cast<int>(t));
    std::copy(values.begin(), values.end(),
              network.gradients.begin() + static_cast<std::ptrdiff_t>(tensor.offset));
  }
  return network;
}

double network_tolerance(const NetworkCase& network, Precision precision) {
  return ops::tolerance(precision, network.terms) * std::sqrt(static_cast<double>(network.path)) +
         std::sqrt(network.corners);
}

NetworkCheck check_network(const NetworkCase& network, const ops::Context& context,
                           const plan::Selection& selection) {
  NetworkCheck check;
  check.terms = network.terms;
  check.tolerance = network_tolerance(network, selection.precision);
  const PlanStep first = run_plan(network, context, selection);
  const PlanStep second = run_plan(network, context, selection);
  check.declared_deterministic = first.deterministic;
  const auto compare = [&](const std::string& name, std::span<const float> out,
                           std::span<const double> expected) {
    const double error = relative_error(std::vector<double>(out.begin(), out.end()), expected);
    check.worst_error = std::max(check.worst_error, error);
    if (error <= check.tolerance || !check.failure.empty()) return;
    check.failure = fmt::format("{} of {} has a relative error of {:.3g}, more than {:.3g}", name,
                                network.model.name, error, check.tolerance);
  };
  std::vector<double> all, all_expected;
  compare("the loss", std::span(&first.loss, 1), std::span(&network.loss, 1));
  for (const models::Parameter& parameter : models::parameter_layout(network.model).parameters) {
    if (!parameter.learned) continue;
    compare("the gradient of " + parameter.name,
            std::span(first.gradients).subspan(parameter.offset, parameter.elements),
            std::span(network.gradients).subspan(parameter.offset, parameter.elements));
    const auto first_gradient = first.gradients.begin() + static_cast<std::ptrdiff_t>(parameter.offset);
    const auto expected = network.gradients.begin() + static_cast<std::ptrdiff_t>(parameter.offset);
    const auto count = static_cast<std::ptrdiff_t>(parameter.elements);
    all.insert(all.end(), first_gradient, first_gradient + count);
    all_expected.insert(all_expected.end(), expected, expected + count);
    const auto bytes = parameter.elements * sizeof(float);
    check.same_bits = check.same_bits && std::memcmp(first.gradients.data() + parameter.offset,
                                                     second.gradients.data() + parameter.offset, bytes) == 0;
  }
  check.whole_error = relative_error(all, all_expected);
  return check;
}

}  // namespace warpscope::verify
