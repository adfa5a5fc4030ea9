#pragma once
// Shows how the numbers of the network are spread, and keeps how that came about.

#include "gpu/observers/distribution_pass.h"
#include "gpu/observers/look.h"

namespace warpscope::training {

/// Observations::distributions of ObservationRequest::distributions. Earlier moments stay while nobody asks.
class DistributionObserver final : public Observer {
 public:
  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return wanted_; }
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  void restart(Observations& seen) override;
  double seconds() const override { return look_.seconds(); }
  double share() const override { return 1.0 / 200; }

 private:
  bool wanted_ = false;
  DistributionHistory history_;
  int images_ = 0;
  PassLook<DistributionPass, CountedMoment> look_;
};

}  // namespace warpscope::training
