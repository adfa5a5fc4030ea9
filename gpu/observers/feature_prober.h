#pragma once
// Judges the latents while the training goes on: a small classifier is fitted to those of some held-out images and
// judged on others.

#include <chrono>
#include <optional>
#include <vector>

#include "gpu/observers/latent_pass.h"
#include "gpu/observers/look.h"

namespace warpscope::training {

/// Observations::probe while ObservationRequest::feature_probe is set. Of the first 3,072 test images (192 on a CPU)
/// two thirds are learned from: softmax regression on their latents, averaged over 2 x 2 where that goes, standardized.
/// It is fitted on the host by a thread of its own.
class FeatureProber final : public Observer {
 public:
  static constexpr double kSecondsBetween = 3;  ///< two probes, at the least

  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return wanted_; }
  /// Throws core::BadInput if the data set has fewer than two classes or too few test images.
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  double seconds() const override { return look_.seconds(); }
  double share() const override { return 1.0 / 100; }

 private:
  FeatureProbe judge(const LatentPass& pass) const;

  bool wanted_ = false;
  std::vector<int> labels_;  ///< of all test images
  int classes_ = 0;
  std::optional<std::chrono::steady_clock::time_point> started_;
  PassLook<LatentPass, FeatureProbe> look_;  ///< last, so that its thread ends before what it reads
};

}  // namespace warpscope::training
