// Makes pictures of places in the latent space with the decoder of the network.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/observers/host_copies.h"
#include "gpu/observers/look.h"
#include "gpu/observers/observer_table.h"
#include "gpu/ops/host_values.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {
namespace {

/// Decodes latents with the weights of a map.
class DecodingPass {
 public:
  static constexpr int kMost = 10;  ///< pictures of one launch

  explicit DecodingPass(const Scene& scene)
      : selection_(scene.selection),
        weights_(scene.device, scene.parameters.bytes()),
        weights_staging_(scene.device, scene.parameters.bytes()) {}

  bool fits(const Scene& scene) const { return selection_ == scene.selection; }
  /// `recipes`: up to kMost, each of which has its latent in `map`.
  void enqueue(const Scene& scene, const LatentMap& map, const std::vector<LatentRecipe>& recipes) {
    Bench& bench = recipes.size() == 1 ? one_ : many_;
    if (!bench.plan) bench = make_bench(scene, recipes.size() == 1 ? 1 : kMost, map.latent.elements());
    std::vector<double> latents;
    for (const LatentRecipe& recipe : recipes) {
      const std::vector<float> latent = latent_at(map, recipe);
      latents.insert(latents.end(), latent.begin(), latent.end());
    }
    const ops::Bytes bytes =
        ops::encode(latents, ops::element_type(ops::Role::activation, selection_.precision));
    std::memset(bench.input.data(), 0, bench.input.bytes());
    std::memcpy(bench.input.data(), bytes.data(), bytes.size());
    if (uploaded_ != map.number) {
      std::copy(map.weights->begin(), map.weights->end(), weights_staging_.as<float>());
      scene.stream.copy(weights_.data(), weights_staging_.data(), weights_.bytes());
      uploaded_ = map.number;
    }
    scene.stream.copy(bench.latents.data(), bench.input.data(), bench.input.bytes());
    bench.plan->launch(scene.stream);
    scene.stream.copy(bench.output.data(), bench.plan->prediction(), bench.output.bytes());
    used_ = &bench;
  }

  /// The pictures, one after the other, and room for those that were not asked for.
  std::vector<float> made() const { return floats(used_->output); }

 private:
  /// A plan of some pictures at once, and its memory.
  struct Bench {
    core::Buffer latents;
    core::HostBuffer input, output;
    std::unique_ptr<plan::Plan> plan;
  };
  Bench make_bench(const Scene& scene, int batch, std::size_t latent_elements) const {
    const std::size_t elements = static_cast<std::size_t>(batch) * latent_elements;
    const std::size_t bytes =
        elements * core::size_of(ops::element_type(ops::Role::activation, selection_.precision));
    Bench bench;
    bench.latents = core::Buffer(scene.device, bytes);
    bench.input = core::HostBuffer(scene.device, bytes);
    bench.output = core::HostBuffer(
        scene.device, static_cast<std::size_t>(batch) * static_cast<std::size_t>(scene.model.height) *
                          static_cast<std::size_t>(scene.model.width) *
                          static_cast<std::size_t>(scene.model.channels) * sizeof(float));
    plan::Bindings bindings = scene.held_out;
    bindings.parameters = weights_.as<float>();
    bindings.latents = bench.latents.data();
    bench.plan =
        std::make_unique<plan::Plan>(scene.model, plan::Purpose::decoding, selection_, batch,
                                     ops::Context{scene.device, scene.variants}, scene.stream, bindings);
    return bench;
  }

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
  bool ask(const ObservationRequest& request) override {
    std::vector<LatentRecipe> wanted =
        request.latents.map ? request.latents.pictures : std::vector<LatentRecipe>{};
    if (wanted == recipes_) return false;
    recipes_ = std::move(wanted);
    return true;
  }

  bool wanted() const override { return !recipes_.empty(); }
  bool start(const Scene& scene) override {
    if (look_.busy() || !map_ || !map_->problem.empty() || !map_->weights) return false;
    std::vector<LatentRecipe> list = missing();
    if (list.empty() || !look_.start(scene, *map_, list)) return false;
    made_.height = scene.model.height;
    made_.width = scene.model.width;
    made_.channels = scene.model.channels;
    used_ = map_;
    under_way_ = std::move(list);
    return true;
  }

  bool take(Observations& seen) override {
    map_ = seen.latents;
    const std::optional<std::vector<float>> pixels =
        look_.take([](const DecodingPass& pass) { return pass.made(); });
    if (!pixels) return false;
    add(*pixels);
    seen.latent_pictures = std::make_shared<const LatentPictures>(made_);
    return true;
  }

  void end(Observations& seen) override {
    look_.forget();
    made_ = {};
    map_ = used_ = nullptr;
    seen.latent_pictures = nullptr;
  }

  double seconds() const override { return look_.seconds(); }
  /// A new map asks for new pictures.
  bool goes_on() const override { return true; }

 private:
  /// Recipes that name an image or a component that is not there are left aside.
  std::vector<LatentRecipe> missing() const {
    std::vector<LatentRecipe> list;
    for (const LatentRecipe& recipe : recipes_) {
      const bool made = (made_.map == map_->number && made_.find(recipe) != nullptr) ||
                        std::ranges::find(list, recipe) != list.end();
      if (!made && !latent_at(*map_, recipe).empty()) list.push_back(recipe);
    }
    if (list.size() > DecodingPass::kMost) list.resize(DecodingPass::kMost);
    return list;
  }

  /// Adds the new pictures to those of the same map that are still asked for.
  void add(const std::vector<float>& pixels) {
    LatentPictures next = made_;
    next.recipes.clear();
    next.pixels.clear();
    next.places.clear();
    next.map = used_->number;
    next.step = used_->step;
    const auto keep = [&](const LatentRecipe& recipe, const float* picture) {
      next.recipes.push_back(recipe);
      next.pixels.insert(next.pixels.end(), picture, picture + next.elements());
      next.places.push_back(scores_of(*used_, latent_at(*used_, recipe)));
    };
    for (const LatentRecipe& recipe : recipes_) {
      const float* const kept = made_.map == used_->number ? made_.find(recipe) : nullptr;
      if (kept != nullptr && next.find(recipe) == nullptr) keep(recipe, kept);
    }
    for (std::size_t i = 0; i < under_way_.size(); ++i)
      keep(under_way_[i], pixels.data() + i * next.elements());
    made_ = std::move(next);
  }

  std::vector<LatentRecipe> recipes_;      ///< asked for
  std::shared_ptr<const LatentMap> map_;   ///< newest
  std::shared_ptr<const LatentMap> used_;  ///< by what is under way
  std::vector<LatentRecipe> under_way_;
  LatentPictures made_;
  PassLook<DecodingPass, std::vector<float>> look_;
};

}  // namespace

std::unique_ptr<Observer> make_latent_decoder() {
  return std::make_unique<LatentDecoder>();
}

}  // namespace warpscope::training
