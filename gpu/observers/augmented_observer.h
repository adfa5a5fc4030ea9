#pragma once
// Shows what the augmentation makes of the first images of the coming training step.

#include <chrono>
#include <functional>

#include "gpu/observers/look.h"

namespace warpscope::training {

/// Observations::augmented. A thread of its own runs batch.augment on the CPU, with the control block that the
/// coming step reads and the data set in host memory: what is drawn at random is the same there.
class AugmentedObserver final : public Observer {
 public:
  static constexpr int kImages = 16;

  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return asked_; }
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  double seconds() const override { return look_.seconds(); }

 private:
  bool asked_ = false;
  std::function<AugmentedImages()> make_;  ///< of the look under way
  Look<AugmentedImages> look_;
  std::chrono::steady_clock::time_point last_ = {};  ///< when the last look began
};

}  // namespace warpscope::training
