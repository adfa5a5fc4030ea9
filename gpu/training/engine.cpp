#include "gpu/training/engine.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/training/parameters.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;
using ops::step::StepRecord;

constexpr std::size_t kControlSlots = 64;  ///< more than the steps that can be under way
constexpr std::size_t kPaceEvents = 32;
constexpr double kSecondsAhead = 0.004;  ///< work enqueued beyond this only delays commands
constexpr int kLargestTestBatch = 256;

// Dynamic loss scaling starts high, since too high a scale is found out at once and too low a one never; it grows slowly,
// since each growth too many costs a step. The values are those of P. Micikevicius et al. and of PyTorch's scaler.
constexpr float kFirstLossScale = 65536.0f;
constexpr std::uint32_t kGrowthInterval = 2000;
// What the host writes before steps, and what the device keeps for itself.
constexpr std::size_t kHostControlBytes = offsetof(StepControl, loss_scale);
constexpr std::size_t kDeviceControlBytes = sizeof(StepControl) - kHostControlBytes;

void check_batch(int batch, std::int64_t images) {
  if (batch < 1 || batch > images) {
    throw core::BadInput(
        fmt::format("batch size {} is not between 1 and the {} training images", batch, images));
  }
}

}  // namespace

Engine::Engine(EngineOptions options, std::shared_ptr<const data::DataSet> data,
               std::shared_ptr<core::Device> device)
    : options_(std::move(options)),
      data_(std::move(data)),
      device_(std::move(device)),
      stream_(device_->make_stream()),
      layout_(models::parameter_layout(options_.model)),
      ring_(device_),
      order_(data_->train.count, options_.seed, options_.shuffle) {
  const data::ImageSet& train = data_->train;
  const models::Model& model = options_.model;
  models::check_model(model);
  if (train.height != model.height || train.width != model.width || train.channels != model.channels) {
    throw core::BadInput(fmt::format("{} has images of {}x{}x{}, model {} takes {}x{}x{}", data_->name,
                                     train.height, train.width, train.channels, model.name, model.height,
                                     model.width, model.channels));
  }
  check_batch(options_.batch, train.count);
  if (data_->test.count < 1) throw core::BadInput(fmt::format("{} has no test images", data_->name));
  options_.test_images = std::clamp<std::int64_t>(options_.test_images, 1, data_->test.count);
  options_.shown_images = static_cast<int>(std::min<std::int64_t>(options_.shown_images, data_->test.count));
  initial_ = options_.init_file.empty() ? models::initial_parameters(model, options_.seed)
                                        : load_parameters(options_.init_file, model);

  parameters_ = core::Buffer(device_, layout_.elements * sizeof(float));
  gradients_ = core::Buffer(device_, layout_.elements * sizeof(float));
  // Padding between tensors is updated with the rest, so it must hold zeros.
  stream_->fill(gradients_.data(), 0, gradients_.bytes());
  upload(train_images_, train.pixels.data(), train.pixels.size());
  upload(test_images_, data_->test.pixels.data(), data_->test.pixels.size());
  std::vector<std::uint32_t> stored(static_cast<std::size_t>(data_->test.count));
  std::iota(stored.begin(), stored.end(), 0u);
  upload(test_order_, stored.data(), stored.size() * sizeof(std::uint32_t));
  order_buffer_ = core::Buffer(device_, order_.order().size() * sizeof(std::uint32_t));
  control_ = core::Buffer(device_, sizeof(StepControl));
  test_control_ = core::Buffer(device_, sizeof(StepControl));
  for (int i = 0; i < 2; ++i) {
    order_staging_[i] = core::HostBuffer(device_, order_buffer_.bytes());
    order_copied_[i] = device_->make_event(false);
  }
  control_staging_ = core::HostBuffer(device_, kControlSlots * sizeof(StepControl));
  for (std::size_t i = 0; i < kPaceEvents; ++i) pace_.push_back(device_->make_event(false));
  test_errors_ = core::HostBuffer(
      device_, static_cast<std::size_t>(options_.test_images + kLargestTestBatch) * sizeof(float));
  test_controls_ =
      core::HostBuffer(device_, static_cast<std::size_t>(options_.test_images) * sizeof(StepControl));
  test_done_ = device_->make_event(false);
  if (options_.shown_images > 0) {
    exchange_ = std::make_shared<ImageExchange>(
        device_, ImageShape{options_.shown_images, train.height, train.width, train.channels});
    publish_start_ = device_->make_event(true);
    publish_end_ = device_->make_event(true);
    publish_done_ = device_->make_event(false);
  }
  install(build(options_.selection, options_.batch));
  order_.set_batch(options_.batch);
  reset();
}

Engine::~Engine() {
  try {
    stream_->synchronize();
  } catch (const core::Error&) {
    // The error was reported when it happened; destruction goes on.
  }
}

void Engine::upload(core::Buffer& buffer, const void* source, std::size_t bytes) {
  buffer = core::Buffer(device_, bytes);
  stream_->copy(buffer.data(), source, bytes);
  stream_->synchronize();
}

