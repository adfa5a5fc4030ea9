#include "gpu/observers/latent_mapper.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

namespace warpscope::training {

LatentMapper::~LatentMapper() {
  forget();
}

/// The thread reads what the pass brought, so it ends first.
void LatentMapper::forget() {
  if (making_.valid()) making_.wait();
  making_ = {};
  pass_.reset();
  before_ = {};
  pending_ = false;
}

bool LatentMapper::ask(const ObservationRequest& request) {
  return std::exchange(wanted_, request.latents.map) != wanted_;
}

bool LatentMapper::start(const Scene& scene) {
  if (pending_) return false;
  if (pass_ && pass_->selection() != scene.selection) pass_.reset();
  if (!pass_) pass_ = std::make_unique<LatentPass>(scene);
  pass_->start(scene);
  pending_ = true;
  return true;
}

bool LatentMapper::take(Observations& seen) {
  if (!pending_ || !pass_->ready()) return false;
  if (!making_.valid()) {
    seconds_ = pass_->seconds();
    making_ = std::async(std::launch::async, [this] { return make(); });
  }
  if (making_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  pending_ = false;
  Made made = making_.get();
  made.map.number = ++taken_;
  if (made.map.problem.empty()) before_ = std::move(made.components);
  seen.latents = std::make_shared<const LatentMap>(std::move(made.map));
  return true;
}

void LatentMapper::end(Observations& seen) {
  forget();
  seen.latents = nullptr;
}

LatentMapper::Made LatentMapper::make() const {
  Made made;
  LatentMap& map = made.map;
  map.step = pass_->step();
  map.generation = pass_->generation();
  map.precision = pass_->selection().precision;
  map.latent = pass_->latent();
  map.values = pass_->values();
  map.weights = std::make_shared<const std::vector<float>>(pass_->weights());
  const bool finite =
      std::all_of(map.values.begin(), map.values.end(), [](float value) { return std::isfinite(value); });
  if (!finite || pass_->count() < 2) {
    map.problem = finite ? "There are too few test images for a map."
                         : fmt::format("The latents of step {} hold numbers that are not finite.", map.step);
    return made;
  }
  map.count = pass_->count();
  inspect::Components& found = made.components;
  found = inspect::principal_components({map.values, map.count, map.latent.elements()}, {},
                                        before_.rank > 0 ? &before_ : nullptr);
  inspect::align(found, before_);
  map.rank = found.rank;
  map.mean = found.mean;
  map.components = found.components;
  map.scores = found.scores;
  for (std::size_t k = 0; k < found.rank; ++k) {
    map.sigmas.push_back(static_cast<float>(std::sqrt(found.variances[k])));
    map.shares.push_back(static_cast<float>(found.share(k)));
  }
  return made;
}

}  // namespace warpscope::training
