#include "gpu/observers/latent_decoder.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "gpu/observers/host_copies.h"
#include "gpu/ops/host_values.h"

namespace warpscope::training {

DecodingPass::DecodingPass(const Scene& scene)
    : selection_(scene.selection),
      weights_(scene.device, scene.parameters.bytes()),
      weights_staging_(scene.device, scene.parameters.bytes()) {}

DecodingPass::Bench DecodingPass::make_bench(const Scene& scene, int batch,
                                             std::size_t latent_elements) const {
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

void DecodingPass::enqueue(const Scene& scene, const LatentMap& map,
                           const std::vector<LatentRecipe>& recipes) {
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

std::vector<float> DecodingPass::made() const {
  return floats(used_->output);
}

bool LatentDecoder::ask(const ObservationRequest& request) {
  std::vector<LatentRecipe> wanted =
      request.latents.map ? request.latents.pictures : std::vector<LatentRecipe>{};
  if (wanted == recipes_) return false;
  recipes_ = std::move(wanted);
  return true;
}

/// Recipes that name an image or a component that is not there are left aside.
std::vector<LatentRecipe> LatentDecoder::missing() const {
  std::vector<LatentRecipe> list;
  for (const LatentRecipe& recipe : recipes_) {
    const bool made = (made_.map == map_->number && made_.find(recipe) != nullptr) ||
                      std::find(list.begin(), list.end(), recipe) != list.end();
    if (!made && !latent_at(*map_, recipe).empty()) list.push_back(recipe);
  }
  if (list.size() > DecodingPass::kMost) list.resize(DecodingPass::kMost);
  return list;
}

bool LatentDecoder::start(const Scene& scene) {
  if (look_.busy() || !map_ || !map_->problem.empty()) return false;
  std::vector<LatentRecipe> list = missing();
  if (list.empty() || !look_.start(scene, *map_, list)) return false;
  made_.height = scene.model.height;
  made_.width = scene.model.width;
  made_.channels = scene.model.channels;
  used_ = map_;
  under_way_ = std::move(list);
  return true;
}

bool LatentDecoder::take(Observations& seen) {
  map_ = seen.latents;
  const std::optional<std::vector<float>> pixels =
      look_.take([](const DecodingPass& pass) { return pass.made(); });
  if (!pixels) return false;
  add(*pixels);
  seen.latent_pictures = std::make_shared<const LatentPictures>(made_);
  return true;
}

/// Adds the new pictures to those of the same map that are still asked for.
void LatentDecoder::add(const std::vector<float>& pixels) {
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

void LatentDecoder::end(Observations& seen) {
  look_.forget();
  made_ = {};
  map_ = used_ = nullptr;
  seen.latent_pictures = nullptr;
}

}  // namespace warpscope::training
