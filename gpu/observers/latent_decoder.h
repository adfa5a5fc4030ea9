#pragma once
// Makes pictures of places in the latent space with the decoder of the network.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/observers/look.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

/// Decodes latents with the weights of a map.
class DecodingPass {
 public:
  static constexpr int kMost = 10;  ///< pictures of one launch

  explicit DecodingPass(const Scene& scene);
  bool fits(const Scene& scene) const { return selection_ == scene.selection; }
  /// `recipes`: up to kMost, each of which has its latent in `map`.
  void enqueue(const Scene& scene, const LatentMap& map, const std::vector<LatentRecipe>& recipes);
  /// The pictures, one after the other, and room for those that were not asked for.
  std::vector<float> made() const;

 private:
  /// A plan of some pictures at once, and its memory.
  struct Bench {
    core::Buffer latents;
    core::HostBuffer input, output;
    std::unique_ptr<plan::Plan> plan;
  };
  Bench make_bench(const Scene& scene, int batch, std::size_t latent_elements) const;

  plan::Selection selection_;
  Bench one_, many_;             ///< made when they are first needed
  const Bench* used_ = nullptr;  ///< by the last look
  core::Buffer weights_;         ///< those of the map that `uploaded_` counts
  core::HostBuffer weights_staging_;
  std::uint64_t uploaded_ = 0;
};

/// Observations::latent_pictures of LatentRequest::pictures. They are made of the newest Observations::latents
/// and of the weights that made those, so that latents and decoder belong together.
class LatentDecoder final : public Observer {
 public:
  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return !recipes_.empty(); }
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  double seconds() const override { return look_.seconds(); }
  /// A new map asks for new pictures.
  bool goes_on() const override { return true; }

 private:
  std::vector<LatentRecipe> missing() const;
  void add(const std::vector<float>& pixels);

  std::vector<LatentRecipe> recipes_;      ///< asked for
  std::shared_ptr<const LatentMap> map_;   ///< newest
  std::shared_ptr<const LatentMap> used_;  ///< by what is under way
  std::vector<LatentRecipe> under_way_;
  LatentPictures made_;
  PassLook<DecodingPass, std::vector<float>> look_;
};

}  // namespace warpscope::training
