#include "gpu/observers/weights_observer.h"

#include <chrono>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/observers/host_copies.h"

namespace warpscope::training {

WeightsObserver::~WeightsObserver() {
  try {
    forget();
  } catch (const core::Error&) {
    // The error was reported when it happened; destruction goes on.
  }
}

/// A copy under way writes to the host until it is done.
void WeightsObserver::forget() {
  if (collecting_.valid()) collecting_.wait();
  collecting_ = {};
  if (std::exchange(pending_, nullptr)) done_->synchronize();
}

bool WeightsObserver::ask(const ObservationRequest& request) {
  return std::exchange(asked_, request.weights) != request.weights;
}

bool WeightsObserver::start(const Scene& scene) {
  if (pending_) return false;
  if (copy_.bytes() != scene.parameters.bytes()) {
    copy_ = core::HostBuffer(scene.device, scene.parameters.bytes());
  }
  if (!begun_) {
    begun_ = scene.device->make_event(true);
    done_ = scene.device->make_event(true);
  }
  auto weights = std::make_unique<Weights>();
  weights->number = asked_;
  weights->step = scene.step;
  weights->generation = scene.generation;
  weights->selection = scene.selection;
  scene.stream.record(*begun_);
  scene.stream.copy(copy_.data(), scene.parameters.data(), copy_.bytes());
  scene.stream.record(*done_);
  pending_ = std::move(weights);
  return true;
}

bool WeightsObserver::take(Observations& seen) {
  if (!pending_ || !done_->ready()) return false;
  if (!collecting_.valid()) {
    seconds_ = 1e-6 * done_->microseconds_since(*begun_);
    collecting_ = std::async(std::launch::async, [this] { return floats(copy_); });
  }
  if (collecting_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  pending_->parameters = collecting_.get();
  const std::shared_ptr<const Weights> found = std::move(pending_);
  if (found->number != asked_) return false;
  taken_ = asked_;
  seen.weights = found;
  return true;
}

/// Who waits for a copy gets one of the new network.
void WeightsObserver::restart(Observations& seen) {
  end(seen);
  taken_ = 0;
}

void WeightsObserver::end(Observations& seen) {
  forget();
  copy_ = {};
  seen.weights = nullptr;
}

}  // namespace warpscope::training
