// Shows what the augmentation makes of the first images of the coming training step.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/observers/look.h"
#include "gpu/observers/observer_table.h"
#include "gpu/ops/augment/mixup.h"
#include "gpu/ops/launch.h"
#include "gpu/ops/variant.h"

namespace warpscope::training {
namespace {

constexpr std::int64_t kImages = 16;
constexpr auto kPause = std::chrono::milliseconds(500);  ///< that pictures stay, to be looked at

/// The images of a batch in the order in which it takes them, and what its step reads.
struct Batch {
  AugmentedImages result;  ///< without its images' pixels but with their size
  std::vector<std::uint8_t> bytes;
  ops::step::StepControl control;
  std::int64_t images = 0;  ///< in `bytes`: those shown and the one that the last is mixed with
};

std::vector<float> augmented(Batch& batch) {
  const data::ImageSet& shown = batch.result.images;
  const ops::Variants variants = ops::built_in_variants();
  ops::OpCall call;
  call.variant = ops::find_variant(*variants, ops::Op::batch_augment, core::DeviceKind::cpu, "loops");
  call.shape = {.batch = batch.images,
                .height = shown.height,
                .width = shown.width,
                .in_channels = shown.channels,
                .count = batch.images};
  std::vector<std::uint32_t> order(static_cast<std::size_t>(batch.images));
  std::iota(order.begin(), order.end(), 0u);
  std::vector<float> changed(batch.bytes.size());
  call.operands[ops::Name::images] = batch.bytes.data();
  call.operands[ops::Name::order] = order.data();
  call.operands[ops::Name::control] = &batch.control;
  call.operands[ops::Name::output] = changed.data();
  ops::launch(call);
  return changed;
}

AugmentedImages augmented_pictures(Batch batch) {
  const std::vector<float> changed = augmented(batch);
  data::ImageSet& shown = batch.result.images;
  shown.pixels.resize(static_cast<std::size_t>(shown.count * shown.image_bytes()));
  constexpr float kMost = 255;
  std::transform(changed.begin(), changed.begin() + static_cast<std::ptrdiff_t>(shown.pixels.size()),
                 shown.pixels.begin(),
                 [](float value) { return static_cast<std::uint8_t>(std::lround(kMost * value)); });
  batch.result.own_share = ops::augment::shares_of<float>(batch.control).own;
  return std::move(batch.result);
}

Batch augmented_batch(const Scene& scene) {
  const data::ImageSet& train = scene.data.train;
  const ComingBatch& coming = scene.coming;
  const auto size = static_cast<std::size_t>(train.image_bytes());
  Batch batch;
  batch.control = coming.control;
  batch.control.position = 0;
  batch.images = std::min(coming.images, kImages + 1);
  batch.bytes.resize(static_cast<std::size_t>(batch.images) * size);
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.images); ++i) {
    std::memcpy(batch.bytes.data() + i * size, train.pixels.data() + coming.order[i] * size, size);
  }
  batch.result.step = scene.step;
  batch.result.generation = scene.generation;
  data::ImageSet& shown = batch.result.images;
  shown.height = train.height;
  shown.width = train.width;
  shown.channels = train.channels;
  shown.count = std::min(coming.images, kImages);
  return batch;
}

/// Observations::augmented. A thread of its own runs batch.augment on the CPU, with the control block that the
/// coming step reads and the data set in host memory: what is drawn at random is the same there.
class AugmentedObserver final : public Observer {
 public:
  bool ask(const ObservationRequest& request) override {
    return std::exchange(asked_, request.augmented) != request.augmented;
  }
  bool wanted() const override { return asked_; }
  bool start(const Scene& scene) override {
    const auto now = std::chrono::steady_clock::now();
    if (look_.busy() || now < last_ + kPause) return false;
    last_ = now;
    look_.start(scene,
                [&] { make_ = [batch = augmented_batch(scene)] { return augmented_pictures(batch); }; });
    return true;
  }

  bool take(Observations& seen) override {
    std::optional<AugmentedImages> found = look_.take(make_);
    if (!found || !asked_) return false;
    seen.augmented = std::make_shared<const AugmentedImages>(*std::move(found));
    return true;
  }

  void end(Observations& seen) override {
    look_.forget();
    last_ = {};
    seen.augmented = nullptr;
  }
  double seconds() const override { return look_.seconds(); }

 private:
  bool asked_ = false;
  std::function<AugmentedImages()> make_;  ///< of the look under way
  Look<AugmentedImages> look_;
  std::chrono::steady_clock::time_point last_ = {};  ///< when the last look began
};

}  // namespace

std::unique_ptr<Observer> make_augmented_observer() {
  return std::make_unique<AugmentedObserver>();
}

}  // namespace warpscope::training
