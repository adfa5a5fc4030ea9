#include "gpu/observers/weights_observer.h"

#include <memory>
#include <optional>
#include <utility>

#include "gpu/observers/host_copies.h"

namespace warpscope::training {

void WeightsCopy::enqueue(const Scene& scene, std::uint64_t number) {
  scene.stream.copy(copy_.data(), scene.parameters.data(), copy_.bytes());
  what_.number = number;
  what_.step = scene.step;
  what_.generation = scene.generation;
  what_.selection = scene.selection;
}

Weights WeightsCopy::made() const {
  Weights weights = what_;
  weights.parameters = floats(copy_);
  return weights;
}

bool WeightsObserver::ask(const ObservationRequest& request) {
  return std::exchange(asked_, request.weights) != request.weights;
}

bool WeightsObserver::take(Observations& seen) {
  std::optional<Weights> found = look_.take([](const WeightsCopy& copy) { return copy.made(); });
  if (!found || found->number != asked_) return false;
  taken_ = asked_;
  seen.weights = std::make_shared<const Weights>(*std::move(found));
  return true;
}

/// Who waits for a copy gets one of the new network.
void WeightsObserver::restart(Observations& seen) {
  end(seen);
  taken_ = 0;
}

void WeightsObserver::end(Observations& seen) {
  look_.forget();
  seen.weights = nullptr;
}

}  // namespace warpscope::training
