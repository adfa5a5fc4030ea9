#pragma once
// Sums over the positions of a batch, for loops on the CPU that walk it along its channels.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace warpscope::ops {

/// `columns` sums: add(position, sums) adds to each of them what a position gives. 64 positions are added up by
/// themselves before they join the total, so that the rounding error of a sum over a whole batch stays that of
/// short ones.
template <class Add>
std::vector<float> position_sums(std::int64_t positions, std::int64_t columns, Add add) {
  constexpr std::int64_t kTogether = 64;
  std::vector<float> total(static_cast<std::size_t>(columns));
  std::vector<float> some(total.size());
  for (std::int64_t first = 0; first < positions; first += kTogether) {
    std::fill(some.begin(), some.end(), 0.0f);
    const std::int64_t end = std::min(first + kTogether, positions);
    for (std::int64_t position = first; position < end; ++position) add(position, some.data());
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += some[i];
  }
  return total;
}

}  // namespace warpscope::ops
