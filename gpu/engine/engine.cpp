#include "gpu/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/head.h"
#include "gpu/engine/recipe.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;
using ops::step::StepRecord;

constexpr std::size_t kControlSlots = 64;  ///< more than the steps that can be under way
constexpr std::size_t kPaceEvents = 32;
constexpr double kSecondsAhead = 0.004;  ///< work enqueued beyond this only delays commands

/// Of evaluations.
plan::ViewSettings view_settings(const EngineSettings& settings) {
  return {settings.test_mirrored, settings.test_shift};
}

// Dynamic loss scaling starts high, since too high a scale is found out at once and too low a one never; it
// grows slowly, since each growth too many costs a step. The values are those of P. Micikevicius et al. and
// of PyTorch's scaler.
constexpr float kFirstLossScale = 65536.0f;
constexpr std::uint32_t kGrowthInterval = 2000;
// What the host writes before steps, and what the device keeps for itself.
constexpr std::size_t kHostControlBytes = offsetof(StepControl, loss_scale);

void check_batch(std::int64_t batch, std::int64_t images) {
  if (batch < 1 || batch > images) {
    throw core::BadInput(
        fmt::format("batch size {} is not between 1 and the {} training images", batch, images));
  }
}

EngineOptions with_wanted_head(EngineOptions options, const data::DataSet& data) {
  if (options.optimizer.joint > 0) options.model.head_classes = head_classes_of(data);
  return options;
}

}  // namespace

Engine::Engine(EngineOptions options, std::shared_ptr<const data::DataSet> data,
               std::shared_ptr<core::Device> device)
    : options_(with_wanted_head(std::move(options), *data)),
      data_(std::move(data)),
      device_(std::move(device)),
      stream_(device_->make_stream()),
      bare_model_(models::with_head(options_.model, 0)),
      layout_(models::parameter_layout(options_.model)),
      views_(plan::views_of(view_settings(options_))),
      ring_(device_),
      order_(data_->train.count, options_.seed, options_.shuffle) {
  models::check_model(options_.model);
  check_images(options_.model);
  check(options_.optimizer);
  check(options_.augment);
  check_together(options_.augment, options_.optimizer);
  check_mixup(options_.augment, options_.batch);
  check_batch(static_cast<std::int64_t>(options_.batch) * options_.optimizer.accumulate, data_->train.count);
  learning_rate_ = trained_rate_ = options_.optimizer.learning_rate;
  options_.shown_images =
      options_.model.loss == models::Loss::mse
          ? static_cast<int>(std::min<std::int64_t>(options_.shown_images, data_->test.count))
          : 0;
  check_memory(options_.model);
  initial_ = first_parameters();
  parameters_ = core::Buffer(device_, room(options_.model) * sizeof(float));
  gradients_ = core::Buffer(device_, parameters_.bytes());
  make_states(options_.optimizer.rule);
  upload_data();
  make_staging();
  install(build(options_.selection, options_.batch));
  order_.set_batch(images_of_step());
  reset();
}

/// Throws core::BadInput if images are to be mixed where a batch has only one.
void Engine::check_mixup(const AugmentSettings& augment, int batch) {
  if (augment.mixup == 0 || batch > 1) return;
  throw core::BadInput(
      "mixup mixes each image with the next of the batch, which has only one: take a larger batch, or leave "
      "mixup off");
}

/// Throws core::BadInput if the model reads texts and anything is to be augmented, or if images are smaller than what
/// is
/// cut out of them or than they are shifted.
void Engine::check_augmented(const models::Model& model, const AugmentSettings& augment) {
  if (augment.crop > 0 && augment.crop >= std::max(model.height, model.width)) {
    throw core::BadInput(fmt::format("crop {} shifts images by as much as they are long, which are {}x{}",
                                     augment.crop, model.height, model.width));
  }
  if (augment.cutout > std::max(model.height, model.width)) {
    throw core::BadInput(fmt::format("cutout {} is larger than the images, which are {}x{}", augment.cutout,
                                     model.height, model.width));
  }
  if (!model.reads_text() || !augments(augment)) return;
  throw core::BadInput(
      fmt::format("model {} takes texts, and augmentation changes pictures alone", model.name));
}

