#pragma once
// How the work of row_sums.cuh is cut: only the shape fixes it, so that results are the same on every GPU.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpu/ops/op.h"
#include "gpu/ops/planned_processors.h"

namespace warpscope::ops::row_sums {

inline constexpr int kGroupChannels = 32;  ///< of a block, at most
inline constexpr int kMostThreads = 256;
inline constexpr int kProcessorThreads = 512;  ///< of a multiprocessor: what they read ahead is enough
inline constexpr int kMostWalkers = 64;
inline constexpr int kMostDepth = 16;  ///< positions that a thread reads at once, at most
inline constexpr int kVector = 4;      ///< channels of a thread, where all channels are whole vectors
inline constexpr int kMostTableBytes = 54 << 10;
/// Symbols that a block looks up at once: those of two reads of all walkers, or more.
inline constexpr int kSymbolBytes = 2 * kMostWalkers * kMostDepth;

/// `rows` tables' rows a tap, 256 at most, of which row 0 need not be wanted; `positions` rows of dy with `channels`
/// numbers.
struct Sums {
  std::int64_t positions;
  int channels;
  int rows;
  int taps;
};

/// What a block takes: `vectors` vectors of `width` channels of a span of positions. Each vector has `walkers` threads,
/// which take the positions in turns; a thread's sums are a column of the table.
struct Cut {
  int width;
  int vectors;
  int walkers;
  int columns;         ///< of the table: a thread each, and some more for whole rounds of banks
  int groups;          ///< of channels
  std::int64_t spans;  ///< of positions
  std::int64_t span;   ///< positions of each but the last
  std::size_t shared;  ///< bytes: symbols, then the table (rows, columns, width)
  int threads() const { return vectors * walkers; }
};

/// `width` is 1, or kVector where that divides the channels. As many blocks as the planned multiprocessors hold at
/// once, unless these would write more than an eighth of the numbers that they read.
inline Cut cut_of(const Sums& sums, int width) {
  constexpr std::int64_t kFewPositions = 128;
  constexpr std::int64_t kPositionsARow = 8;
  constexpr std::size_t kProcessorBytes = 228 << 10;
  constexpr std::size_t kReservedBytes = 1 << 10;  // of each block
  const int bank_columns = 32 / width;
  Cut cut{};
  cut.width = width;
  const auto vectors = static_cast<int>(divide_up(sums.channels, width));
  cut.groups = static_cast<int>(divide_up(sums.channels, kGroupChannels));
  cut.vectors = static_cast<int>(divide_up(vectors, cut.groups));
  const int column_bytes = sums.rows * width * static_cast<int>(sizeof(float));
  const int most_columns =
      std::min(kMostTableBytes / column_bytes / bank_columns * bank_columns, kMostThreads);
  cut.walkers = std::min(most_columns / cut.vectors, kMostWalkers);
  cut.columns = static_cast<int>(divide_up(cut.threads(), bank_columns)) * bank_columns;
  cut.shared = kSymbolBytes + static_cast<std::size_t>(cut.columns) * static_cast<std::size_t>(column_bytes);
  const auto fitting = static_cast<int>(kProcessorBytes / (cut.shared + kReservedBytes));
  const int blocks = kPlannedProcessors * std::max(1, std::min(fitting, kProcessorThreads / cut.threads()));
  const std::int64_t worth = sums.positions / std::max(kFewPositions, kPositionsARow * sums.rows);
  cut.spans = std::max<std::int64_t>(1, std::min(worth, blocks / (std::int64_t{cut.groups} * sums.taps)));
  cut.span = divide_up(sums.positions, cut.spans);
  return cut;
}

/// Elements of the partial sums: (spans, taps, rows, channels) in FP32.
inline std::int64_t partial_elements(const Sums& sums) {
  std::int64_t spans = cut_of(sums, 1).spans;
  if (sums.channels % kVector == 0) spans = std::max(spans, cut_of(sums, kVector).spans);
  return spans * sums.taps * sums.rows * sums.channels;
}

/// Threads that share an element of the last sum, over `spans` partial ones: a power of two.
inline int sharers_of(std::int64_t spans) {
  constexpr int kMostSharers = 8;
  constexpr int kSpans = 16;
  int sharers = 1;
  while (sharers < kMostSharers && sharers * kSpans <= spans) sharers *= 2;
  return sharers;
}

}  // namespace warpscope::ops::row_sums
