// Engine: evaluations of several views of each image (gpu/plan/views.h).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/engine/engine.h"
#include "gpu/ops/cross_entropy/cross_entropy.h"
#include "gpu/plan/views.h"

namespace warpscope::training {
namespace {

std::size_t bytes_of(const plan::WrittenTensor& tensor) {
  return static_cast<std::size_t>(tensor.elements) * core::size_of(tensor.type);
}

}  // namespace

/// What the plan leaves: a row an image.
plan::WrittenTensor Engine::logits_of(const plan::Plan& testing) const {
  return testing.output(options_.model.layers.size() - 1);
}

/// Part of build(): the plan of evaluations and the host's memory for their logits.
void Engine::make_views(Plans& plans, const plan::Selection& selection, int batch,
                        const plan::Bindings& bindings) {
  plans.testing = std::make_unique<plan::Plan>(options_.model, plan::Purpose::encoding, selection,
                                               evaluation_batch(batch), device_, *stream_, bindings,
                                               plan::kViewsOnRequest);
  const std::size_t row =
      bytes_of(logits_of(*plans.testing)) / static_cast<std::size_t>(plans.testing->batch());
  plans.logits = core::HostBuffer(device_, views_.size() * evaluation_room() * row);
}

/// The part of enqueue_evaluation_batch() between its beginning and its end: a pass a view.
void Engine::enqueue_views() {
  const plan::WrittenTensor logits = logits_of(*plans_.testing);
  const std::size_t bytes = bytes_of(logits);
  const std::size_t row = bytes / static_cast<std::size_t>(plans_.testing->batch());
  std::byte* to = plans_.logits.as<std::byte>() + static_cast<std::size_t>(evaluation_enqueued_) * row;
  std::int64_t slot = static_cast<std::int64_t>(views_.size()) * evaluation_enqueued_;
  for (const plan::View& view : views_) {
    launch_testing(slot++, view);
    stream_->copy(to, logits.data, bytes);
    to += plans_.logits.bytes() / views_.size();
  }
}

/// Makes losses and predicted classes, one a label, of the logits that have arrived.
void Engine::judge_views(std::span<const std::uint8_t> labels) {
  const core::ElementType type = logits_of(*plans_.testing).type;
  const int classes = options_.model.classes;
  const std::size_t bytes = labels.size() * static_cast<std::size_t>(classes) * core::size_of(type);
  const std::span all(plans_.logits.as<const std::byte>(), plans_.logits.bytes());
  const auto judged = ops::cross_entropy::judge(plan::mean_of_views(all, views_.size(), bytes, type), classes,
                                                std::vector<std::uint8_t>(labels.begin(), labels.end()));
  std::copy(judged.predicted.begin(), judged.predicted.end(), evaluation_predicted_.as<std::uint8_t>());
  std::transform(judged.losses.begin(), judged.losses.end(), evaluation_losses_.as<float>(),
                 [](double loss) { return static_cast<float>(loss); });
}

}  // namespace warpscope::training
