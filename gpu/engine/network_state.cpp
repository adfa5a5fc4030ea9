#include "gpu/engine/network_state.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/engine/head.h"
#include "gpu/files/file.h"
#include "gpu/models/parameters.h"

namespace warpscope::training {
namespace {

struct FirstWeights {
  std::vector<float> values;
  std::vector<std::string> seeded;
  std::string notice;
};

/// As load_parameters() reads them; of a file that does not fit it says what else can be done.
std::vector<float> whole_parameters(const std::string& file, const models::Model& model,
                                    std::string& notice) {
  try {
    return models::load_parameters(file, model, &notice);
  } catch (const models::BadFit& error) {
    throw core::BadInput(fmt::format("{}; --init-partly takes the layers that fit", error.what()));
  }
}

/// From the file, or the seed; what a file without a head lacks is from the seed too.
FirstWeights first_weights_of(const EngineSettings& settings) {
  const models::Model& model = settings.model;
  const std::string& file = settings.init_file;
  FirstWeights first;
  if (file.empty() || settings.init_partly) first.values = models::initial_parameters(model, settings.seed);
  if (file.empty()) return first;
  if (settings.init_partly) {
    first.seeded = models::take_fitting_parameters(file, model, first.values, &first.notice);
  } else {
    models::Model held = model;
    if (models::head_classes_in(files::SafetensorsFile(file).entries()) == 0) held.head_classes = 0;
    first.values = whole_parameters(file, held, first.notice);
    if (first.values.size() < models::parameter_layout(model).elements) {
      const std::vector<float> fresh = models::initial_parameters(model, settings.seed);
      const auto held_values = static_cast<std::ptrdiff_t>(first.values.size());
      first.values.insert(first.values.end(), fresh.begin() + held_values, fresh.end());
    }
  }
  const std::string found = models::bad_numbers_in(model, first.values);
  if (found.empty()) return first;
  throw core::BadInput(fmt::format("the initial weights hold {} ({}); start from others", found, file));
}

/// Elements of the buffers of parameters. Those who hold their addresses need not know when a head comes.
std::size_t room_of(const models::Model& model, const data::DataSet& data) {
  const bool with_head = can_have_head(model, data);
  return models::parameter_layout(with_head ? models::with_head(model, head_classes_of(data)) : model)
      .elements;
}

/// Throws core::OutOfMemory if what `model` needs for its parameters only does not fit beside what is in use, before
/// anything is drawn or allocated. A plan comes on top and speaks for itself.
void check_memory(const models::Model& model, const data::DataSet& data, ops::UpdateRule rule,
                  core::Device& device) {
  const std::size_t parameters = room_of(model, data);
  const bool on_cpu = device.info().kind == core::DeviceKind::cpu;
  // Weights, gradients, state and, on the host, first weights.
  const int copies = 2 + ops::states_of(rule) + (on_cpu ? 1 : 0);
  const double needed = static_cast<double>(parameters) * sizeof(float) * copies;
  const auto free = static_cast<double>(device.memory().free_bytes);
  if (needed <= free) return;
  const std::string limit = on_cpu ? core::host_memory().limit : "";
  throw core::OutOfMemory(
      fmt::format("network {} has {} parameters, which with gradients and the state of {} take {}; {} has "
                  "{} of memory free{}{}",
                  model.name, files::grouped(static_cast<std::int64_t>(parameters)), ops::to_string(rule),
                  core::memory_text(needed), on_cpu ? "the CPU" : device.info().name, core::memory_text(free),
                  limit.empty() ? "" : " under ", limit));
}

}  // namespace

void NetworkBuffers::bind(plan::Bindings& bindings) const {
  bindings.parameters = parameters.as<float>();
  bindings.gradients = gradients.as<float>();
  bindings.first_state = states[0].as<float>();
  bindings.second_state = states[1].as<float>();
}

NetworkState::NetworkState(const EngineSettings& settings, const data::DataSet& data,
                           std::shared_ptr<core::Device> device, core::Stream& stream)
    : device_(std::move(device)),
      stream_(&stream),
      seed_(settings.seed),
      rule_(settings.optimizer.rule),
      model_(settings.model),
      bare_model_(models::with_head(model_, 0)),
      layout_(models::parameter_layout(model_)) {
  check_memory(model_, data, rule_, *device_);
  FirstWeights first = first_weights_of(settings);
  first_weights_ = std::move(first.values);
  seeded_ = std::move(first.seeded);
  init_notice_ = std::move(first.notice);
  allocate(data);
}

NetworkState::NetworkState(const NetworkState& before, const models::Model& model, const data::DataSet& data)
    : device_(before.device_),
      stream_(before.stream_),
      seed_(before.seed_),
      rule_(before.rule_),
      model_(model),
      bare_model_(models::with_head(model, 0)),
      layout_(models::parameter_layout(model)) {
  check_memory(model, data, rule_, *device_);
  first_weights_ = models::initial_parameters(model, seed_);
  allocate(data);
  start_again();
}

/// Padding is updated with the rest, so it must hold zeros.
void NetworkState::allocate(const data::DataSet& data) {
  const std::size_t bytes = room_of(model_, data) * sizeof(float);
  buffers_.parameters = core::Buffer(device_, bytes);
  buffers_.gradients = core::Buffer(device_, bytes);
  stream_->fill(buffers_.parameters.data(), 0, bytes);
  adopt_states(rule_, fresh_states(rule_));
}

void NetworkState::start_again() {
  stream_->synchronize();
  stream_->copy(buffers_.parameters.data(), first_weights_.data(), layout_.elements * sizeof(float));
  for (const core::Buffer* buffer : {&buffers_.gradients, &buffers_.states[0], &buffers_.states[1]}) {
    if (buffer->bytes() > 0) stream_->fill(buffer->data(), 0, buffer->bytes());
  }
  stream_->synchronize();
}

NetworkState NetworkState::followed_by(const models::Model& model, const data::DataSet& data,
                                       CarriedOver& carried) const {
  NetworkState next(*this, model, data);
  const std::vector<models::SharedParameter> shared = models::shared_parameters(layout_, next.layout_);
  for (const models::SharedParameter& each : shared) {
    stream_->copy(next.buffers_.parameters.as<float>() + each.to,
                  buffers_.parameters.as<const float>() + each.from, each.elements * sizeof(float));
  }
  stream_->synchronize();
  carried = {shared.size(), next.layout_.parameters.size()};
  return next;
}

NetworkBuffers NetworkState::fresh_states(ops::UpdateRule rule) const {
  NetworkBuffers fresh;
  for (int i = 0; i < ops::states_of(rule); ++i) {
    fresh.states[i] = core::Buffer(device_, buffers_.parameters.bytes());
    stream_->fill(fresh.states[i].data(), 0, fresh.states[i].bytes());
  }
  return fresh;
}

void NetworkState::adopt_states(ops::UpdateRule rule, NetworkBuffers states) {
  rule_ = rule;
  for (int i = 0; i < 2; ++i) buffers_.states[i] = std::move(states.states[i]);
}

void NetworkState::set_head(models::Model model) {
  const std::size_t body = layout_.elements;
  model_ = std::move(model);
  layout_ = models::parameter_layout(model_);
  first_weights_.resize(layout_.elements);
  if (layout_.elements <= body) return;
  const std::vector<float> seeded = models::initial_parameters(model_, seed_);
  std::copy(seeded.begin() + static_cast<std::ptrdiff_t>(body), seeded.end(),
            first_weights_.begin() + static_cast<std::ptrdiff_t>(body));
  // No step has made a gradient or state of what lies behind the layers' parameters.
  const std::size_t bytes = body * sizeof(float);
  for (const core::Buffer* buffer : {&buffers_.gradients, &buffers_.states[0], &buffers_.states[1]}) {
    if (buffer->bytes() > bytes) stream_->fill(buffer->as<std::byte>() + bytes, 0, buffer->bytes() - bytes);
  }
  stream_->copy(buffers_.parameters.as<float>() + body, first_weights_.data() + body,
                (layout_.elements - body) * sizeof(float));
  stream_->synchronize();
}

std::vector<float> NetworkState::download(const core::Buffer& buffer) const {
  std::vector<float> values(layout_.elements);
  stream_->copy(values.data(), buffer.data(), layout_.elements * sizeof(float));
  stream_->synchronize();
  return values;
}

void NetworkState::save(EngineState& state, const NetworkBuffers& buffers) const {
  state.parameters = download(buffers.parameters);
  state.rule = rule_;
  for (int i = 0; i < ops::states_of(rule_); ++i) state.states.push_back(download(buffers.states[i]));
}

void NetworkState::check(const EngineState& state) const {
  if (state.parameters.size() != layout_.elements) {
    throw core::BadInput(fmt::format("the saved state has {} parameters, model {} has {}",
                                     state.parameters.size(), model_.name, layout_.elements));
  }
  if (state.rule != rule_) {
    throw core::BadInput(fmt::format("the saved state is that of {}, the optimizer is {}",
                                     ops::to_string(state.rule), ops::to_string(rule_)));
  }
}

void NetworkState::restore(const EngineState& state) {
  const std::size_t bytes = layout_.elements * sizeof(float);
  stream_->copy(buffers_.parameters.data(), state.parameters.data(), bytes);
  for (std::size_t i = 0; i < state.states.size(); ++i) {
    stream_->copy(buffers_.states[i].data(), state.states[i].data(), bytes);
  }
  stream_->synchronize();
}

}  // namespace warpscope::training
