// Shows where test images lie among the latents: their principal components.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/inspect/pca.h"
#include "gpu/observers/latent_pass.h"
#include "gpu/observers/look.h"
#include "gpu/observers/observer_table.h"

namespace warpscope::training {
namespace {

/// Observations::latents while LatentRequest::map is set. The components of each look begin with those of the
/// look before and keep its signs and places (inspect::align()).
class LatentMapper final : public Observer {
 public:
  /// Who asks for the first picture needs a map with weights.
  bool ask(const ObservationRequest& request) override {
    const bool pictures = request.latents.map && !request.latents.pictures.empty();
    const bool before = std::exchange(pictures_, pictures);
    return std::exchange(wanted_, request.latents.map) != wanted_ || (pictures && !before);
  }
  bool wanted() const override { return wanted_; }
  bool start(const Scene& scene) override { return look_.start(scene, pictures_); }
  bool take(Observations& seen) override {
    std::optional<Made> made = look_.take([this](const LatentPass& pass) { return make(pass); });
    if (!made) return false;
    made->map.number = ++taken_;
    if (made->map.problem.empty()) before_ = std::move(made->components);
    seen.latents = std::make_shared<const LatentMap>(std::move(made->map));
    return true;
  }

  void end(Observations& seen) override {
    look_.forget();
    before_ = {};
    seen.latents = nullptr;
  }
  double seconds() const override { return look_.seconds(); }
  double share() const override { return 1.0 / 50; }

 private:
  struct Made {
    LatentMap map;
    inspect::Components components;
  };
  Made make(const LatentPass& pass) const {
    Made made;
    LatentMap& map = made.map;
    map.step = pass.step();
    map.generation = pass.generation();
    map.precision = pass.precision();
    map.latent = pass.latent();
    map.values = pass.values();
    map.weights = pass.weights();
    const bool finite = std::ranges::all_of(map.values, [](float value) { return std::isfinite(value); });
    if (!finite || pass.count() < 2) {
      map.problem = finite ? "There are too few test images for a map."
                           : fmt::format("The latents of step {} hold numbers that are not finite.",
                                         files::grouped(map.step));
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

  bool wanted_ = false, pictures_ = false;
  inspect::Components before_;  ///< of the last look; of no rank before the first
  std::uint64_t taken_ = 0;
  PassLook<LatentPass, Made> look_;  ///< last, so that its thread ends before what it reads
};

}  // namespace

std::unique_ptr<Observer> make_latent_mapper() {
  return std::make_unique<LatentMapper>();
}

}  // namespace warpscope::training
