#pragma once
// The energy that stretches of undisturbed training take.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "gpu/core/energy.h"
#include "gpu/engine/shared_devices.h"

namespace warpscope::training {

class EnergyUse {
 public:
  struct Stretch {
    double joules = 0;
    std::uint64_t steps = 0;
    double seconds = 0;
  };
  /// `shared` is nullptr where no other training is known of.
  EnergyUse(const core::DeviceInfo& device, std::shared_ptr<SharedDevices> shared)
      : device_(device), meter_(device), shared_(std::move(shared)) {}

  /// What comes is not the training that was, or not only training.
  void interrupt() { last_.reset(); }
  /// No step runs.
  void rest();
  /// Call it after `step` steps. Returns what was used since the last measurement; nothing if none is due, at the first
  /// one, and where another training ran on the device.
  std::optional<Stretch> measure(std::uint64_t step);

 private:
  using Clock = std::chrono::steady_clock;
  /// How much energy the device had used when it had trained so far.
  struct Sample {
    double joules = 0;
    std::uint64_t step = 0;
    Clock::time_point at{};
    std::uint64_t by_itself = 0;  ///< SharedDevices::by_itself_on()
  };

  core::DeviceInfo device_;
  core::EnergyMeter meter_;
  std::shared_ptr<SharedDevices> shared_;
  std::shared_ptr<const void> running_on_;  ///< SharedDevices::run_on() while it trains
  std::optional<Sample> last_;              ///< while nothing but training has happened since
};

}  // namespace warpscope::training
