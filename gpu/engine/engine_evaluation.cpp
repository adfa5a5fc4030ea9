// Engine: looking at held-out images, for figures and to be shown.

#include <algorithm>
#include <cstring>

#include "gpu/engine/engine.h"
#include "gpu/engine/recipe.h"

namespace warpscope::training {

using ops::step::StepControl;

/// Where the split begins among the held-out images.
std::int64_t Engine::first_of(Split split) const {
  return split == Split::validation ? 0 : data_->validation.count;
}

std::int64_t Engine::evaluated_images(Split split) const {
  const bool validation = split == Split::validation && data_->validation.count > 0;
  const std::int64_t all = validation ? data_->validation.count : data_->test.count;
  return std::clamp<std::int64_t>(options_.test_images, 1, all);
}

/// Images of the larger split's evaluation.
std::size_t Engine::most_evaluated() const {
  return static_cast<std::size_t>(
      std::max(evaluated_images(Split::validation), evaluated_images(Split::test)));
}

/// Images for which the host has room: those of an evaluation, and what lies behind them in its last batch.
std::size_t Engine::evaluation_room() const {
  return most_evaluated() + kLargestEvaluationBatch;
}

/// A GPU evaluates small batches no faster than large ones, and every batch costs up to four copies.
int Engine::evaluation_batch(int batch) const {
  if (device_->kind() == core::DeviceKind::cuda) batch = kLargestEvaluationBatch;
  return static_cast<int>(
      std::min<std::int64_t>({batch, kLargestEvaluationBatch, evaluated_images(Split::test)}));
}

void Engine::start_evaluation(Split split) {
  evaluation_split_ = data_->validation.count > 0 ? split : Split::test;
  evaluation_running_ = true;
  evaluation_enqueued_ = 0;
  evaluation_step_ = steps_;
  evaluation_epoch_ = order_.epoch();
  interrupted_ = true;
}

bool Engine::enqueue_evaluation_batch() {
  const std::int64_t count = evaluated_images(evaluation_split_);
  if (evaluation_enqueued_ >= count) return true;
  // One that begins anew in its middle writes to the same places, from which copies may be under way.
  if (evaluation_enqueued_ == 0) evaluation_done_->synchronize();
  views_.size() > 1 ? enqueue_views() : enqueue_plain_batch();
  evaluation_enqueued_ += plans_.testing->batch();
  // One batch at a time lies ahead, so that commands wait for one batch, with all its views, at most.
  const bool last = evaluation_enqueued_ >= count;
  if (!last) evaluation_done_->synchronize();
  stream_->record(*evaluation_done_);
  return last;
}

/// Runs the coming batch of an evaluation, with the control block of that slot.
void Engine::launch_testing(std::int64_t slot, const plan::View& view) {
  auto* const control = evaluation_controls_.as<StepControl>() + slot;
  *control = StepControl{};
  control->position = static_cast<std::uint32_t>(first_of(evaluation_split_) + evaluation_enqueued_);
  plan::show(view, *control);
  stream_->copy(evaluation_control_.data(), control, sizeof(StepControl));
  plans_.testing->launch(*stream_);
}

void Engine::enqueue_plain_batch() {
  launch_testing(evaluation_enqueued_, views_.front());
  const plan::Plan& plan = *plans_.testing;
  const auto batch = static_cast<std::size_t>(plan.batch());
  stream_->copy(evaluation_losses_.as<float>() + evaluation_enqueued_, plan.image_errors(),
                batch * sizeof(float));
  if (options_.model.head_classes > 0) {
    stream_->copy(evaluation_head_losses_.as<float>() + evaluation_enqueued_, plan.head_losses(),
                  batch * sizeof(float));
  }
  if (needs_labels()) {
    stream_->copy(evaluation_predicted_.as<std::uint8_t>() + evaluation_enqueued_, plan.predicted(), batch);
  }
}

std::shared_ptr<const Evaluation> Engine::collect_evaluation() {
  const std::int64_t count = evaluated_images(evaluation_split_);
  if (!evaluation_running_ || evaluation_enqueued_ < count || !evaluation_done_->ready()) return nullptr;
  evaluation_running_ = false;
  interrupted_ = true;
  auto result = std::make_shared<Evaluation>();
  result->split = evaluation_split_;
  result->step = evaluation_step_;
  result->epoch = evaluation_epoch_;
  const std::uint8_t* const labels =
      (evaluation_split_ == Split::validation ? data_->validation : data_->test).labels.data();
  if (views_.size() > 1) judge_views({labels, static_cast<std::size_t>(count)});
  const float* const losses = evaluation_losses_.as<float>();
  result->image_losses.assign(losses, losses + count);
  const auto* const predicted = evaluation_predicted_.as<std::uint8_t>();
  if (options_.model.loss == models::Loss::cross_entropy) {
    result->classes = options_.model.classes;
    result->predicted.assign(predicted, predicted + count);
  }
  summarize(*result, labels);
  if (options_.model.head_classes > 0) {
    const auto images = static_cast<std::size_t>(count);
    judge_head(*result, {evaluation_head_losses_.as<float>(), images}, {predicted, images}, {labels, images});
  }
  return result;
}

bool Engine::publish_images(bool keep) {
  if (!exchange_ || (publish_pending_ && !publish_done_->ready())) return false;
  publish_seconds();
  ImageSlot& slot = exchange_->begin_write(*stream_);
  stream_->record(*publish_start_);
  // The images shown are the first of the test set. A slot of its own: an evaluation may be under way.
  const auto slots = evaluation_controls_.bytes() / sizeof(StepControl);
  auto* const control = evaluation_controls_.as<StepControl>() + slots - 1;
  *control = StepControl{};
  control->position = static_cast<std::uint32_t>(first_of(Split::test));
  stream_->copy(evaluation_control_.data(), control, sizeof(StepControl));
  plan::Plan& plan = *plans_.showing;
  plan.launch(*stream_);
  stream_->copy(slot.original.data(), plan.target(), slot.original.bytes());
  stream_->copy(slot.reconstruction.data(), plan.prediction(), slot.reconstruction.bytes());
  stream_->copy(slot.errors.data(), plan.image_errors(), slot.errors.bytes());
  stream_->record(*publish_end_);
  if (keep) keep_images();
  stream_->record(*publish_done_);
  slot.step = steps_;
  exchange_->publish(*stream_);
  publish_pending_ = true;
  return true;
}

/// Part of publish_images(), after the pictures were made.
void Engine::keep_images() {
  const plan::Plan& plan = *plans_.showing;
  const std::size_t bytes = exchange_->shape().elements() * sizeof(float);
  if (kept_original_.bytes() == 0) {
    kept_original_ = core::HostBuffer(device_, bytes);
    kept_reconstruction_ = core::HostBuffer(device_, bytes);
    kept_errors_ =
        core::HostBuffer(device_, static_cast<std::size_t>(exchange_->shape().count) * sizeof(float));
  }
  stream_->copy(kept_original_.data(), plan.target(), bytes);
  stream_->copy(kept_reconstruction_.data(), plan.prediction(), bytes);
  stream_->copy(kept_errors_.data(), plan.image_errors(), kept_errors_.bytes());
  kept_step_ = steps_;
  kept_pending_ = true;
}

std::optional<ShownImages> Engine::take_kept_images() {
  if (!kept_pending_ || !publish_done_->ready()) return {};
  kept_pending_ = false;
  const auto copy = [](const core::HostBuffer& buffer) {
    const auto* const values = buffer.as<const float>();
    const std::size_t count = buffer.bytes() / sizeof(float);
    return std::vector<float>(values, values + count);
  };
  ShownImages images;
  images.shape = exchange_->shape();
  images.step = kept_step_;
  images.original = copy(kept_original_);
  images.reconstruction = copy(kept_reconstruction_);
  images.errors = copy(kept_errors_);
  return images;
}

ComingBatch Engine::coming_batch() {
  refresh_order();
  const std::span<const std::uint32_t> order(order_.order());
  return {plan_batch(options_.optimizer, options_.batch), order.subspan(order_.position()), host_control()};
}

Scene Engine::scene() {
  return {bare_model_,
          options_.selection,
          *data_,
          device_,
          *stream_,
          held_out_bindings(),
          first_of(Split::test),
          parameters_,
          gradients_,
          control_.as<StepControl>(),
          steps_,
          0,
          coming_batch()};
}

double Engine::publish_seconds() {
  if (publish_pending_ && publish_done_->ready()) {
    publish_seconds_ = 1e-6 * publish_end_->microseconds_since(*publish_start_);
    publish_pending_ = false;
  }
  return publish_seconds_;
}

}  // namespace warpscope::training
