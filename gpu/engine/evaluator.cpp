#include "gpu/engine/evaluator.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
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

/// Whole batches, so that each is the same on whichever rank; rank 0 has as many as any other.
Evaluator::Part Evaluator::part_of(ranks::Place place) const {
  const std::int64_t count = images(split_);
  const std::int64_t batch = plan_.plan->batch();
  const std::int64_t batches = (count + batch - 1) / batch;
  const auto begin_of = [&](std::int64_t rank) {
    const std::int64_t first = rank * (batches / place.size) + std::min(rank, batches % place.size);
    return std::min(count, first * batch);
  };
  return {begin_of(place.rank), begin_of(place.rank + 1)};
}

Evaluator::Part Evaluator::part() const {
  return part_of(line_ ? line_->place() : ranks::Place{});
}

void Evaluator::join(std::shared_ptr<calls::Line> line) {
  line_ = std::move(line);
  if (running_) start(split_);
}

void Evaluator::start(Split split) {
  if (leads()) line_->give(calls::StartEvaluation{split});
  split_ = data_.present(split);
  running_ = true;
  enqueued_ = 0;
  step_ = loop_.steps();
  epoch_ = loop_.order().epoch();
  loop_.interrupt();
}

bool Evaluator::enqueue_batch() {
  const Part mine = part();
  if (enqueued_ >= mine.size()) return true;
  if (leads()) line_->give(calls::EvaluateBatch{});
  // One that begins anew in its middle writes to the same places, from which copies may be under way.
  if (enqueued_ == 0) done_->synchronize();
  const std::int64_t image = mine.begin + enqueued_;
  views_.size() > 1 ? enqueue_views(image) : enqueue_plain(image);
  enqueued_ += plan_.plan->batch();
  // One batch at a time lies ahead, so that commands wait for one batch, with all its views, at most.
  const bool last = enqueued_ >= mine.size();
  if (!last) done_->synchronize();
  stream_.record(*done_);
  return last;
}

/// Runs the batch from `image` on, with the control block of that slot.
void Evaluator::launch(std::int64_t slot, std::int64_t image, const plan::View& view) {
  auto* const control = controls_.as<StepControl>() + slot;
  *control = StepControl{};
  control->position = static_cast<std::uint32_t>(data_.first_of(split_) + image);
  plan::show(view, *control);
  stream_.copy(control_.data(), control, sizeof(StepControl));
  plan_.plan->launch(stream_);
}

void Evaluator::enqueue_plain(std::int64_t image) {
  launch(image, image, views_.front());
  const plan::Plan& plan = *plan_.plan;
  const auto batch = static_cast<std::size_t>(plan.batch());
  stream_.copy(losses_.as<float>() + image, plan.image_errors(), batch * sizeof(float));
  if (network_.model().head_classes > 0) {
    stream_.copy(head_losses_.as<float>() + image, plan.head_losses(), batch * sizeof(float));
  }
  if (needs_labels(network_.model())) {
    stream_.copy(predicted_.as<std::uint8_t>() + image, plan.predicted(), batch);
  }
}

/// A pass a view.
void Evaluator::enqueue_views(std::int64_t image) {
  const plan::WrittenTensor logits = logits_of(*plan_.plan, network_.model());
  const std::size_t bytes = bytes_of(logits);
  const std::size_t row = bytes / static_cast<std::size_t>(plan_.plan->batch());
  std::byte* to = plan_.logits.as<std::byte>() + static_cast<std::size_t>(enqueued_) * row;
  std::int64_t slot = static_cast<std::int64_t>(views_.size()) * image;
  for (const plan::View& view : views_) {
    launch(slot++, image, view);
    stream_.copy(to, logits.data, bytes);
    to += plan_.logits.bytes() / views_.size();
  }
}

std::shared_ptr<const Evaluation> Evaluator::collect() {
  if (!running_ || enqueued_ < part().size() || !done_->ready()) return nullptr;
  if (leads()) line_->give(calls::GatherEvaluation{});
  gather_all();
  const std::int64_t count = images(split_);
  auto result = std::make_shared<Evaluation>();
  result->split = split_;
  result->step = step_;
  result->epoch = epoch_;
  const models::Model& model = network_.model();
  const std::vector<std::uint8_t>& labels = data_.images(split_).labels;
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

void Evaluator::give_part() {
  done_->synchronize();
  gather_all();
}

/// Ends the running evaluation, of which this rank's part has arrived: what all have found lies here then.
void Evaluator::gather_all() {
  running_ = false;
  loop_.interrupt();
  if (views_.size() > 1) judge_views();
  if (!line_) return;
  gather(losses_.as<float>());
  if (network_.model().head_classes > 0) gather(head_losses_.as<float>());
  if (needs_labels(network_.model())) gather(predicted_.as<std::uint8_t>());
}

/// `values`, one an image, of which this rank has its part, become those of all.
template <class T>
void Evaluator::gather(T* values) const {
  const Part mine = part();
  const ranks::Place place = line_->place();
  const auto block = static_cast<std::size_t>(part_of({0, place.size}).size());
  std::vector<T> given(block);
  std::copy_n(values + mine.begin, mine.size(), given.begin());
  const std::vector<std::byte> all =
      line_->gather(std::as_bytes(std::span(given)), ranks::Joint::evaluation, loop_.steps());
  for (int rank = 0; rank < place.size; ++rank) {
    const Part part = part_of({rank, place.size});
    const std::byte* const from = all.data() + static_cast<std::size_t>(rank) * block * sizeof(T);
    std::memcpy(values + part.begin, from, static_cast<std::size_t>(part.size()) * sizeof(T));
  }
}

/// Makes losses and predicted classes of this rank's part of the logits that have arrived.
void Evaluator::judge_views() {
  const Part mine = part();
  const std::vector<std::uint8_t>& known = data_.images(split_).labels;
  const std::vector<std::uint8_t> labels(known.begin() + mine.begin, known.begin() + mine.end);
  const models::Model& model = network_.model();
  const core::ElementType type = logits_of(*plan_.plan, model).type;
  const std::size_t bytes = labels.size() * static_cast<std::size_t>(model.classes) * core::size_of(type);
  const std::span all(plan_.logits.as<const std::byte>(), plan_.logits.bytes());
  const auto judged =
      ops::cross_entropy::judge(plan::mean_of_views(all, views_.size(), bytes, type), model.classes, labels);
  std::copy(judged.predicted.begin(), judged.predicted.end(), predicted_.as<std::uint8_t>() + mine.begin);
  std::transform(judged.losses.begin(), judged.losses.end(), losses_.as<float>() + mine.begin,
                 [](double loss) { return static_cast<float>(loss); });
}

}  // namespace warpscope::training
