// The trainer's thread: looks into the training, as often as they cost little.

#include <algorithm>
#include <chrono>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

using std::chrono::duration;

constexpr double kObservationSeconds = 0.1;  ///< between two of an observer, at the least
constexpr double kShareSeconds = 1;

}  // namespace

void Trainer::Worker::handle_observe(ObservationRequest request) {
  request.weights = copied_weights_;
  observed_ = request;
  request.feature_probe = request.feature_probe || settings().probe;
  for (Watch& watch : watches_) {
    if (!watch.observer->ask(request)) continue;
    watch.refused = watch.of_before = false;
    watch.step = kNoStep;
    watch.pace.forget();
    if (!watch.observer->wanted()) watch.observer->end(seen_);
  }
  publish_observations();
}

/// After something else than a step has changed what is seen.
void Trainer::Worker::observe_anew() {
  for (Watch& watch : watches_) watch.step = kNoStep;
}

/// Looks under way are lost, and nothing that was seen is shown any more.
void Trainer::Worker::observe_another_network() {
  for (Watch& watch : watches_) {
    watch.observer->restart(seen_);
    watch = {std::move(watch.observer), kNoStep, {}, false, true};
  }
  seen_.network = view_.network_number;
  publish_observations();
}

void Trainer::Worker::observe_if_due() {
  bool arrived = false;
  for (Watch& watch : watches_) {
    if (!watch.observer->wanted()) continue;
    if (watch.observer->take(seen_)) {
      arrived = true;
      looked_seconds_ += watch.observer->seconds();
    }
    if (!rate_search_) observe_if_due(watch);
  }
  measure_observations();
  if (arrived) {
    note_probe();
    publish_observations();
  }
}

/// A probe that is new becomes a point of its curve.
void Trainer::Worker::note_probe() {
  if (seen_.probe == noted_probe_) return;
  noted_probe_ = seen_.probe;
  if (!noted_probe_ || noted_probe_->generation != view_.generation) return;
  if (!noted_probe_->problem.empty()) return log(LogLevel::warning, noted_probe_->problem);
  const auto since = static_cast<double>(engine_->steps() - noted_probe_->step);
  const double epoch =
      engine_->epoch() - since * engine_->images_of_step() / static_cast<double>(data_->train.count);
  Point point{noted_probe_->step, epoch, view_.seconds, Split::test};
  point[Metric::feature_accuracy] = static_cast<float>(noted_probe_->accuracy);
  emit(point);
}

/// Once a second: the share of the device's time.
void Trainer::Worker::measure_observations() {
  const auto now = Clock::now();
  const double elapsed = duration<double>(now - last_share_).count();
  if (elapsed < kShareSeconds) return;
  const double share = std::min(1.0, std::exchange(looked_seconds_, 0) / elapsed);
  last_share_ = now;
  if (share == seen_.time_share) return;
  seen_.time_share = share;
  publish_observations();
}

void Trainer::Worker::observe_if_due(Watch& watch) {
  const auto now = Clock::now();
  if (watch.refused) return;
  if (!watch.pace.due(now, watch.observer->seconds(), watch.observer->share(), kObservationSeconds)) return;
  if (engine_->steps() == watch.step && !watch.observer->goes_on()) return;
  Scene scene = engine_->scene();
  scene.generation = view_.generation;
  try {
    if (!watch.observer->start(scene)) return;
  } catch (const core::Error& error) {
    watch.refused = true;
    if (watch.of_before) return;  // a layer that is no more: who looks on asks anew
    notice(error.what());
    log(LogLevel::warning, error.what());
    return;
  }
  engine_->interrupt();
  watch.step = engine_->steps();
  watch.pace.took_turn(now);
}

void Trainer::Worker::publish_observations() {
  const std::lock_guard lock(mutex_);
  published_observations_ = seen_;
}

}  // namespace warpscope::training
