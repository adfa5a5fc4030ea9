#pragma once
// What the Ranks panel shows, without Dear ImGui: what each rank does with the time of a step, and who waits for whom.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// Longer waiting than this part of a step is told of.
constexpr double kWaitWorthTelling = 0.05;

/// What a lane shows, in microseconds on the axis of all: of the newest step that all ranks have timed; before there is
/// one, medians of sampled steps, which all begin at 0 and have only `own` work.
struct RankLane {
  double start = 0;
  double own = 0;
  double forward = 0;
  double backward = 0;
  double waiting = 0;
  double moving = 0;
  double update = 0;

  double end() const { return start + own + forward + backward + waiting + moving + update; }
};

/// A rank. The three parts, in microseconds, add up to its step; all are 0 before its first sampled step.
struct RankRow {
  const training::RankFigures* figures = nullptr;
  double own = 0;                    ///< of its own work
  double moving = 0;                 ///< in sums over ranks, once all have come
  double waiting = 0;                ///< in the same sums, until the slowest rank has come
  double images_per_second = 0;      ///< its images over the time of its step
  double own_images_per_second = 0;  ///< its images over the time of its own work
  RankLane lane;

  bool measured() const { return step() > 0; }
  double step() const { return own + moving + waiting; }
  /// Part of the step, from 0 to 1, in which the rank does nothing but sums over ranks.
  double exposed() const { return measured() ? (moving + waiting) / step() : 0; }
  /// Whether its waiting is worth telling.
  bool waits() const { return waiting > kWaitWorthTelling * step(); }
};

/// All ranks of a training, in their order.
struct RanksOfStep {
  std::vector<RankRow> rows;  ///< none where there is only one rank
  bool measured = false;      ///< each rank has a sampled step
  double longest = 0;         ///< where the last lane ends, microseconds
  std::uint64_t step = 0;     ///< that the lanes show; 0: medians
  double clocks = 0;          ///< to within which the lanes are aligned, microseconds; 0: not known
  /// Images/s of all, which take as long as the longest step, over the sum of those that each has in its own work,
  /// without sums over ranks and waiting; from sampled steps; 0 if it is not known.
  double efficiency = 0;
  bool loads = false;                  ///< a GPU tells its power or its clock
  bool linked = false;                 ///< each rank has a rate from each other one
  std::optional<std::size_t> slowest;  ///< the rank that others wait for; nothing if none waits
  std::size_t waiters = 0;             ///< ranks that wait for it
  std::size_t longest_waiter = 0;      ///< the one of them that waits longest
};

/// Points into the snapshot.
RanksOfStep ranks_of(const training::Snapshot& snapshot);

/// Why there are no rows, in one sentence, or who is waited for while the training is prepared.
std::string why_no_ranks(const training::Snapshot& snapshot);

/// "4 ranks, 12,345 images/s together; rank 2 is the slowest: the others wait up to 3.1 ms of 10.2 ms for it". The
/// speed is Snapshot::images_per_second, and is left out where that is not known. Snapshot::awaited instead, if any.
std::string heading_of(const RanksOfStep& ranks, const training::Snapshot& snapshot);

/// "Step 1,234 of all ranks, clocks within 8 µs; 97.1 % of the images/s of own work only, without sums and waiting", as
/// far as it is known.
std::string facts_of(const RanksOfStep& ranks);

/// "3.14", of GB/s.
std::string link_rate_text(double gb_per_second);

/// The ranks between which bytes take the longest, to the first from the second; nothing if the links are not measured.
struct SlowestLink {
  std::size_t to = 0;
  std::size_t from = 0;
  double gb_per_second = 0;
};
std::optional<SlowestLink> slowest_link(const RanksOfStep& ranks);
/// "Over shared memory 3.1 to 3.4 GB/s, slowest from rank 1 to rank 0", or what the button would do.
std::string links_text(const RanksOfStep& ranks);

/// "cuda:1 NVIDIA H100"
std::string device_text(const training::RankFigures& figures);

/// What a tip says of the step of a rank, several lines.
std::string tip_of(const RankRow& row, std::size_t rank);

}  // namespace warpscope::ui
