#pragma once
// Which rows of a pair are optimized together where the distances of all of them do not fit the memory.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "gpu/classifiers/rbf_svm/pair_check.h"

namespace warpscope::classifiers::rbf {

/// Rows that are optimized together, in two halves: each time the half that has stayed longer goes, and rows that
/// violate the conditions most come, by turns those with the largest -v that can rise and those with the largest v
/// that can fall.
/// Source: Z. Wen, J. Shi, Q. Li, B. He, J. Chen, "ThunderSVM: a fast SVM library on GPUs and CPUs" (2018).
class WorkingSet {
 public:
  explicit WorkingSet(std::size_t half) : half_(half) {}

  /// Chooses anew; returns which half has changed. `member`: rows that take part; empty: all. Both halves are filled
  /// by two calls.
  std::size_t choose(const PairValues& pair, std::span<const double> v, std::span<const char> member);

  /// The rows of a half; the place of a row in it is its slot.
  const std::vector<int>& rows(std::size_t half) const { return rows_[half]; }

 private:
  std::size_t half_;
  std::size_t next_ = 0;
  std::array<std::vector<int>, 2> rows_;
};

}  // namespace warpscope::classifiers::rbf
