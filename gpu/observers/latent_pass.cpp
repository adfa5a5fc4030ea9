#include "gpu/observers/latent_pass.h"

#include <algorithm>

#include "gpu/core/error.h"
#include "gpu/observers/held_out_batches.h"
#include "gpu/observers/host_copies.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;

constexpr int kBatchOnGpu = 256, kBatchOnCpu = 16;

/// Batches of which the last may reach beyond the images that count.
std::size_t batches(std::size_t images, int batch) {
  const auto each = static_cast<std::size_t>(batch);
  return (images + each - 1) / each;
}

}  // namespace

LatentPass::LatentPass(const Scene& scene, std::int64_t most)
    : selection_(scene.selection),
      latent_(models::latent_of(scene.model)),
      stream_(scene.stream),
      control_(scene.device, sizeof(StepControl)) {
  const bool cpu = scene.device->kind() == core::DeviceKind::cpu;
  const std::int64_t count = most == 0 ? mapped_images(scene) : std::min(scene.data.test.count, most);
  const int batch = static_cast<int>(std::min<std::int64_t>(count, cpu ? kBatchOnCpu : kBatchOnGpu));
  plan::Bindings held_out = scene.held_out;
  held_out.control = control_.as<StepControl>();
  plan_ =
      std::make_unique<plan::Plan>(models::first_layers(scene.model, latent_.end), plan::Purpose::encoding,
                                   selection_, batch, scene.device, stream_, held_out);
  count_ = static_cast<std::size_t>(count);
  const plan::WrittenTensor output = plan_->output(latent_.end - 1);
  const std::size_t passes = batches(count_, batch);
  latents_ = core::HostBuffer(
      scene.device, passes * static_cast<std::size_t>(output.elements) * core::size_of(output.type));
  weights_ = core::HostBuffer(scene.device, scene.parameters.bytes());
  controls_ = core::HostBuffer(scene.device, passes * sizeof(StepControl));
  begun_ = scene.device->make_event(true);
  done_ = scene.device->make_event(true);
}

LatentPass::~LatentPass() {
  try {
    done_->synchronize();
  } catch (const core::Error&) {
    // The error was reported when it happened; destruction goes on.
  }
}

void LatentPass::start(const Scene& scene) {
  step_ = scene.step;
  generation_ = scene.generation;
  const plan::WrittenTensor output = plan_->output(latent_.end - 1);
  const std::size_t bytes = static_cast<std::size_t>(output.elements) * core::size_of(output.type);
  const auto batch = static_cast<std::size_t>(plan_->batch());
  stream_.record(*begun_);
  for (std::size_t i = 0; i < batches(count_, plan_->batch()); ++i) {
    StepControl* const control = controls_.as<StepControl>() + i;
    *control = StepControl{};
    control->position = static_cast<std::uint32_t>(static_cast<std::size_t>(scene.first_test) + i * batch);
    stream_.copy(control_.data(), control, sizeof(StepControl));
    plan_->launch(stream_);
    stream_.copy(latents_.as<std::byte>() + i * bytes, output.data, bytes);
  }
  stream_.copy(weights_.data(), scene.parameters.data(), weights_.bytes());
  stream_.record(*done_);
}

std::vector<float> LatentPass::values() const {
  const std::size_t elements = count_ * latent_.elements();
  const core::ElementType type = plan_->output(latent_.end - 1).type;
  return widened({latents_.as<const std::byte>(), elements * core::size_of(type)}, type);
}

std::vector<float> LatentPass::weights() const {
  return floats(weights_);
}

}  // namespace warpscope::training
