#include "gpu/training/energy_use.h"

namespace warpscope::training {
namespace {

/// Asking for the energy costs a step of the training 0.9 ms (H100).
constexpr auto kMeasuringInterval = std::chrono::milliseconds(2500);

}  // namespace

void EnergyUse::rest() {
  last_.reset();
  running_on_.reset();
}

std::optional<EnergyUse::Stretch> EnergyUse::measure(std::uint64_t step) {
  if (shared_ && !running_on_) running_on_ = shared_->run_on(device_);
  const auto by_itself = shared_ ? shared_->by_itself_on(device_) : 0;
  if (last_ && last_->by_itself != by_itself) last_.reset();
  if (!by_itself) return std::nullopt;
  if (last_ && Clock::now() - last_->at < kMeasuringInterval) return std::nullopt;
  if (!meter_.ready()) return std::nullopt;
  const Sample now{meter_.joules(), step, Clock::now(), *by_itself};
  if (now.joules < 0) return std::nullopt;
  std::optional<Stretch> stretch;
  if (last_ && now.step > last_->step) {
    stretch = {now.joules - last_->joules, now.step - last_->step,
               std::chrono::duration<double>(now.at - last_->at).count()};
  }
  last_ = now;
  return stretch;
}

}  // namespace warpscope::training
