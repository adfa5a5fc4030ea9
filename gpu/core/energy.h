#pragma once
// The energy that a GPU has used, as its driver counts it (NVML, loaded if it is there), and what it draws now.

#include <future>
#include <memory>

#include "gpu/core/device.h"

namespace warpscope::core {

/// What a GPU does now; 0 where it does not tell.
struct GpuLoad {
  double watts = 0;      ///< of the whole board
  double megahertz = 0;  ///< of its multiprocessors
};

class EnergyMeter {
 public:
  /// For CPUs, and where NVML or its counter is missing, joules() is negative. NVML, which takes its time to begin, is
  /// opened by a thread of its own.
  explicit EnergyMeter(const DeviceInfo& device);
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  /// Since the driver was loaded; negative where it does not tell. Waits for NVML unless ready(). It moves on every 20
  /// to 100 ms: measure over a second or more. Source: NVML, nvmlDeviceGetTotalEnergyConsumption (Volta and later).
  double joules() const;
  /// Nothing before it is ready(). Source: NVML, nvmlDeviceGetPowerUsage and nvmlDeviceGetClockInfo.
  GpuLoad load() const;
  /// NVML has been opened, or cannot be.
  bool ready() const;

 private:
  struct Library;
  std::shared_future<std::shared_ptr<const Library>> library_;
};

}  // namespace warpscope::core