/// Throws core::BadInput unless the data suit the model.
void Engine::check_images(const models::Model& model) const {
  const data::ImageSet& train = data_->train;
  if (train.height != model.height || train.width != model.width || train.channels != model.channels) {
    throw core::BadInput(fmt::format("{} has images of {}x{}x{}, model {} takes {}x{}x{}", data_->name,
                                     train.height, train.width, train.channels, model.name, model.height,
                                     model.width, model.channels));
  }
  if (data_->test.count < 1) throw core::BadInput(fmt::format("{} has no test images", data_->name));
  check_augmented(model, options_.augment);
  plan::check_views(model, view_settings(options_));
  if (!needs_labels(model)) return;
  const int classes = std::max(model.classes, model.head_classes);
  for (const data::ImageSet* set : {&train, &data_->validation, &data_->test}) {
    if (std::cmp_not_equal(set->labels.size(), set->count)) {
      throw core::BadInput(fmt::format("{} has no labels, which model {} needs", data_->name, model.name));
    }
    const auto wrong = std::find_if(set->labels.begin(), set->labels.end(),
                                    [&](std::uint8_t label) { return label >= classes; });
    if (wrong != set->labels.end()) {
      throw core::BadInput(fmt::format("{} has images of class {}, model {} knows {} classes", data_->name,
                                       *wrong, model.name, classes));
    }
  }
}

void Engine::upload_data() {
  upload(train_images_, data_->train.pixels.data(), data_->train.pixels.size());
  upload_both(held_out_images_, data_->validation.pixels, data_->test.pixels);
  if (needs_labels()) upload_labels();
  std::vector<std::uint32_t> stored(static_cast<std::size_t>(data_->validation.count + data_->test.count));
  std::iota(stored.begin(), stored.end(), 0u);
  upload(held_out_order_, stored.data(), stored.size() * sizeof(std::uint32_t));
}

void Engine::upload_labels() {
  upload(train_labels_, data_->train.labels.data(), data_->train.labels.size());
  upload_both(held_out_labels_, data_->validation.labels, data_->test.labels);
}

