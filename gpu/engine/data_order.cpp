#include "gpu/engine/data_order.h"

#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"

namespace warpscope::training {

DataOrder::DataOrder(std::int64_t count, std::uint64_t seed, bool shuffle)
    : order_(static_cast<std::size_t>(count)), seed_(seed), shuffle_(shuffle) {}

void DataOrder::reset() {
  position_ = 0;
  epochs_done_ = 0;
  fresh_ = true;
}

void DataOrder::restore(std::uint64_t epochs_done, std::uint32_t position) {
  if (position > 0 && position >= order_.size()) {
    throw core::BadInput(fmt::format(
        "the data order cannot go on at image {} of an epoch of {} images; use the data that it was made for",
        position, order_.size()));
  }
  epochs_done_ = epochs_done;
  position_ = position;
  fresh_ = true;
  end_epoch_if_short();
}

void DataOrder::set_batch(int batch) {
  batch_ = static_cast<std::uint32_t>(batch);
  end_epoch_if_short();
}

void DataOrder::end_epoch_if_short() {
  if (position_ == 0 || position_ + batch_ <= order_.size()) return;
  position_ = 0;
  ++epochs_done_;
  fresh_ = true;
}

void DataOrder::make_order() {
  std::iota(order_.begin(), order_.end(), 0u);
  if (!shuffle_) return;
  const std::uint64_t seed = core::random_bits(seed_, epochs_done_);
  for (std::size_t i = order_.size(); i > 1; --i) {
    // The bias of the remainder is below 2^-40 for any data set that fits in memory.
    std::swap(order_[i - 1], order_[core::random_bits(seed, i) % i]);
  }
}

bool DataOrder::begin_step() {
  if (!std::exchange(fresh_, false)) return false;
  make_order();
  return true;
}

void DataOrder::end_step() {
  position_ += batch_;
  end_epoch_if_short();
}

std::uint32_t DataOrder::epoch_size() const {
  const auto left = static_cast<std::uint32_t>(order_.size()) - position_;
  return position_ + left / batch_ * batch_;
}

double DataOrder::epoch() const {
  return static_cast<double>(epochs_done_) +
         static_cast<double>(position_) / static_cast<double>(epoch_size());
}

std::uint64_t DataOrder::steps_until(std::uint64_t epochs) const {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (epochs <= epochs_done_) return 0;
  const std::uint64_t further_epochs = epochs - epochs_done_ - 1;
  const std::uint64_t steps_of_epoch = order_.size() / batch_;
  if (further_epochs >= kMost / steps_of_epoch) return kMost;
  return (epoch_size() - position_) / batch_ + further_epochs * steps_of_epoch;
}

}  // namespace warpscope::training
