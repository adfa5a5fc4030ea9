#pragma once
// Every step of a training in little memory: one column a quantity, and none for what never changes.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/runs/curves.h"
#include "ui/panels/curves/loss_metrics.h"

namespace warpscope::ui {

/// A column of floats whose leading equal values take no memory: a loss scale of 1 or a constant rate costs
/// nothing.
class CompactColumn {
 public:
  void append(float value) {
    if (size_ == 0) same_ = value;
    // Bits, so that NaN equals itself.
    if (!values_.empty() || std::bit_cast<std::uint32_t>(value) != std::bit_cast<std::uint32_t>(same_)) {
      if (values_.empty()) values_.assign(size_, same_);
      values_.push_back(value);
    }
    ++size_;
  }
  std::size_t size() const { return size_; }
  float operator[](std::size_t i) const { return values_.empty() ? same_ : values_[i]; }
  /// Drops the values from `size` on.
  void cut(std::size_t size) {
    size_ = std::min(size_, size);
    if (!values_.empty()) values_.resize(size_);
  }
  /// True while all values are equal.
  bool constant() const { return values_.empty(); }

 private:
  std::size_t size_ = 0;
  float same_ = 0;
  std::vector<float> values_;
};

inline constexpr std::size_t kOvers = 3;  ///< values of runs::Over

struct StepTable {
  /// By runs::Over: number, epoch and seconds of each step, none of which ever falls. Numbers of steps are exact.
  std::array<std::vector<double>, kOvers> x;
  std::array<CompactColumn, kMetrics> values;  ///< by Metric
  std::vector<std::size_t> skipped;            ///< rows whose gradients overflowed
  std::vector<double>
      breaks;  ///< steps after which earlier weights came back (training::Marker::anew), in order

  /// Drops the rows from `size` on.
  void cut(std::size_t size) {
    for (auto& column : x) column.resize(size);
    for (CompactColumn& column : values) column.cut(size);
    std::erase_if(skipped, [size](std::size_t row) { return row >= size; });
    std::erase_if(breaks, [this](double step) { return empty() || step > over(runs::Over::step).back(); });
  }
  /// True if averages begin anew with this row.
  bool begins_anew(std::size_t row) const {
    if (row == 0 || breaks.empty()) return false;
    const auto& numbers = over(runs::Over::step);
    const auto found = std::lower_bound(breaks.begin(), breaks.end(), numbers[row - 1]);
    return found != breaks.end() && *found < numbers[row];
  }
  std::size_t size() const { return over(runs::Over::step).size(); }
  bool empty() const { return size() == 0; }
  const std::vector<double>& over(runs::Over axis) const { return x[static_cast<std::size_t>(axis)]; }
  const CompactColumn& of(Metric metric) const { return values[static_cast<std::size_t>(metric)]; }
};

}  // namespace warpscope::ui
