#include "gpu/observers/distribution_observer.h"

#include <memory>
#include <optional>
#include <utility>

namespace warpscope::training {

bool DistributionObserver::ask(const ObservationRequest& request) {
  return std::exchange(wanted_, request.distributions) != wanted_;
}

bool DistributionObserver::start(const Scene& scene) {
  return !look_.busy() && look_.pass(scene).prepare(scene) && look_.start(scene);
}

bool DistributionObserver::take(Observations& seen) {
  std::optional<CountedMoment> found = look_.take([](const DistributionPass& pass) { return pass.made(); });
  const bool again = !look_.busy() && !seen.distributions && !history_.moments().empty();
  if (!found && !again) return false;
  if (found) {
    history_.add(found->generation, std::move(found->moment));
    images_ = found->images;
  }
  auto all = std::make_shared<Distributions>();
  all->generation = history_.generation();
  all->images = images_;
  all->moments = history_.moments();
  seen.distributions = std::move(all);
  return true;
}

void DistributionObserver::end(Observations& seen) {
  look_.forget();
  seen.distributions = nullptr;
}

void DistributionObserver::restart(Observations& seen) {
  end(seen);
  history_ = DistributionHistory();
}

}  // namespace warpscope::training
