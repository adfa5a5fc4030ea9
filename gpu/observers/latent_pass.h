#pragma once
// Runs the first test images through the encoder and brings their latents to the host.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/scene.h"
#include "gpu/models/latent.h"
#include "gpu/observers/held_out_batches.h"

namespace warpscope::training {

class LatentPass {
 public:
  /// Over up to `most` images; 0: mapped_images(). Throws core::BadInput and core::OutOfMemory as plan::Plan does.
  explicit LatentPass(const Scene& scene, std::int64_t most = 0);

  bool fits(const Scene& scene) const { return plan_.selection() == scene.selection; }
  /// The pass, batch by batch, and the copies, those of the weights where they are wanted. What the one before left on
  /// the host is overwritten.
  void enqueue(const Scene& scene, bool with_weights = false);

  /// (count, latent.elements()), widened to FP32. Any thread; from when the pass has arrived until the next.
  std::vector<float> values() const;
  /// The weights that made them, in models::ParameterLayout; nullptr where they were not wanted. The same.
  std::shared_ptr<const std::vector<float>> weights() const;

  std::size_t count() const { return count_; }
  std::uint64_t step() const { return step_; }
  std::uint64_t generation() const { return generation_; }
  const models::Latent& latent() const { return latent_; }
  core::Precision precision() const { return plan_.selection().precision; }

 private:
  models::Latent latent_;
  std::size_t count_;
  HeldOutPlan plan_;
  core::HostBuffer latents_;
  core::HostBuffer weights_;  ///< made when they are first wanted
  bool with_weights_ = false;
  std::uint64_t step_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace warpscope::training
