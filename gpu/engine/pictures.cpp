#include "gpu/engine/pictures.h"

#include <utility>
#include <vector>

namespace warpscope::training {

using ops::step::StepControl;

Pictures::Pictures(int count, const DeviceData& data, const StepLoop& loop,
                   std::shared_ptr<core::Device> device, core::Stream& stream)
    : loop_(loop), device_(std::move(device)), stream_(stream) {
  if (count == 0) return;
  const data::ImageSet& test = data.set().test;
  exchange_ =
      std::make_shared<ImageExchange>(device_, ImageShape{count, test.height, test.width, test.channels});
  start_ = device_->make_event(true);
  end_ = device_->make_event(true);
  done_ = device_->make_event(false);
  control_ = core::Buffer(device_, sizeof(StepControl));
  StepControl control;
  control.position = static_cast<std::uint32_t>(data.first_of(Split::test));
  stream_.copy(control_.data(), &control, sizeof(control));
  stream_.synchronize();
}

std::unique_ptr<plan::Plan> Pictures::build(const models::Model& model, const plan::Selection& selection,
                                            const ops::Context& context, plan::Bindings bindings) const {
  if (!exchange_) return nullptr;
  bindings.control = control_.as<StepControl>();
  return std::make_unique<plan::Plan>(model, plan::Purpose::inference, selection, exchange_->shape().count,
                                      context, stream_, bindings);
}

std::unique_ptr<plan::Plan> Pictures::adopt(std::unique_ptr<plan::Plan> next) {
  return std::exchange(plan_, std::move(next));
}

bool Pictures::publish(bool keep) {
  if (!exchange_ || (pending_ && !done_->ready())) return false;
  seconds();
  ImageSlot& slot = exchange_->begin_write(stream_);
  stream_.record(*start_);
  plan_->launch(stream_);
  stream_.copy(slot.original.data(), plan_->target(), slot.original.bytes());
  stream_.copy(slot.reconstruction.data(), plan_->prediction(), slot.reconstruction.bytes());
  stream_.copy(slot.errors.data(), plan_->image_errors(), slot.errors.bytes());
  stream_.record(*end_);
  if (keep) copy_to_host();
  stream_.record(*done_);
  slot.step = loop_.steps();
  exchange_->publish(stream_);
  pending_ = true;
  return true;
}

void Pictures::copy_to_host() {
  const std::size_t bytes = exchange_->shape().elements() * sizeof(float);
  if (kept_original_.bytes() == 0) {
    kept_original_ = core::HostBuffer(device_, bytes);
    kept_reconstruction_ = core::HostBuffer(device_, bytes);
    kept_errors_ =
        core::HostBuffer(device_, static_cast<std::size_t>(exchange_->shape().count) * sizeof(float));
  }
  stream_.copy(kept_original_.data(), plan_->target(), bytes);
  stream_.copy(kept_reconstruction_.data(), plan_->prediction(), bytes);
  stream_.copy(kept_errors_.data(), plan_->image_errors(), kept_errors_.bytes());
  kept_step_ = loop_.steps();
  kept_pending_ = true;
}

std::optional<ShownImages> Pictures::take_kept() {
  if (!kept_pending_ || !done_->ready()) return {};
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

double Pictures::seconds() {
  if (pending_ && done_->ready()) {
    seconds_ = 1e-6 * end_->microseconds_since(*start_);
    pending_ = false;
  }
  return seconds_;
}

}  // namespace warpscope::training
