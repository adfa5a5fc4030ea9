#include "gpu/engine/evaluator.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "gpu/engine/head.h"
#include "gpu/engine/recipe.h"
#include "gpu/ops/cross_entropy/cross_entropy.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;

constexpr int kLargestBatch = 256;

std::size_t bytes_of(const plan::WrittenTensor& tensor) {
  return static_cast<std::size_t>(tensor.elements) * core::size_of(tensor.type);
}

/// What a plan of views leaves: a row an image.
plan::WrittenTensor logits_of(const plan::Plan& plan, const models::Model& model) {
  return plan.output(model.layers.size() - 1);
}

}  // namespace

Evaluator::Evaluator(const EngineSettings& settings, const DeviceData& data, const NetworkState& network,
                     StepLoop& loop, std::shared_ptr<core::Device> device, core::Stream& stream)
    : data_(data),
      network_(network),
      loop_(loop),
      device_(std::move(device)),
      stream_(stream),
      wanted_images_(settings.test_images),
      views_(plan::views_of(view_settings(settings))),
      control_(device_, sizeof(StepControl)) {
  const auto images = static_cast<std::size_t>(room());
  losses_ = core::HostBuffer(device_, images * sizeof(float));
  predicted_ = core::HostBuffer(device_, images);
  head_losses_ = core::HostBuffer(device_, losses_.bytes());
  // One a pass, and a view of an image takes one pass at most.
  const std::size_t passes = static_cast<std::size_t>(most_images()) * views_.size();
  controls_ = core::HostBuffer(device_, passes * sizeof(StepControl));
  done_ = device_->make_event(false);
}

std::int64_t Evaluator::images(Split split) const {
  return std::clamp<std::int64_t>(wanted_images_, 1, data_.images(data_.present(split)).count);
}

/// Images of the larger split's evaluation.
std::int64_t Evaluator::most_images() const {
  return std::max(images(Split::validation), images(Split::test));
}

/// Images for which the host has room: those of an evaluation, and what lies behind them in its last batch.
std::int64_t Evaluator::room() const {
  return most_images() + kLargestBatch;
}

/// A GPU evaluates small batches no faster than large ones, and every batch costs up to four copies.
int Evaluator::batch_of_plan(int batch) const {
  if (device_->kind() == core::DeviceKind::cuda) batch = kLargestBatch;
  return static_cast<int>(std::min<std::int64_t>({batch, kLargestBatch, images(Split::test)}));
}

void Evaluator::bind(plan::Bindings& bindings) const {
  data_.bind_held_out(bindings);
  bindings.control = control_.as<StepControl>();
}

EvaluationPlan Evaluator::build(const models::Model& model, const plan::Selection& selection,
                                const ops::Context& context, int batch,
                                const plan::Bindings& held_out) const {
  const bool views = views_.size() > 1;
  EvaluationPlan built;
  built.plan = std::make_unique<plan::Plan>(model, views ? plan::Purpose::encoding : plan::Purpose::inference,
                                            selection, batch_of_plan(batch), context, stream_, held_out,
                                            views ? plan::kViewsOnRequest : plan::Recipe{});
  if (!views) return built;
  const std::size_t row =
      bytes_of(logits_of(*built.plan, model)) / static_cast<std::size_t>(built.plan->batch());
  built.logits = core::HostBuffer(device_, views_.size() * static_cast<std::size_t>(room()) * row);
  return built;
}

EvaluationPlan Evaluator::adopt(EvaluationPlan next) {
  if (views_.size() > 1) begin_anew();
  return std::exchange(plan_, std::move(next));
}

void Evaluator::start(Split split) {
  split_ = data_.present(split);
  running_ = true;
  enqueued_ = 0;
  step_ = loop_.steps();
  epoch_ = loop_.order().epoch();
  loop_.interrupt();
}

bool Evaluator::enqueue_batch() {
  const std::int64_t count = images(split_);
  if (enqueued_ >= count) return true;
  // One that begins anew in its middle writes to the same places, from which copies may be under way.
  if (enqueued_ == 0) done_->synchronize();
  views_.size() > 1 ? enqueue_views() : enqueue_plain();
  enqueued_ += plan_.plan->batch();
  // One batch at a time lies ahead, so that commands wait for one batch, with all its views, at most.
  const bool last = enqueued_ >= count;
  if (!last) done_->synchronize();
  stream_.record(*done_);
  return last;
}

