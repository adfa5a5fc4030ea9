// Engine: what training goes on from (weights, optimizer state, place in the data), and changing the
// optimizer.

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"
#include "gpu/engine/recipe.h"

namespace warpscope::training {

using ops::step::StepControl;

/// Fresh state: zeros. The stream must be idle.
void Engine::make_states(ops::UpdateRule rule) {
  for (int i = 0; i < 2; ++i) {
    const std::size_t bytes = i < ops::states_of(rule) ? parameters_.bytes() : 0;
    if (states_[i].bytes() != bytes) states_[i] = bytes > 0 ? core::Buffer(device_, bytes) : core::Buffer();
    if (bytes > 0) stream_->fill(states_[i].data(), 0, bytes);
  }
}

void Engine::set_optimizer(const OptimizerSettings& optimizer) {
  check(optimizer);
  check_together(options_.augment, optimizer);
  const OptimizerSettings before = options_.optimizer;
  const std::int64_t images = static_cast<std::int64_t>(options_.batch) * optimizer.accumulate;
  if (images > data_->train.count) {
    throw core::BadInput(fmt::format("{} micro-batches of {} images are more than the {} training images",
                                     optimizer.accumulate, options_.batch, data_->train.count));
  }
  const bool wants_head = optimizer.joint > 0;
  if (wants_head != (options_.model.head_classes > 0)) set_head(wants_head);
  const core::Precision precision = options_.selection.precision;
  const bool other_plan = recipe_of(optimizer, options_.augment, options_.batch) !=
                          recipe_of(before, options_.augment, options_.batch);
  const bool fresh = optimizer.rule != before.rule;
  if (other_plan) {
    free_retired();
    stream_->synchronize();  // no plan under way uses the state that goes
    core::Buffer old[2];
    if (fresh) {
      for (int i = 0; i < 2; ++i) old[i] = std::exchange(states_[i], core::Buffer());
    }
    try {
      if (fresh) make_states(optimizer.rule);
      auto training = build_training(options_.selection, options_.batch, optimizer, training_bindings());
      plans_.training = std::move(training);
    } catch (...) {
      for (int i = 0; fresh && i < 2; ++i) states_[i] = std::move(old[i]);
      throw;
    }
    timings_.adopt(*plans_.training, precision);
  }
  options_.optimizer = optimizer;
  learning_rate_ = optimizer.learning_rate;
  order_.set_batch(images_of_step());
  if (fresh) {
    forget();
    upload_device_control(offsetof(StepControl, updates), offsetof(StepControl, micro_batch), StepControl{});
  }
  interrupted_ = interrupted_ || other_plan;
  control_stale_ = true;
}

std::vector<float> Engine::download(const core::Buffer& buffer) {
  std::vector<float> values(layout_.elements);
  stream_->copy(values.data(), buffer.data(), layout_.elements * sizeof(float));
  stream_->synchronize();
  return values;
}

std::vector<float> Engine::parameters() {
  return download(parameters_);
}

std::vector<float> Engine::gradients() {
  return download(gradients_);
}

EngineState Engine::state() {
  EngineState state;
  state.parameters = parameters();
  state.rule = options_.optimizer.rule;
  for (int i = 0; i < ops::states_of(state.rule); ++i) state.states.push_back(download(states_[i]));
  stream_->copy(&state.control, control_.data(), sizeof(StepControl));
  stream_->synchronize();
  state.steps = steps_;
  state.epochs_done = order_.epochs_done();
  state.position = order_.position();
  return state;
}

void Engine::restore(const EngineState& state) {
  if (state.parameters.size() != layout_.elements) {
    throw core::BadInput(fmt::format("the saved state has {} parameters, model {} has {}",
                                     state.parameters.size(), options_.model.name, layout_.elements));
  }
  if (state.rule != options_.optimizer.rule) {
    throw core::BadInput(fmt::format("the saved state is that of {}, the optimizer is {}",
                                     ops::to_string(state.rule), ops::to_string(options_.optimizer.rule)));
  }
  stream_->synchronize();
  put_back(state);
  order_.restore(state.epochs_done, state.position);
  order_.set_batch(images_of_step());  // another batch cuts the rest of the epoch anew
  steps_ = arrived_ = state.steps;
  ring_.reset(steps_);
  pending_.clear();
  evaluation_running_ = false;
  forget();
  trained_rate_ = options_.optimizer.learning_rate;
  interrupted_ = control_stale_ = true;
}

void Engine::put_back(const EngineState& state) {
  stream_->copy(parameters_.data(), state.parameters.data(), layout_.elements * sizeof(float));
  for (std::size_t i = 0; i < state.states.size(); ++i) {
    stream_->copy(states_[i].data(), state.states[i].data(), layout_.elements * sizeof(float));
  }
  StepControl control = state.control;
  control.overflow = control.micro_batch = control.halted = 0;
  upload_device_control(offsetof(StepControl, loss_scale), offsetof(StepControl, gradient_scale), control);
  stream_->synchronize();
}

void Engine::remember() {
  const bool first =
      !remembered_[0].valid || (remembered_[1].valid && remembered_[0].steps < remembered_[1].steps);
  Remembered& slot = remembered_[first ? 0 : 1];
  const auto keep = [&](core::Buffer& kept, const core::Buffer& original) {
    if (kept.bytes() != original.bytes()) {
      kept = original.bytes() > 0 ? core::Buffer(device_, original.bytes()) : core::Buffer();
    }
    if (original.bytes() > 0) stream_->copy(kept.data(), original.data(), original.bytes());
  };
  keep(slot.parameters, parameters_);
  for (int i = 0; i < 2; ++i) keep(slot.states[i], states_[i]);
  keep(slot.control, control_);
  slot.steps = steps_;
  slot.epochs_done = order_.epochs_done();
  slot.position = order_.position();
  slot.rate = trained_rate_;
  slot.valid = true;
}

void Engine::forget() {
  for (Remembered& slot : remembered_) slot.valid = false;
}

/// A copy may have been taken between the update that ruined the weights and the losses that show it: of two, the older
/// is the better one where the newer is but a few steps old.
const Engine::Remembered* Engine::newest_remembered(std::uint64_t steps) const {
  const Remembered* newest = nullptr;
  for (const Remembered& slot : remembered_) {
    if (!slot.valid || slot.steps > steps) continue;
    const auto better = [&](const Remembered& than) {
      const bool safe = steps - slot.steps >= kSafeSteps;
      const bool other_safe = steps - than.steps >= kSafeSteps;
      if (safe != other_safe) return safe;
      return safe ? slot.steps > than.steps : slot.steps < than.steps;
    };
    if (newest == nullptr || better(*newest)) newest = &slot;
  }
  return newest;
}

bool Engine::copy_due() const {
  const auto& [a, b] = remembered_;
  return !a.valid || !b.valid || std::max(a.steps, b.steps) + kSafeSteps <= steps_;
}

bool Engine::remembers(std::uint64_t steps) const {
  return newest_remembered(steps) != nullptr;
}

std::optional<float> Engine::remembered_rate(std::uint64_t steps) const {
  const Remembered* const slot = newest_remembered(steps);
  return slot == nullptr ? std::nullopt : std::optional(slot->rate);
}

std::optional<EngineState> Engine::remembered(std::uint64_t steps) {
  const Remembered* const slot = newest_remembered(steps);
  if (slot == nullptr) return std::nullopt;
  EngineState state;
  state.parameters = download(slot->parameters);
  state.rule = options_.optimizer.rule;
  for (int i = 0; i < ops::states_of(state.rule); ++i) state.states.push_back(download(slot->states[i]));
  stream_->copy(&state.control, slot->control.data(), sizeof(StepControl));
  stream_->synchronize();
  state.steps = slot->steps;
  state.epochs_done = slot->epochs_done;
  state.position = slot->position;
  return state;
}

bool Engine::recall(std::uint64_t steps) {
  const Remembered* const slot = newest_remembered(steps);
  if (slot == nullptr) return false;
  stream_->synchronize();
  const auto copy = [&](core::Buffer& to, const core::Buffer& from) {
    if (from.bytes() > 0) stream_->copy(to.data(), from.data(), from.bytes());
  };
  copy(parameters_, slot->parameters);
  for (int i = 0; i < 2; ++i) copy(states_[i], slot->states[i]);
  constexpr std::size_t kUpdates = offsetof(StepControl, updates);
  stream_->copy(control_.as<std::byte>() + kUpdates, slot->control.as<std::byte>() + kUpdates,
                sizeof(std::uint32_t));
  clear_halt();
  for (Remembered& other : remembered_) other.valid = other.valid && &other == slot;
  interrupted_ = true;
  return true;
}

void Engine::clear_halt() {
  upload_device_control(offsetof(StepControl, micro_batch), offsetof(StepControl, gradient_scale),
                        StepControl{});
}

}  // namespace warpscope::training