void Engine::reset() {
  stream_->synchronize();
  stream_->copy(parameters_.data(), initial_.data(), parameters_.bytes());
  stream_->synchronize();
  order_.reset();
  ring_.reset();
  pending_.clear();
  steps_ = arrived_ = 0;
  interrupted_ = control_stale_ = true;
  test_running_ = false;
  upload_loss_scale();
}

int Engine::test_batch(int batch) const {
  return static_cast<int>(std::min<std::int64_t>({batch, kLargestTestBatch, options_.test_images}));
}

plan::Bindings Engine::training_bindings() const {
  plan::Bindings training;
  training.images = train_images_.as<std::uint8_t>();
  training.image_count = data_->train.count;
  training.order = order_buffer_.as<std::uint32_t>();
  training.control = control_.as<StepControl>();
  training.ring = ring_.device_ring();
  training.ring_capacity = LossRing::kCapacity;
  training.parameters = parameters_.as<float>();
  training.gradients = gradients_.as<float>();
  return training;
}

Engine::Plans Engine::build(const plan::Selection& selection, int batch) {
  free_retired();  // or a third set of plans would have to fit beside the two
  const plan::Bindings training = training_bindings();
  plan::Bindings testing = training;
  testing.images = test_images_.as<std::uint8_t>();
  testing.image_count = data_->test.count;
  testing.order = test_order_.as<std::uint32_t>();
  testing.control = test_control_.as<StepControl>();

  Plans plans;
  const auto make = [&](plan::Purpose purpose, int size, const plan::Bindings& bindings) {
    return std::make_unique<plan::Plan>(options_.model, purpose, selection, size, device_, *stream_,
                                        bindings);
  };
  plans.training = make(plan::Purpose::training, batch, training);
  plans.testing = make(plan::Purpose::inference, test_batch(batch), testing);
  if (exchange_) plans.showing = make(plan::Purpose::inference, options_.shown_images, testing);
  return plans;
}

void Engine::free_retired() {
  while (!retired_.empty() && retired_.front().done->ready()) retired_.pop_front();
}

void Engine::install(Plans plans) {
  if (plans_.training) {
    retired_.push_back({std::move(plans_), device_->make_event(false)});
    stream_->record(*retired_.back().done);
  }
  plans_ = std::move(plans);
  timings_.adopt(*plans_.training, options_.selection.precision);
}

void Engine::set_selection(const plan::Selection& selection) {
  Plans plans = build(selection, options_.batch);
  const bool other_precision = selection.precision != options_.selection.precision;
  options_.selection = selection;
  install(std::move(plans));
  if (other_precision) upload_loss_scale();
  interrupted_ = true;
}

void Engine::set_batch(int batch) {
  check_batch(batch, data_->train.count);
  Plans plans = build(options_.selection, batch);
  options_.batch = batch;
  order_.set_batch(batch);
  install(std::move(plans));
  interrupted_ = control_stale_ = true;
  if (test_running_) test_enqueued_ = 0;  // errors are kept by batch: start the test again
}

void Engine::set_learning_rate(float learning_rate) {
  if (!std::isfinite(learning_rate) || learning_rate < 0) {
    throw core::BadInput(fmt::format("learning rate {} is not a number from 0 up", learning_rate));
  }
  options_.learning_rate = learning_rate;
  control_stale_ = true;
}

void Engine::upload_order() {
  const int slot = std::exchange(next_order_staging_, 1 - next_order_staging_);
  order_copied_[slot]->synchronize();
  std::copy(order_.order().begin(), order_.order().end(), order_staging_[slot].as<std::uint32_t>());
  stream_->copy(order_buffer_.data(), order_staging_[slot].data(), order_buffer_.bytes());
  stream_->record(*order_copied_[slot]);
}

void Engine::upload_control() {
  auto* slot = control_staging_.as<StepControl>() + next_control_staging_;
  next_control_staging_ = (next_control_staging_ + 1) % kControlSlots;
  *slot = {steps_, order_.position(), order_.epoch_size(), options_.learning_rate};
  stream_->copy(control_.data(), slot, kHostControlBytes);
  control_stale_ = false;
}

void Engine::upload_loss_scale() {
  auto* slot = control_staging_.as<StepControl>() + next_control_staging_;
  next_control_staging_ = (next_control_staging_ + 1) % kControlSlots;
  const bool scaled = options_.selection.precision == core::Precision::fp16;
  *slot = StepControl{};
  slot->loss_scale = scaled ? kFirstLossScale : 1.0f;
  slot->growth_interval = scaled ? kGrowthInterval : 0;
  stream_->copy(control_.as<std::byte>() + kHostControlBytes, &slot->loss_scale, kDeviceControlBytes);
}

void Engine::throttle() {
  const double ahead = step_seconds_ > 0 ? kSecondsAhead / step_seconds_ : 2.0;
  const auto limit = static_cast<std::uint64_t>(std::clamp(ahead, 2.0, static_cast<double>(kPaceEvents)));
  if (steps_ >= limit) pace_[(steps_ - limit) % kPaceEvents]->synchronize();
}