void Engine::make_staging() {
  order_buffer_ = core::Buffer(device_, order_.order().size() * sizeof(std::uint32_t));
  control_ = core::Buffer(device_, sizeof(StepControl));
  evaluation_control_ = core::Buffer(device_, sizeof(StepControl));
  for (int i = 0; i < 2; ++i) {
    order_staging_[i] = core::HostBuffer(device_, order_buffer_.bytes());
    order_copied_[i] = device_->make_event(false);
  }
  control_staging_ = core::HostBuffer(device_, kControlSlots * sizeof(StepControl));
  for (std::size_t i = 0; i < kPaceEvents; ++i) pace_.push_back(device_->make_event(false));
  const std::size_t room = evaluation_room();
  evaluation_losses_ = core::HostBuffer(device_, room * sizeof(float));
  evaluation_predicted_ = core::HostBuffer(device_, room);
  evaluation_head_losses_ = core::HostBuffer(device_, evaluation_losses_.bytes());
  // One a pass, of which a view of an image takes one at the most, and one of the pictures.
  const std::size_t passes = most_evaluated() * views_.size();
  evaluation_controls_ = core::HostBuffer(device_, (passes + 1) * sizeof(StepControl));
  evaluation_done_ = device_->make_event(false);
  if (options_.shown_images == 0) return;
  const data::ImageSet& train = data_->train;
  exchange_ = std::make_shared<ImageExchange>(
      device_, ImageShape{options_.shown_images, train.height, train.width, train.channels});
  publish_start_ = device_->make_event(true);
  publish_end_ = device_->make_event(true);
  publish_done_ = device_->make_event(false);
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

/// One behind the other.
void Engine::upload_both(core::Buffer& buffer, std::span<const std::uint8_t> first,
                         std::span<const std::uint8_t> second) {
  buffer = core::Buffer(device_, first.size() + second.size());
  if (!first.empty()) stream_->copy(buffer.data(), first.data(), first.size());
  if (!second.empty()) stream_->copy(buffer.as<std::byte>() + first.size(), second.data(), second.size());
  stream_->synchronize();
}

void Engine::reset() {
  stream_->synchronize();
  stream_->copy(parameters_.data(), initial_.data(), layout_.elements * sizeof(float));
  // No step has made any; and padding between tensors is updated with the rest, so it must hold zeros.
  stream_->fill(gradients_.data(), 0, gradients_.bytes());
  stream_->synchronize();
  make_states(options_.optimizer.rule);
  order_.reset();
  ring_.reset();
  pending_.clear();
  steps_ = arrived_ = network_since_ = 0;
  trained_rate_ = options_.optimizer.learning_rate;
  interrupted_ = control_stale_ = true;
  evaluation_running_ = false;
  forget();
  upload_device_control(kHostControlBytes, sizeof(StepControl), StepControl{});
  upload_loss_scale();
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
  training.first_state = states_[0].as<float>();
  training.second_state = states_[1].as<float>();
  training.labels = train_labels_.as<std::uint8_t>();
  return training;
}

std::unique_ptr<plan::Plan> Engine::build_training(const plan::Selection& selection, int batch,
                                                   const OptimizerSettings& optimizer,
                                                   const plan::Bindings& bindings) {
  return std::make_unique<plan::Plan>(options_.model, plan::Purpose::training, selection,
                                      plan_batch(optimizer, batch), device_, *stream_, bindings,
                                      recipe_of(optimizer, options_.augment, batch));
}

/// Of plans that look at held-out images.
plan::Bindings Engine::held_out_bindings() const {
  plan::Bindings held_out = training_bindings();
  held_out.images = held_out_images_.as<std::uint8_t>();
  held_out.labels = held_out_labels_.as<std::uint8_t>();
  held_out.image_count = data_->validation.count + data_->test.count;
  held_out.order = held_out_order_.as<std::uint32_t>();
  held_out.control = evaluation_control_.as<StepControl>();
  return held_out;
}

Engine::Plans Engine::build(const plan::Selection& selection, int batch) {
  free_retired();  // or a third set of plans would have to fit beside the two
  const plan::Bindings held_out = held_out_bindings();
  Plans plans;
  const auto make = [&](const models::Model& model, int size) {
    return std::make_unique<plan::Plan>(model, plan::Purpose::inference, selection, size, device_, *stream_,
                                        held_out);
  };
  plans.training = build_training(selection, batch, options_.optimizer, training_bindings());
  if (views_.size() > 1) {
    make_views(plans, selection, batch, held_out);
  } else {
    plans.testing = make(options_.model, evaluation_batch(batch));
  }
  if (exchange_) plans.showing = make(bare_model_, options_.shown_images);
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
  if (views_.size() > 1) evaluation_enqueued_ = 0;  // logits are the plans': it starts again
  interrupted_ = true;
}

void Engine::set_batch(int batch) {
  check_batch(static_cast<std::int64_t>(batch) * options_.optimizer.accumulate, data_->train.count);
  check_mixup(options_.augment, batch);
  Plans plans = build(options_.selection, batch);
  options_.batch = batch;
  order_.set_batch(images_of_step());
  install(std::move(plans));
  interrupted_ = control_stale_ = true;
  evaluation_enqueued_ = 0;  // losses are kept by batch: a running evaluation starts again
}

void Engine::set_learning_rate(float learning_rate) {
  if (!std::isfinite(learning_rate) || learning_rate < 0) {
    throw core::BadInput(fmt::format("learning rate {} is not a number from 0 up", learning_rate));
  }
  control_stale_ = control_stale_ || learning_rate != learning_rate_;
  learning_rate_ = learning_rate;
}

void Engine::upload_order() {
  const int slot = std::exchange(next_order_staging_, 1 - next_order_staging_);
  order_copied_[slot]->synchronize();
  std::copy(order_.order().begin(), order_.order().end(), order_staging_[slot].as<std::uint32_t>());
  stream_->copy(order_buffer_.data(), order_staging_[slot].data(), order_buffer_.bytes());
  stream_->record(*order_copied_[slot]);
}

/// What the next step reads of the host's part.
StepControl Engine::host_control() const {
  StepControl control;
  fill_control(options_.optimizer, control);
  fill_control(options_.augment, control);
  control.step = steps_;
  control.seed = options_.seed;
  control.position = order_.position();
  control.epoch_size = order_.epoch_size();
  control.learning_rate = learning_rate_;
  control.micro_batches = static_cast<std::uint32_t>(plans_.training->recipe().micro_batches);
  return control;
}

void Engine::upload_control() {
  auto* slot = control_staging_.as<StepControl>() + next_control_staging_;
  next_control_staging_ = (next_control_staging_ + 1) % kControlSlots;
  *slot = host_control();
  stream_->copy(control_.data(), slot, kHostControlBytes);
  control_stale_ = false;
}

/// Bytes [begin, end) of the control block.
void Engine::upload_device_control(std::size_t begin, std::size_t end, const StepControl& values) {
  auto* slot = control_staging_.as<StepControl>() + next_control_staging_;
  next_control_staging_ = (next_control_staging_ + 1) % kControlSlots;
  *slot = values;
  stream_->copy(control_.as<std::byte>() + begin, reinterpret_cast<const std::byte*>(slot) + begin,
                end - begin);
}

void Engine::upload_loss_scale() {
  const bool scaled = options_.selection.precision == core::Precision::fp16;
  StepControl control;
  control.loss_scale = scaled ? kFirstLossScale : 1.0f;
  control.growth_interval = scaled ? kGrowthInterval : 0;
  upload_device_control(kHostControlBytes, offsetof(StepControl, updates), control);
}

/// A new epoch's order goes to the device, if one begins.
void Engine::refresh_order() {
  if (!order_.begin_step()) return;
  upload_order();
  control_stale_ = true;
}

void Engine::wait_for_room() {
  const double ahead = step_seconds_ > 0 ? kSecondsAhead / step_seconds_ : 2.0;
  const auto limit = static_cast<std::uint64_t>(std::clamp(ahead, 2.0, static_cast<double>(kPaceEvents)));
  if (steps_ >= limit) pace_[(steps_ - limit) % kPaceEvents]->synchronize();
}

void Engine::step(bool timed) {
  wait_for_room();
  refresh_order();
  if (control_stale_) upload_control();
  Pending pending;
  pending.epochs_done = order_.epochs_done();
  pending.position = order_.position();
  pending.head = options_.model.head_classes > 0;
  pending.timed = timed && plans_.training->launch_timed(*stream_);
  if (!pending.timed) plans_.training->launch(*stream_);
  order_.end_step();
  pending.epoch = order_.epoch();
  pending.batch = images_of_step();
  pending.interrupted = std::exchange(interrupted_, false);
  last_enqueued_[steps_ % kTracedSteps] = pending;
  trained_rate_ = options_.optimizer.learning_rate;
  pending_.push_back(pending);
  ++steps_;
  // Slow steps are told one by one, each before there is room for another, fast ones many at once.
  const bool slow = step_seconds_ > kSecondsAhead / 2;
  if (slow || ring_.unrequested(steps_) >= LossRing::kCapacity / 4) ring_.request(*stream_, steps_);
  stream_->record(*pace_[(steps_ - 1) % kPaceEvents]);
}

std::vector<StepResult> Engine::collect_steps(bool flush) {
  if (flush) ring_.request(*stream_, steps_);
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
  if (const auto times = plans_.training->take_timings()) timings_.add(*times);
  free_retired();
  return results;
}

void Engine::synchronize() {
  stream_->synchronize();
}

std::size_t Engine::plan_bytes() const {
  return plans_.training->memory_bytes();
}

}  // namespace warpscope::training
