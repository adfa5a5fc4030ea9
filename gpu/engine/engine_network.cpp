// Engine: another network in the place of the one that trains.

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/engine/engine.h"
#include "gpu/files/file.h"
#include "gpu/models/parameters.h"

namespace warpscope::training {

using ops::step::StepControl;

/// What an engine has of its network, but for the plans.
struct Engine::Network {
  models::Model model, bare;
  models::ParameterLayout layout;
  std::vector<float> initial;
  core::Buffer parameters, gradients, states[2];
};

void Engine::exchange(Network& other) {
  std::swap(options_.model, other.model);
  std::swap(bare_model_, other.bare);
  std::swap(layout_, other.layout);
  std::swap(initial_, other.initial);
  std::swap(parameters_, other.parameters);
  std::swap(gradients_, other.gradients);
  for (int i = 0; i < 2; ++i) std::swap(states_[i], other.states[i]);
}

/// Throws core::BadInput unless the training can go on with `model`.
void Engine::check_network(const models::Model& model) const {
  models::check_model(model);
  if (model.loss != options_.model.loss) {
    const bool classifies = model.loss == models::Loss::cross_entropy;
    throw core::BadInput(fmt::format("network {} {}, which this training does not; a new training can",
                                     model.name, classifies ? "classifies images" : "reconstructs images"));
  }
  check_images(model);
  if (model.alphabet != options_.model.alphabet) {
    throw core::BadInput(
        fmt::format("network {} has another alphabet than the one that the texts of {} were read by; a new "
                    "training can take it",
                    model.name, data_->name));
  }
}

/// Throws core::OutOfMemory if what `model` needs for its parameters alone does not fit beside what is in use, before
/// anything is drawn or allocated. A plan comes on top and speaks for itself.
void Engine::check_memory(const models::Model& model) const {
  const std::size_t parameters = room(model);
  const bool on_cpu = device_->info().kind == core::DeviceKind::cpu;
  // Weights, gradients, state and, on the host, initial weights.
  const int copies = 2 + ops::states_of(options_.optimizer.rule) + (on_cpu ? 1 : 0);
  const double needed = static_cast<double>(parameters) * sizeof(float) * copies;
  const auto free = static_cast<double>(device_->memory().free_bytes);
  if (needed <= free) return;
  const std::string limit = on_cpu ? core::host_memory().limit : "";
  throw core::OutOfMemory(
      fmt::format("network {} has {} parameters, which with gradients and the state of {} take {}; {} has "
                  "{} of memory free{}{}",
                  model.name, files::grouped(static_cast<std::int64_t>(parameters)),
                  ops::to_string(options_.optimizer.rule), core::memory_text(needed),
                  on_cpu ? "the CPU" : device_->info().name, core::memory_text(free),
                  limit.empty() ? "" : " under ", limit));
}

/// Weights and state of `model` in memory of their own, with all that it shares with the network in use. Waits.
Engine::Network Engine::make_network(const models::Model& model, CarriedOver& carried) {
  Network made;
  made.model = model;
  made.bare = models::with_head(model, 0);
  made.layout = models::parameter_layout(model);
  made.initial = models::initial_parameters(model, options_.seed);
  const std::size_t bytes = room(model) * sizeof(float);
  made.parameters = core::Buffer(device_, bytes);
  made.gradients = core::Buffer(device_, bytes);
  // Padding is updated with the rest, so it must hold zeros, and so must gradients that no step has made.
  stream_->fill(made.parameters.data(), 0, bytes);
  stream_->fill(made.gradients.data(), 0, bytes);
  for (int i = 0; i < ops::states_of(options_.optimizer.rule); ++i) {
    made.states[i] = core::Buffer(device_, bytes);
    stream_->fill(made.states[i].data(), 0, bytes);
  }
  stream_->copy(made.parameters.data(), made.initial.data(), made.initial.size() * sizeof(float));
  const std::vector<models::SharedParameter> shared = models::shared_parameters(layout_, made.layout);
  for (const models::SharedParameter& each : shared) {
    stream_->copy(made.parameters.as<float>() + each.to, parameters_.as<const float>() + each.from,
                  each.elements * sizeof(float));
  }
  stream_->synchronize();
  carried = {shared.size(), made.layout.parameters.size()};
  return made;
}

CarriedOver Engine::set_network(const models::Model& network) {
  const models::Model model = models::with_head(network, options_.model.head_classes);
  check_network(model);
  stream_->synchronize();
  free_retired();
  check_memory(model);
  CarriedOver carried;
  try {
    Network other = make_network(model, carried);
    exchange(other);
    try {
      install(build(options_.selection, options_.batch));
    } catch (...) {
      exchange(other);
      throw;
    }
  } catch (const std::bad_alloc&) {
    throw core::OutOfMemory(fmt::format("the host has too little memory for network {}", network.name));
  }
  seeded_.clear();
  forget();
  network_since_ = steps_;
  evaluation_enqueued_ = 0;  // a running evaluation starts again
  upload_device_control(offsetof(StepControl, updates), offsetof(StepControl, micro_batch), StepControl{});
  upload_loss_scale();
  interrupted_ = control_stale_ = true;
  return carried;
}

}  // namespace warpscope::training