void Engine::step(bool timed) {
  throttle();
  if (order_.begin_step()) {
    upload_order();
    control_stale_ = true;
  }
  if (control_stale_) upload_control();
  const bool with_events = timed && plans_.training->launch_timed(*stream_);
  if (!with_events) plans_.training->launch(*stream_);
  stream_->record(*pace_[steps_ % kPaceEvents]);
  ++steps_;
  order_.end_step();
  pending_.push_back({order_.epoch(), options_.batch, std::exchange(interrupted_, false), with_events});
  if (ring_.unrequested(steps_) >= LossRing::kCapacity / 4) ring_.request(*stream_, steps_);
}

std::vector<StepResult> Engine::collect_steps(bool flush) {
  if (flush) ring_.request(*stream_, steps_);
  std::vector<StepRecord> records;
  ring_.collect(records);
  std::vector<StepResult> results;
  for (const StepRecord& record : records) {
    const Pending pending = pending_.front();
    pending_.pop_front();
    StepResult result{++arrived_, pending.epoch,     record.loss,         record.learning_rate, pending.batch,
                      0.0,        record.loss_scale, record.skipped != 0, pending.timed};
    if (!pending.interrupted && record.nanoseconds > last_nanoseconds_) {
      result.step_seconds = 1e-9 * static_cast<double>(record.nanoseconds - last_nanoseconds_);
      step_seconds_ = result.step_seconds;
    }
    last_nanoseconds_ = record.nanoseconds;
    results.push_back(result);
  }
  if (const auto times = plans_.training->take_timings()) timings_.add(*times);
  free_retired();
  return results;
}

void Engine::synchronize() {
  stream_->synchronize();
}

void Engine::start_test() {
  test_running_ = true;
  test_enqueued_ = 0;
  test_step_ = steps_;
  test_epoch_ = order_.epoch();
  interrupted_ = true;
}

bool Engine::enqueue_test_batch() {
  if (test_enqueued_ >= options_.test_images) return true;
  auto* const control = test_controls_.as<StepControl>() + test_enqueued_;
  *control = {0, static_cast<std::uint32_t>(test_enqueued_)};
  stream_->copy(test_control_.data(), control, sizeof(StepControl));
  plans_.testing->launch(*stream_);
  const int batch = plans_.testing->batch();
  stream_->copy(test_errors_.as<float>() + test_enqueued_, plans_.testing->image_errors(),
                static_cast<std::size_t>(batch) * sizeof(float));
  test_enqueued_ += batch;
  // One batch at a time lies ahead, so that commands wait for one batch at most.
  const bool last = test_enqueued_ >= options_.test_images;
  if (!last) test_done_->synchronize();
  stream_->record(*test_done_);
  return last;
}

std::optional<TestResult> Engine::collect_test() {
  if (!test_running_ || test_enqueued_ < options_.test_images || !test_done_->ready()) return std::nullopt;
  test_running_ = false;
  interrupted_ = true;
  TestResult result{test_step_, test_epoch_, 0.0, 0.0};
  const float* const errors = test_errors_.as<float>();
  for (std::int64_t i = 0; i < options_.test_images; ++i) {
    result.loss += static_cast<double>(errors[i]);
    result.psnr += -10.0 * std::log10(std::max(static_cast<double>(errors[i]), 1e-12));
  }
  result.loss /= static_cast<double>(options_.test_images);
  result.psnr /= static_cast<double>(options_.test_images);
  return result;
}

bool Engine::publish_images() {
  if (!exchange_ || (publish_pending_ && !publish_done_->ready())) return false;
  publish_seconds();
  ImageSlot& slot = exchange_->begin_write(*stream_);
  stream_->record(*publish_start_);
  // The images shown are the first of the test set.
  stream_->fill(test_control_.data(), 0, sizeof(StepControl));
  plans_.showing->launch(*stream_);
  stream_->copy(slot.original.data(), plans_.showing->target(), slot.original.bytes());
  stream_->copy(slot.reconstruction.data(), plans_.showing->prediction(), slot.reconstruction.bytes());
  stream_->copy(slot.errors.data(), plans_.showing->image_errors(), slot.errors.bytes());
  stream_->record(*publish_end_);
  stream_->record(*publish_done_);
  slot.step = steps_;
  exchange_->publish(*stream_);
  publish_pending_ = true;
  return true;
}

double Engine::publish_seconds() {
  if (publish_pending_ && publish_done_->ready()) {
    publish_seconds_ = 1e-6 * publish_end_->microseconds_since(*publish_start_);
    publish_pending_ = false;
  }
  return publish_seconds_;
}

std::vector<float> Engine::parameters() {
  std::vector<float> values(layout_.elements);
  stream_->copy(values.data(), parameters_.data(), parameters_.bytes());
  stream_->synchronize();
  return values;
}

std::vector<float> Engine::gradients() {
  std::vector<float> values(layout_.elements);
  stream_->copy(values.data(), gradients_.data(), gradients_.bytes());
  stream_->synchronize();
  return values;
}

std::size_t Engine::plan_bytes() const {
  return plans_.training->memory_bytes() + plans_.testing->memory_bytes() +
         (plans_.showing ? plans_.showing->memory_bytes() : 0);
}

}  // namespace warpscope::training
