#pragma once
// The median of numbers that come one after the other.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace warpscope::training {

/// Exact: of those in order the one in the middle, of an even count the mean of the two there. A number costs O(log n).
class RunningMedian {
 public:
  void add(float value) {
    all_.push_back(value);
    if (!upper_.empty() && value < upper_.front()) {
      push(lower_, value, std::less<>());
      if (lower_.size() > upper_.size()) push(upper_, pop(lower_, std::less<>()), std::greater<>());
    } else {
      push(upper_, value, std::greater<>());
      if (upper_.size() > lower_.size() + 1) push(lower_, pop(upper_, std::greater<>()), std::less<>());
    }
  }
  std::size_t size() const { return all_.size(); }
  /// Leaves the first `size` numbers that came: O(n log n).
  void truncate(std::size_t size) {
    if (size >= all_.size()) return;
    const std::vector<float> before = std::move(all_);
    *this = {};
    for (std::size_t i = 0; i < size; ++i) add(before[i]);
  }
  /// NaN if there is none.
  double value() const {
    if (upper_.empty()) return std::numeric_limits<double>::quiet_NaN();
    const auto above = static_cast<double>(upper_.front());
    return upper_.size() > lower_.size() ? above : (static_cast<double>(lower_.front()) + above) / 2;
  }

 private:
  template <class Order>
  static void push(std::vector<float>& heap, float value, Order order) {
    heap.push_back(value);
    std::push_heap(heap.begin(), heap.end(), order);
  }
  template <class Order>
  static float pop(std::vector<float>& heap, Order order) {
    std::pop_heap(heap.begin(), heap.end(), order);
    const float value = heap.back();
    heap.pop_back();
    return value;
  }

  std::vector<float> all_;    ///< in the order in which they came
  std::vector<float> lower_;  ///< the smaller half, the largest at the front
  std::vector<float> upper_;  ///< the larger half, the smallest at the front
};

}  // namespace warpscope::training
