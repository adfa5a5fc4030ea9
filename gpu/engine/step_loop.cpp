#include "gpu/engine/step_loop.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/recipe.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;
using ops::step::StepRecord;

constexpr std::size_t kControlSlots = 64;  ///< more than the steps that can be under way
constexpr std::size_t kPaceEvents = 32;
constexpr double kSecondsAhead = 0.004;  ///< work enqueued beyond this only delays commands

// Dynamic loss scaling starts high, since too high a scale is found out at once and too low a one never; it
// grows slowly, since each growth too many costs a step. The values are those of P. Micikevicius et al. and
// of PyTorch's scaler.
constexpr float kFirstLossScale = 65536.0f;
constexpr std::uint32_t kGrowthInterval = 2000;
// What the host writes before steps, and what the device keeps for itself.
constexpr std::size_t kHostControlBytes = offsetof(StepControl, loss_scale);

}  // namespace

void StepAgain::bind(plan::Bindings& bindings) const {
  bindings.order = order.as<std::uint32_t>();
  bindings.control = control.as<StepControl>();
  bindings.ring = ring.as<StepRecord>();
}

StepLoop::StepLoop(std::shared_ptr<core::Device> device, core::Stream& stream, std::int64_t images,
                   const EngineSettings& settings, const Division& part)
    : device_(std::move(device)),
      stream_(stream),
      seed_(settings.seed),
      shuffle_(settings.shuffle),
      ring_(device_),
      order_(images, seed_, shuffle_),
      order_buffer_(device_, order_.order().size() * sizeof(std::uint32_t)),
      control_(device_, sizeof(StepControl)),
      learning_rate_(settings.optimizer.learning_rate),
      control_staging_(device_, kControlSlots * sizeof(StepControl)) {
  for (int i = 0; i < 2; ++i) {
    order_staging_[i] = core::HostBuffer(device_, order_buffer_.bytes());
    order_copied_[i] = device_->make_event(false);
  }
  for (std::size_t i = 0; i < kPaceEvents; ++i) pace_.push_back(device_->make_event(false));
  use(settings.optimizer, settings.augment, part);
}

void StepLoop::use(const OptimizerSettings& optimizer, const AugmentSettings& augment, const Division& part) {
  part_ = part;
  settings_ = StepControl{};
  fill_control(optimizer, settings_);
  fill_control(augment, settings_);
  settings_.seed = seed_;
  settings_.micro_batches = static_cast<std::uint32_t>(part.passes);
  settings_.first_micro_batch = static_cast<std::uint32_t>(part.first_pass);
  settings_.others = static_cast<std::uint32_t>(part.images_of_step - part.images);
  base_rate_ = optimizer.learning_rate;
  order_.set_batch(part.images_of_step);
  control_stale_ = true;
}

void StepLoop::set_learning_rate(float learning_rate) {
  if (!std::isfinite(learning_rate) || learning_rate < 0) {
    throw core::BadInput(fmt::format("learning rate {} is not a number from 0 up", learning_rate));
  }
  control_stale_ = control_stale_ || learning_rate != learning_rate_;
  learning_rate_ = learning_rate;
}

void StepLoop::begin_loss_scale(core::Precision precision) {
  const bool scaled = precision == core::Precision::fp16;
  StepControl control;
  control.loss_scale = scaled ? kFirstLossScale : 1.0f;
  control.growth_interval = scaled ? kGrowthInterval : 0;
  upload_device_control(kHostControlBytes, offsetof(StepControl, updates), control);
}

void StepLoop::clear_updates() {
  upload_device_control(offsetof(StepControl, updates), offsetof(StepControl, micro_batch), StepControl{});
}

void StepLoop::clear_halt() {
  upload_device_control(offsetof(StepControl, micro_batch), offsetof(StepControl, gradient_scale),
                        StepControl{});
}

void StepLoop::recall_updates(const core::Buffer& kept) {
  constexpr std::size_t kUpdates = offsetof(StepControl, updates);
  stream_.copy(control_.as<std::byte>() + kUpdates, kept.as<std::byte>() + kUpdates, sizeof(std::uint32_t));
}

void StepLoop::start_at(std::uint64_t steps) {
  steps_ = arrived_ = steps;
  ring_.reset(steps);
  pending_.clear();
  trained_rate_ = base_rate_;
  interrupted_ = control_stale_ = true;
  has_gradients_ = false;
}

void StepLoop::reset() {
  stream_.synchronize();
  order_.reset();
  start_at(0);
  repeatable_from_ = 0;
  upload_device_control(kHostControlBytes, sizeof(StepControl), StepControl{});
}

void StepLoop::save(EngineState& state) const {
  stream_.copy(&state.control, control_.data(), sizeof(StepControl));
  stream_.synchronize();
  state.steps = steps_;
  state.epochs_done = order_.epochs_done();
  state.position = order_.position();
}

void StepLoop::restore(const EngineState& state) {
  StepControl control = state.control;
  control.overflow = control.micro_batch = control.halted = 0;
  upload_device_control(offsetof(StepControl, loss_scale), offsetof(StepControl, gradient_scale), control);
  stream_.synchronize();
  order_.restore(state.epochs_done, state.position);
  order_.set_batch(part_.images_of_step);  // another batch cuts the rest of the epoch anew
  start_at(state.steps);
}

/// What the next step reads of the host's part.
StepControl StepLoop::host_control() const {
  StepControl control = settings_;
  control.step = steps_;
  control.position = order_.position() + static_cast<std::uint32_t>(part_.images_before);
  control.epoch_size = order_.epoch_size();
  control.learning_rate = learning_rate_;
  return control;
}

