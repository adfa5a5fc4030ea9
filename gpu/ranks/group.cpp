#include "gpu/ranks/group.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "gpu/ranks/shared_region.h"

namespace warpscope::ranks {
namespace {

constexpr std::size_t kPiece = 1 << 20;  // values that are summed at once: bounds the memory it takes
constexpr std::size_t kStretch = 4096;   // values of each rank that stay in the nearest cache

void add(float* __restrict to, const float* __restrict from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

/// The first `block` of `values` becomes the sum of all: the tree of sum_over_ranks().
void sum_blocks(float* values, std::size_t block, int ranks) {
  for (std::size_t begin = 0; begin < block; begin += kStretch) {
    const std::size_t count = std::min(block - begin, kStretch);
    float* const first = values + begin;
    for (int step = 1; step < ranks; step *= 2) {
      for (int rank = 0; rank + step < ranks; rank += 2 * step) {
        add(first + block * rank, first + block * (rank + step), count);
      }
    }
  }
}

std::size_t block_of(std::size_t values, int ranks) {
  return (values + ranks - 1) / ranks;
}

/// A block for each rank of what this one gives or is given.
using Blocks = std::vector<float>;

void sum_piece(Group& group, std::span<float> values, float share, Blocks& given_blocks,
               Blocks& taken_blocks) {
  const int ranks = group.place().size;
  const std::size_t block = block_of(values.size(), ranks);
  const std::size_t padded = block * ranks;
  float* const given = given_blocks.data();
  for (std::size_t i = 0; i < values.size(); ++i) given[i] = share * values[i];
  std::fill(given + values.size(), given + padded, 0.0f);

  float* const taken = taken_blocks.data();
  group.all_to_all(std::as_bytes(std::span(given, padded)), std::as_writable_bytes(std::span(taken, padded)));
  sum_blocks(taken, block, ranks);
  const auto sums = std::as_bytes(std::span(taken, block));
  if (padded == values.size()) {
    group.all_gather(sums, std::as_writable_bytes(values));
    return;
  }
  group.all_gather(sums, std::as_writable_bytes(std::span(given, padded)));
  std::memcpy(values.data(), given, values.size_bytes());
}

}  // namespace

std::chrono::milliseconds patience_in(int number, std::chrono::milliseconds patience) {
  return (number == kOrders ? 2 : 1) * patience;
}

std::string stood_still(const std::vector<int>& ranks, std::chrono::nanoseconds waited,
                        const std::string& purpose) {
  return fmt::format("{} stood still for {:.1f} s; {} to come to {}", names(ranks),
                     std::chrono::duration<double>(waited).count(),
                     ranks.size() == 1 ? "it was" : "they were", purpose);
}

void sum_over_ranks(Group& group, std::span<float> values, float share) {
  const int ranks = group.place().size;
  if (ranks == 1) {
    for (float& value : values) value *= share;
    return;
  }
  if (values.empty()) return;
  // They stay for the next step: to have the memory mapped anew each time takes longer than the sum.
  thread_local Blocks given;
  thread_local Blocks taken;
  const std::size_t most = block_of(std::min(values.size(), kPiece), ranks) * ranks;
  given.resize(std::max(given.size(), most));
  taken.resize(std::max(taken.size(), most));
  for (std::size_t begin = 0; begin < values.size(); begin += kPiece) {
    sum_piece(group, values.subspan(begin, std::min(kPiece, values.size() - begin)), share, given, taken);
  }
}

}  // namespace warpscope::ranks
