#pragma once
// Shows how the numbers of the network are spread, and keeps how that came about.

#include <cstdint>
#include <memory>

#include "gpu/observers/distribution_pass.h"
#include "gpu/observers/observer.h"

namespace warpscope::training {

/// Observations::distributions of ObservationRequest::distributions. The moments of before stay while nobody asks.
class DistributionObserver final : public Observer {
 public:
  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return wanted_; }
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  void restart(Observations& seen) override;
  double seconds() const override { return pass_ ? pass_->seconds() : 0; }
  double share() const override { return 1.0 / 200; }

 private:
  bool wanted_ = false;
  std::unique_ptr<DistributionPass> pass_;  ///< made at the first look, and anew for another selection
  DistributionHistory history_;
  int images_ = 0;
};

}  // namespace warpscope::training
