#pragma once
// What trainings of one process that run side by side have together: pass one to all of them.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "gpu/core/device.h"
#include "gpu/engine/device_data.h"
#include "gpu/profiling/peaks.h"

namespace warpscope::training {

/// Any thread may call it.
class SharedDevices {
 public:
  /// The set on the device, which is uploaded unless somebody holds that same object there. Its memory counts for none
  /// of those who share it. Waits. Throws core::OutOfMemory.
  std::shared_ptr<const DeviceData> data(const core::DeviceInfo& device,
                                         const std::shared_ptr<const data::DataSet>& data);

  /// What the device can do at best: by `measure` (profiling::measure_peaks()), which one who asks runs for all. What
  /// was measured while a training ran there is given, but not kept. Waits for whoever measures there. Throws what
  /// `measure` throws.
  profiling::Peaks peaks(const core::DeviceInfo& device, const std::function<profiling::Peaks()>& measure);

  /// A training runs on the device for as long as somebody holds this.
  std::shared_ptr<const void> run_on(const core::DeviceInfo& device);
  /// What a device uses is a training's own where it runs there by itself: a number that is the same as long as nobody
  /// comes or goes, nothing while several run there.
  std::optional<std::uint64_t> by_itself_on(const core::DeviceInfo& device) const;

 private:
  struct Runs {
    mutable std::mutex mutex;
    int running = 0;
    std::uint64_t changes = 0;
  };
  struct MeasuredPeaks {
    std::mutex measuring;
    std::optional<profiling::Peaks> peaks;
  };
  std::shared_ptr<Runs> runs_on(const core::DeviceInfo& device) const;

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, const data::DataSet*>, std::weak_ptr<const DeviceData>> sets_;
  mutable std::map<std::string, std::shared_ptr<Runs>> runs_;
  std::map<std::string, MeasuredPeaks> peaks_;  ///< entries stay where they are
};

}  // namespace warpscope::training
