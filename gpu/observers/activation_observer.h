#pragma once
// Shows how strongly the channels of a layer answer to test images.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/messages/channel_activations.h"
#include "gpu/observers/held_out_batches.h"
#include "gpu/observers/look.h"
#include "gpu/statistics/channel_peaks.h"

namespace warpscope::training {

/// Runs the first test images through a plan that keeps every layer's output and brings to the host how strongly the
/// channels of one layer answer to each of them.
class ActivationPass {
 public:
  /// Over mapped_images(), inspected_at_once() of them at a time.
  explicit ActivationPass(const Scene& scene);

  bool fits(const Scene& scene) const { return plan_.selection() == scene.selection; }
  /// Looks at ChannelActivations::output `output`. Throws core::BadInput if the model has no such output.
  void enqueue(const Scene& scene, std::size_t output);
  ChannelActivations made() const;

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
  void add_outputs(const models::Model& model);
  void capture_search(const Scene& scene, std::size_t output);
  std::size_t first_image(std::size_t pass) const;

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

}  // namespace warpscope::training
