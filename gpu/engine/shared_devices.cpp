#include "gpu/engine/shared_devices.h"

namespace warpscope::training {

std::shared_ptr<const DeviceData> SharedDevices::data(const core::DeviceInfo& device,
                                                      const std::shared_ptr<const data::DataSet>& data) {
  const std::lock_guard lock(mutex_);  // who comes meanwhile waits for the upload
  std::erase_if(sets_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<const DeviceData>& held = sets_[{device.id(), data.get()}];
  if (auto there = held.lock()) return there;
  const std::shared_ptr<core::Device> own = core::open_device(device.id());
  const std::unique_ptr<core::Stream> stream = own->make_stream();
  auto uploaded = std::make_shared<const DeviceData>(data, own, *stream);
  held = uploaded;
  return uploaded;
}

profiling::Peaks SharedDevices::peaks(const core::DeviceInfo& device,
                                      const std::function<profiling::Peaks()>& measure) {
  const std::shared_ptr<Runs> runs = runs_on(device);
  const auto still_since = [&runs]() -> std::optional<std::uint64_t> {
    const std::lock_guard lock(runs->mutex);
    if (runs->running > 0) return std::nullopt;
    return runs->changes;
  };
  MeasuredPeaks& held = [&]() -> MeasuredPeaks& {
    const std::lock_guard lock(mutex_);
    return peaks_[device.id()];
  }();
  const std::lock_guard lock(held.measuring);
  if (held.peaks) return *held.peaks;
  const auto before = still_since();
  const profiling::Peaks measured = measure();
  if (before && before == still_since()) held.peaks = measured;
  return measured;
}

std::shared_ptr<SharedDevices::Runs> SharedDevices::runs_on(const core::DeviceInfo& device) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Runs>& runs = runs_[device.id()];
  if (!runs) runs = std::make_shared<Runs>();
  return runs;
}

std::shared_ptr<const void> SharedDevices::run_on(const core::DeviceInfo& device) {
  const auto count = [](Runs& runs, int more) {
    const std::lock_guard lock(runs.mutex);
    runs.running += more;
    ++runs.changes;
  };
  std::shared_ptr<Runs> runs = runs_on(device);
  count(*runs, 1);
  Runs* const these = runs.get();
  return {these, [runs = std::move(runs), count](const void*) { count(*runs, -1); }};
}

std::optional<std::uint64_t> SharedDevices::by_itself_on(const core::DeviceInfo& device) const {
  const std::shared_ptr<Runs> runs = runs_on(device);
  const std::lock_guard lock(runs->mutex);
  if (runs->running > 1) return std::nullopt;
  return runs->changes;
}

}  // namespace warpscope::training
