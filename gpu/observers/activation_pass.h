#pragma once
// Runs the first test images through a plan that keeps every layer's output and brings to the host how strongly the
// channels of one layer answer to each of them.

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/scene.h"
#include "gpu/messages/channel_activations.h"
#include "gpu/plan/plan.h"
#include "gpu/statistics/channel_peaks.h"

namespace warpscope::training {

class ActivationPass {
 public:
  /// Of mapped_images(), inspected_at_once() of them at a time. Throws core::BadInput and core::OutOfMemory as
  /// plan::Plan does.
  explicit ActivationPass(const Scene& scene);
  ~ActivationPass();
  ActivationPass(const ActivationPass&) = delete;
  ActivationPass& operator=(const ActivationPass&) = delete;

  /// Enqueues the pass for an output (ChannelActivations::output); false, and nothing, while the one before has not
  /// been taken. Throws core::BadInput if the model has no such output.
  bool start(const Scene& scene, std::size_t output);
  /// True while the device has work of it left.
  bool busy() const { return pending_ && !done_->ready(); }
  /// What start() began, once it has arrived and a thread has put it in order; nothing before. Never waits.
  std::optional<ChannelActivations> take();
  /// Device time of the last pass that was taken, in seconds.
  double seconds() const { return seconds_; }
  const plan::Selection& selection() const { return selection_; }

 private:
  /// Where one layer's output lies.
  struct Output {
    plan::WrittenTensor tensor;
    std::int64_t places = 0;
    std::int64_t channels = 0;
  };
  void add_outputs(const models::Model& model);
  void capture_search(std::size_t output);
  std::size_t first_image(std::size_t pass) const;
  ChannelActivations in_order() const;

  plan::Selection selection_;
  std::shared_ptr<core::Device> device_;
  core::Stream& stream_;
  core::Buffer control_;
  std::unique_ptr<plan::Plan> plan_;
  std::vector<Output> outputs_;
  std::size_t images_ = 0, passes_ = 0;
  core::Buffer peaks_;              ///< of a batch: means, then maxima
  core::HostBuffer peaks_arrived_;  ///< the same of each pass, one after the other
  core::HostBuffer controls_;       ///< one a pass
  std::unique_ptr<core::Graph> search_;
  std::optional<std::size_t> searched_;  ///< the output of `search_`
  std::unique_ptr<core::Event> begun_, done_;
  ChannelActivations what_;  ///< without numbers
  std::future<ChannelActivations> ordering_;
  bool pending_ = false;
  double seconds_ = 0;
};

}  // namespace warpscope::training
