#pragma once
// Runs the first test images through the encoder and brings their latents to the host.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/scene.h"
#include "gpu/models/latent.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

class LatentPass {
 public:
  /// Of up to `most` images; 0: mapped_images(). Throws core::BadInput and core::OutOfMemory as plan::Plan does.
  explicit LatentPass(const Scene& scene, std::int64_t most = 0);
  ~LatentPass();
  LatentPass(const LatentPass&) = delete;
  LatentPass& operator=(const LatentPass&) = delete;

  /// Enqueues the pass, batch by batch, and the copies. What the one before left on the host is overwritten.
  void start(const Scene& scene);
  /// True once all of it has arrived.
  bool ready() const { return done_->ready(); }
  /// Device time of the pass that is ready.
  double seconds() const { return 1e-6 * done_->microseconds_since(*begun_); }

  /// (count, latent.elements()), widened to FP32. Any thread; from when the pass is ready until the next start.
  std::vector<float> values() const;
  /// The weights that made them, in models::ParameterLayout. The same.
  std::vector<float> weights() const;

  std::size_t count() const { return count_; }
  std::uint64_t step() const { return step_; }
  std::uint64_t generation() const { return generation_; }
  const models::Latent& latent() const { return latent_; }
  const plan::Selection& selection() const { return selection_; }

 private:
  plan::Selection selection_;
  models::Latent latent_;
  core::Stream& stream_;
  std::size_t count_ = 0;
  core::Buffer control_;
  std::unique_ptr<plan::Plan> plan_;
  core::HostBuffer controls_;  ///< one a batch
  core::HostBuffer latents_, weights_;
  std::unique_ptr<core::Event> begun_, done_;
  std::uint64_t step_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace warpscope::training
