#include "gpu/ranks/sums.h"

#include <chrono>
#include <utility>

namespace warpscope::ranks {
namespace {

constexpr std::chrono::milliseconds kWatchInterval(100);

}  // namespace

void Sums::note_purpose(const Collective& collective) {
  const std::uint64_t step = step_;
  if (step == noted_step_ && collective == noted_) return;
  noted_step_ = step;
  noted_ = collective;
  group_->note_purpose(told(collective, step, steps_lie_ahead_));
}

Group& Sums::group_for(const Collective& collective) {
  note_purpose(collective);
  return *group_;
}

void Sums::note_on_device(const std::optional<Collective>& collective) {
  const std::lock_guard lock(mutex_);
  on_device_ = collective;
}

void Sums::add(std::span<float> values, float share, const Collective& collective) noexcept {
  try {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return;
    }
    note_purpose(collective);
    sum_over_ranks(*group_, values, share);
  } catch (...) {
    fail(std::current_exception());
  }
}

void Sums::link(const std::shared_ptr<core::Device>& device) {
  steps_lie_ahead_ = device->kind() == core::DeviceKind::cuda;
  if constexpr (core::kHaveCuda) {
    nccl_ = link_by_nccl(*group_, *device, no_nccl_);
    p2p_ = link_by_p2p(*group_, device, no_p2p_);
  }
  group_->note_purpose("the sums of a step");
}

void Sums::fail(std::exception_ptr failure) noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
}

void Sums::look_at_the_device(const Meeting& meeting, DeviceWait& wait, const TellSlow& tell_slow) const {
  std::optional<Collective> collective;
  {
    const std::lock_guard lock(mutex_);
    collective = on_device_;
  }
  wait.look(collective, awaited_step_, meeting.silent(), kWatchInterval, tell_slow);
}

void Sums::watch(std::shared_ptr<const Meeting> meeting, TellSlow tell_slow) {
  watcher_ = std::thread([this, meeting = std::move(meeting), tell_slow = std::move(tell_slow)] {
    DeviceWait wait;
    std::unique_lock lock(mutex_);
    while (!ends_.wait_for(lock, kWatchInterval, [this] { return ending_ || failure_; })) {
      lock.unlock();
      meeting->look(kWatchInterval);
      if (tell_slow) look_at_the_device(*meeting, wait, tell_slow);
      const std::string missing = place().leads() ? meeting->missing() : "";
      if (missing.empty()) {
        lock.lock();
        continue;
      }
      fail(std::make_exception_ptr(RankMissing(missing, {})));
      give_up();
      return;
    }
  });
}

void Sums::give_up() {
  if (p2p_) p2p_->give_up();
  if (nccl_) nccl_->give_up();
}

Sums::~Sums() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ends_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

void Sums::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace warpscope::ranks
