#pragma once
// The memory that plans of the tiny network are bound to, and what they leave in it.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/plan/plan.h"
#include "tests/support/tiny.h"

namespace warpscope::tests {

/// Every variant of the selection has this name: "reference", "loops"; "onednn" where there is one, else
/// "loops".
inline plan::Selection all_of(std::string_view name) {
  const core::DeviceInfo device = core::open_device("cpu")->info();
  plan::Selection selection;
  plan::apply(selection, "all=loops", device);
  plan::apply(selection, "all=" + std::string(name), device);
  return selection;
}

class PlanMemory {
 public:
  static constexpr std::int64_t kRing = 16;

  explicit PlanMemory(std::shared_ptr<core::Device> on = core::open_device("cpu"),
                      models::Model network = tiny_model())
      : device(std::move(on)),
        stream(device->make_stream()),
        model(std::move(network)),
        layout(models::parameter_layout(model)),
        images(smooth_images(12, 3)),
        order(12),
        ring(kRing),
        gradients(layout.elements) {
    for (std::size_t i = 0; i < images.labels.size(); ++i)
      images.labels[i] = static_cast<std::uint8_t>(static_cast<int>(i) % std::max(1, model.classes));
    // With zero biases a black patch would lie just where the ReLU has no derivative.
    initial = models::initial_parameters(model, 5);
    for (const models::Parameter& parameter : layout.parameters) {
      if (parameter.shape.size() != 1) continue;
      for (std::size_t i = 0; i < parameter.elements; ++i)
        initial[parameter.offset + i] = 0.02f * static_cast<float>(i + 1);
    }
    parameters = initial;
    std::iota(order.begin(), order.end(), 0u);
    control = {.epoch_size = 12, .learning_rate = 0.1f};
  }
  plan::Bindings bindings() {
    plan::Bindings bound{images.pixels.data(), images.count, order.data(),      &control,
                         ring.data(),          kRing,        parameters.data(), gradients.data()};
    bound.labels = images.labels.data();
    return bound;
  }
  plan::Plan make(plan::Purpose purpose, const plan::Selection& selection, int batch,
                  const plan::Recipe& recipe = {}) {
    return {model, purpose, selection, batch, device, *stream, bindings(), recipe};
  }
  /// What `elements` floats of an inference plan hold.
  static std::vector<float> floats(const void* from, std::size_t elements) {
    std::vector<float> values(elements);
    std::memcpy(values.data(), from, elements * sizeof(float));
    return values;
  }

  std::shared_ptr<core::Device> device;
  std::unique_ptr<core::Stream> stream;
  models::Model model;
  models::ParameterLayout layout;
  data::ImageSet images;
  std::vector<std::uint32_t> order;
  ops::step::StepControl control;
  std::vector<ops::step::StepRecord> ring;
  std::vector<float> initial;
  std::vector<float> parameters;
  std::vector<float> gradients;
};

}  // namespace warpscope::tests
