#include "gpu/observers/held_out_batches.h"

#include <algorithm>

namespace warpscope::training {
namespace {

constexpr std::int64_t kImagesOnGpu = 1024, kImagesOnCpu = 96;
constexpr std::int64_t kActivationsCpu = std::int64_t{1} << 22;
constexpr std::int64_t kActivationsGpu = std::int64_t{1} << 25;
constexpr std::int64_t kLeastImages = 4, kMostImages = 64;

bool on_gpu(const Scene& scene) {
  return scene.device->kind() == core::DeviceKind::cuda;
}

/// All layers' outputs for one image, and the image.
std::int64_t activations_of_image(const models::Model& model) {
  models::Extent extent{model.height, model.width, model.channels};
  const auto elements = [&] { return std::int64_t{extent.height} * extent.width * extent.channels; };
  std::int64_t sum = elements();
  for (const models::Layer& layer : model.layers) {
    extent.pass(layer);
    sum += elements();
  }
  return sum;
}

}  // namespace

std::int64_t mapped_images(const Scene& scene) {
  return std::min(scene.data.test.count, on_gpu(scene) ? kImagesOnGpu : kImagesOnCpu);
}

int inspected_at_once(const Scene& scene) {
  const std::int64_t fit =
      (on_gpu(scene) ? kActivationsGpu : kActivationsCpu) / activations_of_image(scene.model);
  return static_cast<int>(std::min(std::clamp(fit, kLeastImages, kMostImages), scene.data.test.count));
}

HeldOutPlan::HeldOutPlan(const Scene& scene, const models::Model& model, plan::Purpose purpose, int batch,
                         std::size_t passes)
    : selection_(scene.selection),
      first_test_(static_cast<std::size_t>(scene.first_test)),
      control_(scene.device, sizeof(ops::step::StepControl)),
      controls_(scene.device, passes * sizeof(ops::step::StepControl)) {
  plan::Bindings held_out = scene.held_out;
  held_out.control = control_.as<ops::step::StepControl>();
  plan_ = std::make_unique<plan::Plan>(model, purpose, selection_, batch,
                                       ops::Context{scene.device, scene.variants}, scene.stream, held_out);
}

void HeldOutPlan::launch(core::Stream& stream, std::size_t pass, std::size_t image) {
  auto* const control = controls_.as<ops::step::StepControl>() + pass;
  *control = {};
  control->position = static_cast<std::uint32_t>(first_test_ + image);
  stream.copy(control_.data(), control, control_.bytes());
  plan_->launch(stream);
}

}  // namespace warpscope::training
