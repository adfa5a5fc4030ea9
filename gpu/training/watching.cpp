#include "gpu/training/watching.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gpu/core/device_lost.h"
#include "gpu/core/error.h"
#include "gpu/observers/observer_table.h"

namespace warpscope::training {
namespace {

constexpr double kLeastSeconds = 0.1;  ///< between two looks of an observer
constexpr double kShareSeconds = 1;

}  // namespace

Watching::Watching(Engine& engine, Publishing& publishing) : engine_(engine), publishing_(publishing) {
  for (auto& observer : make_observers()) watches_.push_back({std::move(observer)});
  ask_observers();
}

void Watching::ask(const ObservationRequest& request) {
  asked_ = request;
  ask_observers();
}

void Watching::copy_weights(std::uint64_t number) {
  copied_weights_ = number;
  ask_observers();
}

void Watching::ask_observers() {
  ObservationRequest request = asked_;
  request.weights = copied_weights_;
  request.feature_probe = request.feature_probe || publishing_.settings().probe;
  for (Watch& watch : watches_) {
    if (!watch.observer->ask(request)) continue;
    watch.refused = watch.of_network_before = false;
    watch.step = kNoStep;
    watch.pace.forget();
    if (!watch.observer->wanted()) watch.observer->end(seen_);
  }
  publishing_.show(seen_);
}

void Watching::look_anew() {
  for (Watch& watch : watches_) watch.step = kNoStep;
}

void Watching::forget_costs() {
  look_anew();
  for (Watch& watch : watches_) watch.pace.forget();
}

void Watching::follow_network() {
  for (Watch& watch : watches_) {
    watch.observer->restart(seen_);
    watch = {std::move(watch.observer), kNoStep, {}, false, true};
  }
  seen_.network = publishing_.view.network_number;
  seen_.aside = nullptr;
  publishing_.show(seen_);
}

void Watching::show_aside(std::shared_ptr<const AsideSeen> aside) {
  if (aside == seen_.aside) return;
  seen_.aside = std::move(aside);
  publishing_.show(seen_);
}

void Watching::look_if_due(bool starts) {
  bool arrived = false;
  for (Watch& watch : watches_) {
    if (!watch.observer->wanted()) continue;
    if (watch.observer->take(seen_)) {
      arrived = true;
      seconds_ += watch.observer->seconds();
    }
    if (starts) look_if_due(watch);
  }
  measure();
  if (arrived) {
    note_probe();
    publishing_.show(seen_);
  }
}

/// A probe that is new becomes a point of its curve.
void Watching::note_probe() {
  if (seen_.probe == noted_probe_) return;
  noted_probe_ = seen_.probe;
  const Snapshot& view = publishing_.view;
  if (!noted_probe_ || noted_probe_->generation != view.generation) return;
  if (!noted_probe_->problem.empty()) return publishing_.log(LogLevel::warning, noted_probe_->problem);
  const auto since = static_cast<double>(engine_.steps() - noted_probe_->step);
  const double epoch =
      engine_.epoch() - since * engine_.images_of_step() / static_cast<double>(view.train_images);
  Point point{noted_probe_->step, epoch, view.seconds, Split::test};
  point[Metric::feature_accuracy] = static_cast<float>(noted_probe_->accuracy);
  publishing_.emit(point);
}

/// Once a second: the share of the device's time.
void Watching::measure() {
  const auto now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - last_share_).count();
  if (elapsed < kShareSeconds) return;
  const double share = std::min(1.0, std::exchange(seconds_, 0) / elapsed);
  last_share_ = now;
  if (share == seen_.time_share) return;
  seen_.time_share = share;
  publishing_.show(seen_);
}

void Watching::look_if_due(Watch& watch) {
  const auto now = Clock::now();
  if (watch.refused) return;
  if (!watch.pace.due(now, watch.observer->seconds(), watch.observer->share(), kLeastSeconds)) return;
  if (engine_.steps() == watch.step && !watch.observer->goes_on()) return;
  Scene scene = engine_.scene();
  scene.generation = publishing_.view.generation;
  try {
    if (!watch.observer->start(scene)) return;
  } catch (const core::DeviceLost&) {
    throw;  // it is not the look that ends
  } catch (const core::Error& error) {
    watch.refused = true;
    if (!watch.of_network_before) publishing_.tell(error.what());  // else who looks on asks anew
    return;
  }
  engine_.interrupt();
  watch.step = engine_.steps();
  watch.pace.took_turn(now);
}

}  // namespace warpscope::training
