#pragma once
// What the Ranks panel shows, without Dear ImGui: what each rank does with the time of a step, and who waits for whom.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// Longer waiting than this part of a step is told of.
constexpr double kWaitWorthTelling = 0.05;

/// A rank. The three parts, in microseconds, add up to its step; all are 0 before its first sampled step.
struct RankRow {
  const training::RankFigures* figures = nullptr;
  double own = 0;                    ///< of its own work
  double moving = 0;                 ///< in sums over ranks, once all have come
  double waiting = 0;                ///< in the same sums, until the slowest rank has come
  double images_per_second = 0;      ///< its images over the time of its step
  double own_images_per_second = 0;  ///< its images over the time of its own work

  bool measured() const { return step() > 0; }
  double step() const { return own + moving + waiting; }
  /// Part of the step, from 0 to 1, in which the rank does nothing but sums over ranks.
  double exposed() const { return measured() ? (moving + waiting) / step() : 0; }
  /// Whether its waiting is worth telling.
  bool waits() const { return waiting > kWaitWorthTelling * step(); }
};

/// All ranks of a training, in their order.
struct RanksOfStep {
  std::vector<RankRow> rows;           ///< none where there is only one rank
  bool measured = false;               ///< each rank has a sampled step
  double longest = 0;                  ///< of their steps, microseconds
  std::optional<std::size_t> slowest;  ///< the rank that others wait for; nothing if none waits
  std::size_t waiters = 0;             ///< ranks that wait for it
  std::size_t longest_waiter = 0;      ///< the one of them that waits longest
};

/// Points into the snapshot.
RanksOfStep ranks_of(const training::Snapshot& snapshot);

/// Why there are no rows, in one sentence.
std::string why_no_ranks(const training::Snapshot& snapshot);

/// "4 ranks, 12,345 images/s together; rank 2 is the slowest: the others wait up to 3.1 ms of 10.2 ms for it". The
/// speed is Snapshot::images_per_second, and is left out where that is not known.
std::string heading_of(const RanksOfStep& ranks, const training::Snapshot& snapshot);

/// "cuda:1 NVIDIA H100"
std::string device_text(const training::RankFigures& figures);

/// What a tip says of the step of a rank, several lines.
std::string tip_of(const RankRow& row, std::size_t rank);

}  // namespace warpscope::ui
