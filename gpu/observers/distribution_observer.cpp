#include "gpu/observers/distribution_observer.h"

#include <utility>

namespace warpscope::training {

bool DistributionObserver::ask(const ObservationRequest& request) {
  if (request.distributions == wanted_) return false;
  wanted_ = request.distributions;
  return true;
}

bool DistributionObserver::start(const Scene& scene) {
  if (pass_ && pass_->selection() != scene.selection) {
    if (pass_->busy()) return false;
    pass_.reset();
  }
  if (!pass_) pass_ = std::make_unique<DistributionPass>(scene);
  return pass_->start(scene);
}

bool DistributionObserver::take(Observations& seen) {
  auto moment = pass_ ? pass_->take() : nullptr;
  const bool again = !seen.distributions && !history_.moments().empty();
  if (!moment && !again) return false;
  if (moment) {
    history_.add(pass_->generation(), std::move(moment));
    images_ = pass_->images();
  }
  auto all = std::make_shared<Distributions>();
  all->generation = history_.generation();
  all->images = images_;
  all->moments = history_.moments();
  seen.distributions = std::move(all);
  return true;
}

void DistributionObserver::end(Observations& seen) {
  pass_.reset();
  seen.distributions = nullptr;
}

void DistributionObserver::restart(Observations& seen) {
  end(seen);
  history_ = DistributionHistory();
}

}  // namespace warpscope::training
