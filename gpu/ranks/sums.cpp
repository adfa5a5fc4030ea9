#include "gpu/ranks/sums.h"

#include <chrono>

#include <fmt/format.h>

#include "gpu/files/file.h"

namespace warpscope::ranks {
namespace {

constexpr std::chrono::milliseconds kWatchInterval(100);

}  // namespace

void Sums::note_purpose(std::string_view op) {
  const std::uint64_t step = step_;
  if (step == noted_step_ && op == noted_op_) return;
  noted_step_ = step;
  noted_op_ = op;
  group_->note_purpose(
      fmt::format("{} of {} {}", op, steps_lie_ahead_ ? "a step up to" : "step", files::grouped(step)));
}

void Sums::add(std::span<float> values, float share, std::string_view op) noexcept {
  try {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return;
    }
    note_purpose(op);
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

void Sums::watch(std::shared_ptr<const Meeting> meeting) {
  watcher_ = std::thread([this, meeting = std::move(meeting)] {
    std::unique_lock lock(mutex_);
    while (!ends_.wait_for(lock, kWatchInterval, [this] { return ending_ || failure_; })) {
      lock.unlock();
      meeting->look(kWatchInterval);
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
