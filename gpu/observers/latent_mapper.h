#pragma once
// Shows where test images lie among the latents: their principal components.

#include <cstdint>

#include "gpu/inspect/pca.h"
#include "gpu/observers/latent_pass.h"
#include "gpu/observers/look.h"

namespace warpscope::training {

/// Observations::latents while LatentRequest::map is set. The components of each look begin with those of the
/// look before and keep its signs and places (inspect::align()).
class LatentMapper final : public Observer {
 public:
  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return wanted_; }
  bool start(const Scene& scene) override { return look_.start(scene); }
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  double seconds() const override { return look_.seconds(); }
  double share() const override { return 1.0 / 50; }

 private:
  struct Made {
    LatentMap map;
    inspect::Components components;
  };
  Made make(const LatentPass& pass) const;

  bool wanted_ = false;
  inspect::Components before_;  ///< of the last look; of no rank before the first
  std::uint64_t taken_ = 0;
  PassLook<LatentPass, Made> look_;  ///< last, so that its thread ends before what it reads
};

}  // namespace warpscope::training
