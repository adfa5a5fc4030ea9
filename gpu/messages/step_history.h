#pragma once
// The one rule by which histories thin out: things kept at steps that lie evenly on a logarithm of the steps since the
// first, so that memory stays bounded however long a training takes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace warpscope::training {

/// T is cheap to move. Who owns a history says how many bytes it may take, and calls thin() until it does.
template <class T>
class StepHistory {
 public:
  struct Entry {
    std::uint64_t step = 0;
    std::size_t bytes = 0;
    T kept{};
  };

  /// Kept steps of the beginning are at least 1 apart, later ones `ratio` of the steps since the first.
  explicit StepHistory(double ratio = 1.02) : first_ratio_(ratio), ratio_(ratio) {}

  /// True if what is added after `step` steps will stay when newer ones come: it is the first of its place on the
  /// logarithm, or the training has gone back.
  bool wants(std::uint64_t step) const {
    if (entries_.empty()) return true;
    const std::uint64_t last = entries_.back().step;
    return step < last || place(step) > place(last);
  }
  /// The newest from now on. The one before stays if it is the first of its place; those of this step and later ones,
  /// from which a training has gone back, are dropped.
  void add(std::uint64_t step, std::size_t bytes, T kept) {
    std::erase_if(entries_, [step](const Entry& one) { return one.step >= step; });
    if (entries_.empty()) ratio_ = first_ratio_;
    const std::size_t count = entries_.size();
    if (count > 1 && place(entries_[count - 1].step) <= place(entries_[count - 2].step)) entries_.pop_back();
    entries_.push_back({step, bytes, std::move(kept)});
  }
  /// Beside the others, in the place of one of this step: what is looked at in any order, as checkpoints are.
  void put(std::uint64_t step, std::size_t bytes, T kept) {
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), step,
                         [](const Entry& one, std::uint64_t wanted) { return one.step < wanted; });
    if (at == entries_.end()) return add(step, bytes, std::move(kept));
    Entry entry{step, bytes, std::move(kept)};
    if (at->step == step) {
      *at = std::move(entry);
    } else {
      entries_.insert(at, std::move(entry));
    }
  }
  /// Half as many places: of each the first stays, and the oldest and the newest of all. False, and nothing more, where
  /// there are only these two.
  bool thin() {
    if (entries_.size() <= 2) return false;
    ratio_ *= ratio_;
    std::vector<Entry> left;
    for (Entry& one : entries_) {
      const bool newest = &one == &entries_.back();
      if (newest || left.empty() || place(one.step) > place(left.back().step)) left.push_back(std::move(one));
    }
    entries_ = std::move(left);
    return true;
  }
  void forget_after(std::uint64_t step) {
    std::erase_if(entries_, [step](const Entry& one) { return one.step > step; });
  }
  void clear() { entries_.clear(); }

  /// By step, the newest last.
  const std::vector<Entry>& entries() const { return entries_; }
  std::size_t bytes() const {
    return std::accumulate(entries_.begin(), entries_.end(), std::size_t{0},
                           [](std::size_t sum, const Entry& one) { return sum + one.bytes; });
  }
  /// nullptr if there is nothing; of two that are equally near the earlier one.
  const Entry* nearest(std::uint64_t step) const;

 private:
  double place(std::uint64_t step) const {
    const std::uint64_t first = entries_.empty() ? 0 : std::min(step, entries_.front().step);
    return std::floor(std::log(static_cast<double>(step - first) + 1) / std::log(ratio_));
  }

  double first_ratio_, ratio_;  ///< of neighbouring places
  std::vector<Entry> entries_;
};

/// The index of the nearest of `count` rising steps, of which `at(i)` is one; of two that are equally near the earlier
/// one. 0 where there are none.
template <class At>
std::size_t nearest_of(std::size_t count, std::uint64_t step, const At& at) {
  std::size_t first = 0, last = count;
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    at(middle) < step ? first = middle + 1 : last = middle;
  }
  if (first == count) return count == 0 ? 0 : count - 1;
  return first > 0 && step - at(first - 1) <= at(first) - step ? first - 1 : first;
}

template <class T>
auto StepHistory<T>::nearest(std::uint64_t step) const -> const Entry* {
  if (entries_.empty()) return nullptr;
  return &entries_[nearest_of(entries_.size(), step, [this](std::size_t i) { return entries_[i].step; })];
}

}  // namespace warpscope::training
