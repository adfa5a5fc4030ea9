#include "gpu/observers/latent_mapper.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace warpscope::training {

bool LatentMapper::ask(const ObservationRequest& request) {
  return std::exchange(wanted_, request.latents.map) != wanted_;
}

bool LatentMapper::take(Observations& seen) {
  std::optional<Made> made = look_.take([this](const LatentPass& pass) { return make(pass); });
  if (!made) return false;
  made->map.number = ++taken_;
  if (made->map.problem.empty()) before_ = std::move(made->components);
  seen.latents = std::make_shared<const LatentMap>(std::move(made->map));
  return true;
}

void LatentMapper::end(Observations& seen) {
  look_.forget();
  before_ = {};
  seen.latents = nullptr;
}

LatentMapper::Made LatentMapper::make(const LatentPass& pass) const {
  Made made;
  LatentMap& map = made.map;
  map.step = pass.step();
  map.generation = pass.generation();
  map.precision = pass.precision();
  map.latent = pass.latent();
  map.values = pass.values();
  map.weights = std::make_shared<const std::vector<float>>(pass.weights());
  const bool finite =
      std::all_of(map.values.begin(), map.values.end(), [](float value) { return std::isfinite(value); });
  if (!finite || pass.count() < 2) {
    map.problem = finite ? "There are too few test images for a map."
                         : fmt::format("The latents of step {} hold numbers that are not finite.", map.step);
    return made;
  }
  map.count = pass.count();
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
