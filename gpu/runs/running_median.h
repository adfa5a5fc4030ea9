#pragma once
// The median of numbers that come one after the other.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace warpscope::training {

/// Exact: the number at place size() / 2 of those in order. A number costs O(log n).
class RunningMedian {
 public:
  void add(float value) {
    if (!upper_.empty() && value < upper_.front()) {
      push(lower_, value, std::less<>());
      if (lower_.size() > upper_.size()) push(upper_, pop(lower_, std::less<>()), std::greater<>());
    } else {
      push(upper_, value, std::greater<>());
      if (upper_.size() > lower_.size() + 1) push(lower_, pop(upper_, std::greater<>()), std::less<>());
    }
  }
  std::size_t size() const { return lower_.size() + upper_.size(); }
  /// NaN if there is none.
  double value() const {
    return upper_.empty() ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(upper_.front());
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

  std::vector<float> lower_;  ///< the smaller half, the largest at the front
  std::vector<float> upper_;  ///< the larger half, the smallest at the front
};

}  // namespace warpscope::training
