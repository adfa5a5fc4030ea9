#pragma once
// What views have shown at earlier steps, a lane for each kind and each image or layer, and what goes where there is
// too much of it: in memory and in a run's file.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "gpu/messages/kept_view.h"
#include "gpu/messages/step_history.h"

namespace warpscope::training {

template <class T>
class ViewLanes {
 public:
  using Entry = typename StepHistory<T>::Entry;
  struct Lane {
    StepHistory<T> history;
    std::uint64_t added = 0;  ///< the count of calls when something was added last
  };

  explicit ViewLanes(double ratio = 1.02) : ratio_(ratio) {}

  /// StepHistory::wants().
  bool wants(ViewKey key, std::uint64_t step) const {
    const auto lane = lanes_.find(key);
    return lane == lanes_.end() || lane->second.history.wants(step);
  }
  /// StepHistory::put().
  void put(ViewKey key, std::uint64_t step, std::size_t bytes, T kept) {
    Lane& lane = lanes_.try_emplace(key, Lane{StepHistory<T>(ratio_)}).first->second;
    lane.history.put(step, bytes, std::move(kept));
    lane.added = ++puts_;
  }
  /// nullptr if there is nothing.
  const Entry* nearest(ViewKey key, std::uint64_t step) const {
    const auto lane = lanes_.find(key);
    return lane == lanes_.end() ? nullptr : lane->second.history.nearest(step);
  }
  /// nullptr if there is nothing of that very step.
  const Entry* at(ViewKey key, std::uint64_t step) const {
    const Entry* const found = nearest(key, step);
    return found != nullptr && found->step == step ? found : nullptr;
  }
  /// Entries of which `goes` is true go.
  template <class Goes>
  void erase_if(const Goes& goes) {
    ViewLanes left(ratio_);
    for (const auto& [key, lane] : lanes_) {
      for (const Entry& one : lane.history.entries()) {
        if (!goes(key, one)) left.put(key, one.step, one.bytes, one.kept);
      }
    }
    *this = std::move(left);
  }
  void forget_after(std::uint64_t step) {
    for (auto& [key, lane] : lanes_) lane.history.forget_after(step);
    std::erase_if(lanes_, [](const auto& lane) { return lane.second.history.entries().empty(); });
  }
  void clear() { lanes_.clear(); }
  bool empty() const { return lanes_.empty(); }
  const std::map<ViewKey, Lane>& lanes() const { return lanes_; }
  std::size_t bytes() const {
    return std::accumulate(
        lanes_.begin(), lanes_.end(), std::size_t{0},
        [](std::size_t sum, const auto& lane) { return sum + lane.second.history.bytes(); });
  }
  /// Until they take no more than `most` bytes: the kind that takes most gives. Its largest lane thins out, or where
  /// none is long enough, the one to which something was added longest ago goes.
  void fit(std::size_t most) {
    while (!lanes_.empty() && bytes() > most) thin_heaviest();
  }

 private:
  void thin_heaviest() {
    std::map<ViewKind, std::size_t> sums;
    for (const auto& [key, lane] : lanes_) sums[key.first] += lane.history.bytes();
    const ViewKind heaviest = std::max_element(sums.begin(), sums.end(), [](const auto& a, const auto& b) {
                                return a.second < b.second;
                              })->first;
    auto largest = lanes_.end(), oldest = lanes_.end();
    for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
      if (lane->first.first != heaviest) continue;
      if (largest == lanes_.end() || lane->second.history.bytes() > largest->second.history.bytes())
        largest = lane;
      if (oldest == lanes_.end() || lane->second.added < oldest->second.added) oldest = lane;
    }
    if (!largest->second.history.thin()) lanes_.erase(oldest);
  }

  double ratio_;
  std::map<ViewKey, Lane> lanes_;
  std::uint64_t puts_ = 0;
};

}  // namespace warpscope::training
