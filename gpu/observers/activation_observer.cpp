// Shows how strongly the channels of a layer answer to test images.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/messages/channel_activations.h"
#include "gpu/observers/held_out_batches.h"
#include "gpu/observers/look.h"
#include "gpu/observers/observer_table.h"
#include "gpu/statistics/channel_peaks.h"

namespace warpscope::training {
namespace {

std::size_t images_at_once(const Scene& scene) {
  return static_cast<std::size_t>(std::min<std::int64_t>(inspected_at_once(scene), mapped_images(scene)));
}

/// Runs the first test images through a plan that keeps every layer's output and brings to the host how strongly the
/// channels of one layer answer to each of them.
class ActivationPass {
 public:
  /// Over mapped_images(), inspected_at_once() of them at a time.
  explicit ActivationPass(const Scene& scene)
      : images_(static_cast<std::size_t>(mapped_images(scene))),
        passes_((images_ + images_at_once(scene) - 1) / images_at_once(scene)),
        plan_(scene, scene.model, plan::Purpose::inspection, static_cast<int>(images_at_once(scene)),
              passes_) {
    add_outputs(scene.model);
    std::int64_t most = 1;
    for (const Output& output : outputs_) most = std::max(most, output.channels);
    const std::size_t bytes = 2 * plan_.batch() * static_cast<std::size_t>(most) * sizeof(float);
    peaks_ = core::Buffer(scene.device, bytes);
    peaks_arrived_ = core::HostBuffer(scene.device, passes_ * bytes);
  }

  bool fits(const Scene& scene) const { return plan_.selection() == scene.selection; }
  /// Looks at ChannelActivations::output `output`. Throws core::BadInput if the model has no such output.
  void enqueue(const Scene& scene, std::size_t output) {
    if (output >= outputs_.size()) {
      throw core::BadInput(
          fmt::format("there is no output {} of a layer; there are {}, from 0, which is the input", output,
                      outputs_.size()));
    }
    what_ = ChannelActivations{};
    what_.step = scene.step;
    what_.generation = scene.generation;
    what_.output = output;
    what_.images = images_;
    what_.channels = static_cast<std::size_t>(outputs_[output].channels);
    capture_search(scene, output);
    const std::size_t floats = 2 * plan_.batch() * what_.channels;
    for (std::size_t pass = 0; pass < passes_; ++pass) {
      plan_.launch(scene.stream, pass, first_image(pass));
      scene.stream.launch(*search_);
      scene.stream.copy(peaks_arrived_.as<float>() + pass * floats, peaks_.data(), floats * sizeof(float));
    }
  }

  ChannelActivations made() const {
    ChannelActivations result = what_;
    result.means.resize(result.images * result.channels);
    result.maxima.resize(result.images * result.channels);
    const std::size_t values = plan_.batch() * result.channels;
    for (std::size_t pass = 0; pass < passes_; ++pass) {
      const float* const from = peaks_arrived_.as<const float>() + pass * 2 * values;
      const std::size_t place = first_image(pass) * result.channels;
      std::copy_n(from, values, result.means.data() + place);
      std::copy_n(from + values, values, result.maxima.data() + place);
    }
    return result;
  }

  static constexpr double kShare = 1.0 / 200;
  static std::optional<std::size_t> asked(const ObservationRequest& request) {
    return request.activations_of;
  }
  static bool shows(std::size_t before, std::size_t now) { return before == now; }

 private:
  /// Where one layer's output lies.
  struct Output {
    plan::WrittenTensor tensor;
    std::int64_t places = 0;
    std::int64_t channels = 0;
  };
  void add_outputs(const models::Model& model) {
    models::Extent extent{model.height, model.width, model.channels};
    const auto add = [&](const plan::WrittenTensor& tensor) {
      outputs_.push_back({tensor, std::int64_t{extent.height} * extent.width, extent.channels});
    };
    add(plan_.plan().input());
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      extent.pass(model.layers[i]);
      add(plan_.plan().output(i));
    }
  }

  /// What comes after the plan in each pass.
  void capture_search(const Scene& scene, std::size_t output) {
    if (searched_ == output) return;
    const Output& of = outputs_[output];
    const std::int64_t batch = plan_.plan().batch();
    statistics::ChannelPeaksCall call;
    call.values = of.tensor.data;
    call.type = of.tensor.type;
    call.images = batch;
    call.places = of.places;
    call.channels = of.channels;
    call.means = peaks_.as<float>();
    call.maxima = call.means + batch * of.channels;
    search_ = scene.stream.capture([device = scene.device, &stream = scene.stream, call] {
      statistics::find_channel_peaks(*device, stream, call);
    });
    searched_ = output;
  }

  /// The last pass begins early enough to end with the last image.
  std::size_t first_image(std::size_t pass) const {
    return std::min(pass * plan_.batch(), images_ - plan_.batch());
  }

  std::size_t images_, passes_;
  HeldOutPlan plan_;
  std::vector<Output> outputs_;
  core::Buffer peaks_;              ///< of a batch: means, then maxima
  core::HostBuffer peaks_arrived_;  ///< the same of each pass, one after the other
  std::unique_ptr<core::Graph> search_;
  std::optional<std::size_t> searched_;  ///< the output of `search_`
  ChannelActivations what_;              ///< without numbers
};

/// Observations::activations of ObservationRequest::activations_of.
using ActivationObserver = AskedObserver<&Observations::activations, ActivationPass>;

}  // namespace

std::unique_ptr<Observer> make_activation_observer() {
  return std::make_unique<ActivationObserver>();
}

}  // namespace warpscope::training
