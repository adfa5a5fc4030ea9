#pragma once
// Shows where test images lie among the latents: their principal components.

#include <future>
#include <memory>
#include <utility>

#include "gpu/inspect/pca.h"
#include "gpu/observers/latent_pass.h"
#include "gpu/observers/observer.h"

namespace warpscope::training {

/// Observations::latents while LatentRequest::map is set. The components of each look begin with those of the
/// look before and keep its signs and places (inspect::align()).
class LatentMapper final : public Observer {
 public:
  ~LatentMapper() override;
  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return wanted_; }
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  double seconds() const override { return seconds_; }
  double share() const override { return 1.0 / 50; }

 private:
  struct Made {
    LatentMap map;
    inspect::Components components;
  };
  Made make() const;
  void forget();

  bool wanted_ = false;
  bool pending_ = false;
  std::unique_ptr<LatentPass> pass_;  ///< made at the first look, and anew for another selection
  std::future<Made> making_;
  inspect::Components before_;  ///< of the last look; of no rank before the first
  std::uint64_t taken_ = 0;
  double seconds_ = 0;
};

}  // namespace warpscope::training