StepControl& StepLoop::next_staging() {
  auto* slot = control_staging_.as<StepControl>() + next_control_staging_;
  next_control_staging_ = (next_control_staging_ + 1) % kControlSlots;
  return *slot;
}

/// Bytes [begin, end) of the control block.
void StepLoop::upload_device_control(std::size_t begin, std::size_t end, const StepControl& values) {
  StepControl& slot = next_staging();
  slot = values;
  stream_.copy(control_.as<std::byte>() + begin, reinterpret_cast<const std::byte*>(&slot) + begin,
               end - begin);
}

void StepLoop::begin_epoch_if_due() {
  if (!order_.begin_step()) return;
  const int slot = std::exchange(next_order_staging_, 1 - next_order_staging_);
  order_copied_[slot]->synchronize();
  std::copy(order_.order().begin(), order_.order().end(), order_staging_[slot].as<std::uint32_t>());
  stream_.copy(order_buffer_.data(), order_staging_[slot].data(), order_buffer_.bytes());
  stream_.record(*order_copied_[slot]);
  control_stale_ = true;
}

void StepLoop::prepare() {
  begin_epoch_if_due();
  if (!control_stale_) return;
  upload_device_control(0, kHostControlBytes, host_control());
  control_stale_ = false;
}

ComingBatch StepLoop::coming_batch() {
  begin_epoch_if_due();
  const std::span<const std::uint32_t> order(order_.order());
  const StepControl control = host_control();
  return {part_.batch, order.subspan(control.position), control};
}

std::uint64_t StepLoop::awaited_step() const {
  const double ahead = step_seconds_ > 0 ? kSecondsAhead / step_seconds_ : 2.0;
  const auto limit = static_cast<std::uint64_t>(std::clamp(ahead, 2.0, static_cast<double>(kPaceEvents)));
  return steps_ >= limit ? steps_ - limit + 1 : 0;
}

void StepLoop::wait_for_room() {
  if (const std::uint64_t step = awaited_step(); step > 0) pace_[(step - 1) % kPaceEvents]->synchronize();
}

void StepLoop::step(plan::Plan& plan, bool timed, bool head) {
  wait_for_room();
  prepare();
  Pending pending;
  pending.epochs_done = order_.epochs_done();
  pending.position = order_.position();
  pending.head = head;
  pending.timed = timed && plan.launch_timed(stream_);
  if (pending.timed) timed_step_ = steps_ + 1;
  if (!pending.timed) plan.launch(stream_);
  order_.end_step();
  pending.epoch = order_.epoch();
  pending.batch = part_.images_of_step;
  pending.interrupted = std::exchange(interrupted_, false);
  enqueued_[steps_ % kRepeatable] = pending;
  trained_rate_ = base_rate_;
  pending_.push_back(pending);
  ++steps_;
  has_gradients_ = true;
  // Slow steps are told one by one, each before there is room for another, fast ones many at once.
  const bool slow = step_seconds_ > kSecondsAhead / 2;
  if (slow || ring_.unrequested(steps_) >= LossRing::kCapacity / 4) ring_.request(stream_, steps_);
  stream_.record(*pace_[(steps_ - 1) % kPaceEvents]);
}

std::vector<StepResult> StepLoop::collect(bool flush) {
  if (flush) ring_.request(stream_, steps_);
  std::vector<StepRecord> records;
  ring_.collect(records);
  std::vector<StepResult> results;
  for (const StepRecord& record : records) {
    const Pending pending = pending_.front();
    pending_.pop_front();
    StepResult result;
    result.step = ++arrived_;
    result.epoch = pending.epoch;
    result.loss = record.loss;
    result.learning_rate = record.learning_rate;
    result.batch = pending.batch;
    result.loss_scale = record.loss_scale;
    result.skipped = record.skipped != 0;
    result.timed = pending.timed;
    result.accuracy = record.accuracy;
    result.gradient_norm = record.gradient_norm;
    result.update_ratio = record.update_ratio;
    result.head = pending.head;
    result.head_loss = record.head_loss;
    if (!pending.interrupted && record.nanoseconds > last_nanoseconds_) {
      result.step_seconds = 1e-9 * static_cast<double>(record.nanoseconds - last_nanoseconds_);
      step_seconds_ = result.step_seconds;
    }
    last_nanoseconds_ = record.nanoseconds;
    results.push_back(result);
  }
  return results;
}

std::optional<StepAgain> StepLoop::again(std::uint64_t step) const {
  if (step >= steps_ || step < repeatable_from_ || step + kRepeatable < steps_) return {};
  const Pending& then = enqueued_[step % kRepeatable];
  DataOrder order(static_cast<std::int64_t>(order_.order().size()), seed_, shuffle_);
  order.set_batch(then.batch);
  order.restore(then.epochs_done, then.position);
  order.begin_step();
  StepAgain again{core::Buffer(device_, order_buffer_.bytes()), core::Buffer(device_, sizeof(StepControl)),
                  core::Buffer(device_, LossRing::kCapacity * sizeof(StepRecord))};
  stream_.copy(again.order.data(), order.order().data(), again.order.bytes());
  StepControl control;
  stream_.copy(&control, control_.data(), sizeof(control));
  stream_.synchronize();
  control.step = step;  // what is random in it is drawn again
  control.position = order.position() + static_cast<std::uint32_t>(part_.images_before);
  control.epoch_size = order.epoch_size();
  control.micro_batch = 0;
  stream_.copy(again.control.data(), &control, sizeof(control));
  stream_.synchronize();
  return again;
}

void StepLoop::bind(plan::Bindings& bindings) const {
  bindings.order = order_buffer_.as<std::uint32_t>();
  bindings.control = control_.as<StepControl>();
  bindings.ring = ring_.device_ring();
  bindings.ring_capacity = LossRing::kCapacity;
}

}  // namespace warpscope::training
