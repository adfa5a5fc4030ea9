#include "gpu/classifiers/rbf_svm/working_set.h"

#include <algorithm>

#include "gpu/classifiers/rbf_svm/smo_step.h"

namespace warpscope::classifiers::rbf {
namespace {

/// The first `count` of `rows` by `before`, in order.
template <class Before>
void keep_first(std::vector<int>& rows, std::size_t count, const Before& before) {
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(count, rows.size()));
  std::partial_sort(rows.begin(), end, rows.end(), before);
  rows.erase(end, rows.end());
}

}  // namespace

std::size_t WorkingSet::choose(const PairValues& pair, std::span<const double> v,
                               std::span<const char> member) {
  const std::size_t changed = next_;
  next_ = 1 - next_;
  std::vector<char> taken(v.size(), 0);
  for (const int row : rows_[next_]) taken[static_cast<std::size_t>(row)] = 1;
  std::vector<int> rising, falling;
  for (std::size_t t = 0; t < v.size(); ++t) {
    if (taken[t] != 0 || (!member.empty() && member[t] == 0)) continue;
    const bool positive = t < pair.first;
    if (can_rise(positive, pair.alpha[t], pair.bound(t))) rising.push_back(static_cast<int>(t));
    if (can_fall(positive, pair.alpha[t], pair.bound(t))) falling.push_back(static_cast<int>(t));
  }
  const auto at = [&](int row) { return v[static_cast<std::size_t>(row)]; };
  // Equal rows by their numbers, so that the choice is the same every time.
  keep_first(rising, half_, [&](int a, int b) { return at(a) != at(b) ? at(a) < at(b) : a < b; });
  keep_first(falling, half_, [&](int a, int b) { return at(a) != at(b) ? at(a) > at(b) : a < b; });
  std::vector<int>& rows = rows_[changed];
  rows.clear();
  const auto take = [&](const std::vector<int>& from, std::size_t k) {
    if (k >= from.size() || rows.size() >= half_ || taken[static_cast<std::size_t>(from[k])] != 0) return;
    taken[static_cast<std::size_t>(from[k])] = 1;
    rows.push_back(from[k]);
  };
  for (std::size_t k = 0; k < half_; ++k) {
    take(rising, k);
    take(falling, k);
  }
  return changed;
}

}  // namespace warpscope::classifiers::rbf
