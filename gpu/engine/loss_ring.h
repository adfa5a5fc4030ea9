#pragma once
// Brings step records from the device's ring to the host in batches, without a step ever waiting.

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/ops/step/step.h"

namespace warpscope::training {

class LossRing {
 public:
  explicit LossRing(const std::shared_ptr<core::Device>& device);

  /// The device's ring, for Bindings.
  ops::step::StepRecord* device_ring() const { return ring_.as<ops::step::StepRecord>(); }
  static constexpr std::int64_t kCapacity = 1024;

  /// Forgets everything: the next step is `next_step`, counted from 0. The stream must be idle.
  void reset(std::uint64_t next_step = 0);

  /// Enqueues copies of the records of steps [copied, enqueued). Call it before `enqueued` is half a ring
  /// ahead of the last call; waits only if the copy from two calls before has still not arrived.
  void request(core::Stream& stream, std::uint64_t enqueued);
  /// Steps enqueued since the last request.
  std::uint64_t unrequested(std::uint64_t enqueued) const { return enqueued - requested_; }

  /// Appends the records that have arrived, in order. Never waits.
  void collect(std::vector<ops::step::StepRecord>& records);

 private:
  struct Transfer {
    core::HostBuffer staging;
    std::unique_ptr<core::Event> done;
    std::uint64_t count = 0;  ///< records under way; 0 if free
  };
  void take(Transfer& transfer);

  core::Buffer ring_;
  Transfer transfers_[2];
  std::deque<int> under_way_;  ///< indices of transfers, oldest first
  std::vector<ops::step::StepRecord> arrived_;
  std::uint64_t requested_ = 0;
};

}  // namespace warpscope::training