/// Runs the coming batch, with the control block of that slot.
void Evaluator::launch(std::int64_t slot, const plan::View& view) {
  auto* const control = controls_.as<StepControl>() + slot;
  *control = StepControl{};
  control->position = static_cast<std::uint32_t>(data_.first_of(split_) + enqueued_);
  plan::show(view, *control);
  stream_.copy(control_.data(), control, sizeof(StepControl));
  plan_.plan->launch(stream_);
}

void Evaluator::enqueue_plain() {
  launch(enqueued_, views_.front());
  const plan::Plan& plan = *plan_.plan;
  const auto batch = static_cast<std::size_t>(plan.batch());
  stream_.copy(losses_.as<float>() + enqueued_, plan.image_errors(), batch * sizeof(float));
  if (network_.model().head_classes > 0) {
    stream_.copy(head_losses_.as<float>() + enqueued_, plan.head_losses(), batch * sizeof(float));
  }
  if (needs_labels(network_.model())) {
    stream_.copy(predicted_.as<std::uint8_t>() + enqueued_, plan.predicted(), batch);
  }
}

/// A pass a view.
void Evaluator::enqueue_views() {
  const plan::WrittenTensor logits = logits_of(*plan_.plan, network_.model());
  const std::size_t bytes = bytes_of(logits);
  const std::size_t row = bytes / static_cast<std::size_t>(plan_.plan->batch());
  std::byte* to = plan_.logits.as<std::byte>() + static_cast<std::size_t>(enqueued_) * row;
  std::int64_t slot = static_cast<std::int64_t>(views_.size()) * enqueued_;
  for (const plan::View& view : views_) {
    launch(slot++, view);
    stream_.copy(to, logits.data, bytes);
    to += plan_.logits.bytes() / views_.size();
  }
}

std::shared_ptr<const Evaluation> Evaluator::collect() {
  const std::int64_t count = images(split_);
  if (!running_ || enqueued_ < count || !done_->ready()) return nullptr;
  running_ = false;
  loop_.interrupt();
  auto result = std::make_shared<Evaluation>();
  result->split = split_;
  result->step = step_;
  result->epoch = epoch_;
  const models::Model& model = network_.model();
  const std::vector<std::uint8_t>& labels = data_.images(split_).labels;
  if (views_.size() > 1) judge_views({labels.begin(), labels.begin() + count});
  const float* const losses = losses_.as<float>();
  result->image_losses.assign(losses, losses + count);
  const auto* const predicted = predicted_.as<std::uint8_t>();
  if (model.loss == models::Loss::cross_entropy) {
    result->classes = model.classes;
    result->predicted.assign(predicted, predicted + count);
  }
  summarize(*result, labels.data());
  if (model.head_classes > 0) {
    const auto images = static_cast<std::size_t>(count);
    judge_head(*result, {head_losses_.as<float>(), images}, {predicted, images}, {labels.data(), images});
  }
  return result;
}

/// Makes losses and predicted classes, one a label, of the logits that have arrived.
void Evaluator::judge_views(const std::vector<std::uint8_t>& labels) {
  const models::Model& model = network_.model();
  const core::ElementType type = logits_of(*plan_.plan, model).type;
  const std::size_t bytes = labels.size() * static_cast<std::size_t>(model.classes) * core::size_of(type);
  const std::span all(plan_.logits.as<const std::byte>(), plan_.logits.bytes());
  const auto judged =
      ops::cross_entropy::judge(plan::mean_of_views(all, views_.size(), bytes, type), model.classes, labels);
  std::copy(judged.predicted.begin(), judged.predicted.end(), predicted_.as<std::uint8_t>());
  std::transform(judged.losses.begin(), judged.losses.end(), losses_.as<float>(),
                 [](double loss) { return static_cast<float>(loss); });
}

}  // namespace warpscope::training
