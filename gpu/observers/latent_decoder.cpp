#include "gpu/observers/latent_decoder.h"

#include <algorithm>
#include <cstring>

#include "gpu/core/error.h"
#include "gpu/ops/host_values.h"

namespace warpscope::training {
namespace {

/// Pictures of one launch, if more than one is missing.
constexpr int kMany = 10;

}  // namespace

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
  if (list.size() > kMany) list.resize(kMany);
  return list;
}

LatentDecoder::Bench LatentDecoder::make_bench(const Scene& scene, int batch) const {
  const std::size_t elements = static_cast<std::size_t>(batch) * map_->latent.elements();
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
  bench.plan = std::make_unique<plan::Plan>(scene.model, plan::Purpose::decoding, selection_, batch,
                                            scene.device, scene.stream, bindings);
  return bench;
}

LatentDecoder::Bench& LatentDecoder::bench_for(const Scene& scene, std::size_t pictures) {
  Bench& bench = pictures == 1 ? one_ : many_;
  if (!bench.plan) bench = make_bench(scene, pictures == 1 ? 1 : kMany);
  return bench;
}

/// Buffers and events at the first look; no plan of another selection.
void LatentDecoder::prepare(const Scene& scene) {
  if (!begun_) {
    weights_ = core::Buffer(scene.device, scene.parameters.bytes());
    weights_staging_ = core::HostBuffer(scene.device, scene.parameters.bytes());
    begun_ = scene.device->make_event(true);
    done_ = scene.device->make_event(true);
  }
  if (selection_ == scene.selection) return;
  selection_ = scene.selection;
  one_ = {};
  many_ = {};
}

bool LatentDecoder::start(const Scene& scene) {
  if (busy_ != nullptr || !map_ || !map_->problem.empty()) return false;
  const std::vector<LatentRecipe> list = missing();
  if (list.empty()) return false;
  prepare(scene);
  Bench& bench = bench_for(scene, list.size());
  std::vector<double> latents;
  for (const LatentRecipe& recipe : list) {
    const std::vector<float> latent = latent_at(*map_, recipe);
    latents.insert(latents.end(), latent.begin(), latent.end());
  }
  const core::ElementType type = ops::element_type(ops::Role::activation, selection_.precision);
  const ops::Bytes bytes = ops::encode(latents, type);
  std::memset(bench.input.data(), 0, bench.input.bytes());
  std::memcpy(bench.input.data(), bytes.data(), bytes.size());
  scene.stream.record(*begun_);
  if (uploaded_ != map_->number) {
    std::copy(map_->weights->begin(), map_->weights->end(), weights_staging_.as<float>());
    scene.stream.copy(weights_.data(), weights_staging_.data(), weights_.bytes());
    uploaded_ = map_->number;
  }
  scene.stream.copy(bench.latents.data(), bench.input.data(), bench.input.bytes());
  bench.plan->launch(scene.stream);
  scene.stream.copy(bench.output.data(), bench.plan->prediction(), bench.output.bytes());
  scene.stream.record(*done_);
  made_.height = scene.model.height;
  made_.width = scene.model.width;
  made_.channels = scene.model.channels;
  busy_ = &bench;
  used_ = map_;
  under_way_ = list;
  return true;
}

bool LatentDecoder::take(Observations& seen) {
  map_ = seen.latents;
  if (busy_ == nullptr || !done_->ready()) return false;
  seconds_ = 1e-6 * done_->microseconds_since(*begun_);
  collect();
  busy_ = nullptr;
  seen.latent_pictures = std::make_shared<const LatentPictures>(made_);
  return true;
}

/// Adds the new pictures to those of the same map that are still asked for.
void LatentDecoder::collect() {
  LatentPictures next = made_;
  next.recipes.clear();
  next.pixels.clear();
  next.places.clear();
  next.map = used_->number;
  next.step = used_->step;
  const auto add = [&](const LatentRecipe& recipe, const float* pixels) {
    next.recipes.push_back(recipe);
    next.pixels.insert(next.pixels.end(), pixels, pixels + next.elements());
    next.places.push_back(scores_of(*used_, latent_at(*used_, recipe)));
  };
  for (const LatentRecipe& recipe : recipes_) {
    const float* const kept = made_.map == used_->number ? made_.find(recipe) : nullptr;
    if (kept != nullptr && next.find(recipe) == nullptr) add(recipe, kept);
  }
  const auto* const pixels = busy_->output.as<const float>();
  for (std::size_t i = 0; i < under_way_.size(); ++i) add(under_way_[i], pixels + i * next.elements());
  made_ = std::move(next);
}

void LatentDecoder::finish() {
  try {
    if (busy_ != nullptr) done_->synchronize();
  } catch (const core::Error&) {
    // The error was reported when it happened; destruction goes on.
  }
  busy_ = nullptr;
}

void LatentDecoder::end(Observations& seen) {
  finish();
  one_ = {};
  many_ = {};
  weights_ = {};
  weights_staging_ = {};
  begun_.reset();
  done_.reset();
  uploaded_ = 0;
  made_ = {};
  map_ = used_ = nullptr;
  seen.latent_pictures = nullptr;
}

}  // namespace warpscope::training
