#include "gpu/engine/loss_ring.h"

#include <algorithm>

namespace warpscope::training {

using ops::step::StepRecord;

LossRing::LossRing(const std::shared_ptr<core::Device>& device)
    : ring_(device, kCapacity * sizeof(StepRecord)) {
  for (Transfer& transfer : transfers_) {
    transfer.staging = core::HostBuffer(device, kCapacity * sizeof(StepRecord));
    transfer.done = device->make_event(false);
  }
}

void LossRing::reset(std::uint64_t next_step) {
  for (Transfer& transfer : transfers_) transfer.count = 0;
  under_way_.clear();
  arrived_.clear();
  requested_ = next_step;
}

void LossRing::take(Transfer& transfer) {
  const auto* records = transfer.staging.as<StepRecord>();
  arrived_.insert(arrived_.end(), records, records + transfer.count);
  transfer.count = 0;
}

void LossRing::request(core::Stream& stream, std::uint64_t enqueued) {
  if (enqueued == requested_) return;
  if (under_way_.size() == 2) {
    Transfer& oldest = transfers_[under_way_.front()];
    oldest.done->synchronize();
    take(oldest);
    under_way_.pop_front();
  }
  const int index = transfers_[0].count == 0 ? 0 : 1;
  Transfer& transfer = transfers_[index];
  auto* staging = transfer.staging.as<StepRecord>();
  while (requested_ < enqueued) {
    const std::uint64_t slot = requested_ % kCapacity;
    const std::uint64_t run = std::min(enqueued - requested_, static_cast<std::uint64_t>(kCapacity) - slot);
    stream.copy(staging + transfer.count, device_ring() + slot, run * sizeof(StepRecord));
    transfer.count += run;
    requested_ += run;
  }
  stream.record(*transfer.done);
  under_way_.push_back(index);
}

void LossRing::collect(std::vector<StepRecord>& records) {
  while (!under_way_.empty() && transfers_[under_way_.front()].done->ready()) {
    take(transfers_[under_way_.front()]);
    under_way_.pop_front();
  }
  records.insert(records.end(), arrived_.begin(), arrived_.end());
  arrived_.clear();
}

}  // namespace warpscope::training
