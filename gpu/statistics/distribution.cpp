#include "gpu/statistics/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace warpscope::statistics {
namespace {

/// The numbers of one bin, from the least to the largest.
struct Bin {
  std::uint64_t count = 0;
  double low = 0;
  double high = 0;
};

/// Bin `place` of the finite numbers in ascending order: the negative ones, from the largest magnitude, the zeros, the
/// positive ones.
Bin ascending_bin(const Distribution& distribution, int place) {
  const auto count = [&](int counter) {
    return std::uint64_t{distribution.counters[static_cast<std::size_t>(counter)]};
  };
  if (place == kHalfOctaves) return {count(kZeros), 0, 0};
  const bool negative = place < kHalfOctaves;
  const int half = negative ? kHalfOctaves - 1 - place : place - kHalfOctaves - 1;
  HalfOctave ends = half_octave(half);
  // The last has no end of its own.
  if (half == kHalfOctaves - 1) ends.high = std::numeric_limits<double>::infinity();
  const double low = negative ? -ends.high : ends.low, high = negative ? -ends.low : ends.high;
  const auto least = static_cast<double>(distribution.least), most = static_cast<double>(distribution.most);
  return {count((negative ? kNegative : kPositive) + half), std::clamp(low, least, most),
          std::clamp(high, least, most)};
}

}  // namespace

std::uint64_t Distribution::finite() const {
  return std::accumulate(counters.begin(), counters.begin() + kZeros + 1, std::uint64_t{0});
}

std::uint64_t Distribution::elements() const {
  return finite() + counters[kInfinities] + counters[kNans];
}

double Distribution::mean() const {
  const std::uint64_t count = finite();
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double Distribution::deviation() const {
  const std::uint64_t count = finite();
  if (count == 0) return 0;
  const double middle = mean();
  return std::sqrt(std::max(0.0, squares / static_cast<double>(count) - middle * middle));
}

double Distribution::norm() const {
  return std::sqrt(squares);
}

double Distribution::share(Counter counter) const {
  const std::uint64_t all = elements();
  return all == 0
             ? 0
             : static_cast<double>(counters[static_cast<std::size_t>(counter)]) / static_cast<double>(all);
}

Distribution distribution_of(std::span<const std::uint32_t> counters, std::uint32_t result,
                             std::span<const CountedTensor> tensors, std::span<const ChunkSums> sums) {
  Distribution distribution;
  std::copy_n(counters.begin() + static_cast<std::ptrdiff_t>(result) * kCounters, kCounters,
              distribution.counters.begin());
  float least = std::numeric_limits<float>::infinity(), most = -least;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].result != result) continue;
    const auto first = static_cast<std::size_t>(tensors[t].first_chunk);
    const auto end =
        t + 1 < tensors.size() ? static_cast<std::size_t>(tensors[t + 1].first_chunk) : sums.size();
    for (const ChunkSums& chunk : sums.subspan(first, end - first)) {
      distribution.sum += chunk.sum;
      distribution.squares += chunk.squares;
      least = std::min(least, chunk.least);
      most = std::max(most, chunk.most);
    }
  }
  if (least <= most) {
    distribution.least = least;
    distribution.most = most;
  }
  return distribution;
}

HalfOctave half_octave(int half) {
  const int whole = half / 2;
  const double start = std::ldexp(1.0, kLeastExponent + whole);
  if (half % 2 != 0) return {1.5 * start, 2 * start};
  return {half == 0 ? 0 : start, 1.5 * start};
}

std::optional<double> quantile(const Distribution& distribution, double part) {
  const std::uint64_t count = distribution.finite();
  if (count == 0) return std::nullopt;
  const double rank = std::floor(std::clamp(part, 0.0, 1.0) * static_cast<double>(count - 1));
  std::uint64_t before = 0;
  for (int place = 0; place <= 2 * kHalfOctaves; ++place) {
    const Bin bin = ascending_bin(distribution, place);
    if (bin.count > 0 && rank < static_cast<double>(before + bin.count)) {
      const double within = (rank - static_cast<double>(before) + 0.5) / static_cast<double>(bin.count);
      return bin.low + within * (bin.high - bin.low);
    }
    before += bin.count;
  }
  return static_cast<double>(distribution.most);
}

}  // namespace warpscope::statistics
