#pragma once
// Makes pictures of places in the latent space with the decoder of the network.

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/observers/observer.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

/// Observations::latent_pictures of LatentRequest::pictures. They are made of the newest Observations::latents
/// and of the weights that made those, so that latents and decoder belong together.
class LatentDecoder final : public Observer {
 public:
  ~LatentDecoder() override { finish(); }
  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return !recipes_.empty(); }
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  double seconds() const override { return seconds_; }
  /// A new map asks for new pictures.
  bool goes_on() const override { return true; }

 private:
  /// A plan of some pictures at once, and its memory.
  struct Bench {
    core::Buffer latents;
    core::HostBuffer input, output;
    std::unique_ptr<plan::Plan> plan;
  };
  Bench make_bench(const Scene& scene, int batch) const;
  Bench& bench_for(const Scene& scene, std::size_t pictures);
  std::vector<LatentRecipe> missing() const;
  void prepare(const Scene& scene);
  void collect();
  void finish();

  std::vector<LatentRecipe> recipes_;     ///< asked for
  std::shared_ptr<const LatentMap> map_;  ///< newest
  plan::Selection selection_;             ///< of the benches
  Bench one_, many_;                      ///< made when they are first needed
  core::Buffer weights_;                  ///< those of the map that `uploaded_` counts
  core::HostBuffer weights_staging_;
  std::uint64_t uploaded_ = 0;
  std::unique_ptr<core::Event> begun_, done_;
  std::shared_ptr<const LatentMap> used_;  ///< by what is under way
  const Bench* busy_ = nullptr;            ///< under way; nullptr: nothing is
  std::vector<LatentRecipe> under_way_;
  LatentPictures made_;
  double seconds_ = 0;
};

}  // namespace warpscope::training
