#include "gpu/observers/latent_pass.h"

#include <algorithm>

#include "gpu/observers/host_copies.h"

namespace warpscope::training {
namespace {

constexpr int kBatchOnGpu = 256, kBatchOnCpu = 16;

std::size_t images_of(const Scene& scene, std::int64_t most) {
  return static_cast<std::size_t>(most == 0 ? mapped_images(scene) : std::min(scene.data.test.count, most));
}

std::size_t batch_of(const Scene& scene, std::size_t images) {
  const bool cpu = scene.device->kind() == core::DeviceKind::cpu;
  return std::min<std::size_t>(images, cpu ? kBatchOnCpu : kBatchOnGpu);
}

/// The last may reach beyond the images that count.
std::size_t passes(std::size_t images, std::size_t batch) {
  return (images + batch - 1) / batch;
}

}  // namespace

LatentPass::LatentPass(const Scene& scene, std::int64_t most)
    : latent_(models::latent_of(scene.model)),
      count_(images_of(scene, most)),
      plan_(scene, models::first_layers(scene.model, latent_.end), plan::Purpose::encoding,
            static_cast<int>(batch_of(scene, count_)), passes(count_, batch_of(scene, count_))),
      latents_(scene.device, passes(count_, plan_.batch()) * plan_.plan().output(latent_.end - 1).bytes()) {}

void LatentPass::enqueue(const Scene& scene, bool with_weights) {
  step_ = scene.step;
  generation_ = scene.generation;
  const plan::WrittenTensor output = plan_.plan().output(latent_.end - 1);
  const std::size_t bytes = output.bytes();
  for (std::size_t i = 0; i < passes(count_, plan_.batch()); ++i) {
    plan_.launch(scene.stream, i, i * plan_.batch());
    scene.stream.copy(latents_.as<std::byte>() + i * bytes, output.data, bytes);
  }
  with_weights_ = with_weights;
  if (!with_weights) return;
  if (weights_.bytes() == 0) weights_ = core::HostBuffer(scene.device, scene.parameters.bytes());
  scene.stream.copy(weights_.data(), scene.parameters.data(), weights_.bytes());
}

std::vector<float> LatentPass::values() const {
  const core::ElementType type = plan_.plan().output(latent_.end - 1).type;
  return widened({latents_.as<const std::byte>(), count_ * latent_.elements() * core::size_of(type)}, type);
}

std::shared_ptr<const std::vector<float>> LatentPass::weights() const {
  return with_weights_ ? std::make_shared<const std::vector<float>>(floats(weights_)) : nullptr;
}

}  // namespace warpscope::training
