#pragma once
// What each rank of a training does with the time of a step.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace warpscope::training {

/// One step as a rank made it, in microseconds: its parts in the order in which they come. Where a step has several
/// micro-batches the last of them is timed, and the others count as long.
struct RankStep {
  std::uint64_t step = 0;  ///< from 1; 0 before all ranks have timed the same one
  double start = 0;        ///< after the first of the ranks began
  double forward = 0;
  double backward = 0;
  double waiting =
      0;  ///< in the sums over ranks: as long as they take more than on the rank that they take least
  double moving = 0;  ///< in these sums, the rest
  double update = 0;  ///< of weights and running statistics
  /// In sums over ranks beside the backward pass, which take none of the step's time by themselves.
  double beside = 0;

  double end() const { return start + forward + backward + waiting + moving + update; }
  bool operator==(const RankStep&) const = default;
};

struct RankFigures {
  std::string device;            ///< "cuda:1"
  std::string name;              ///< of the device
  std::int64_t images = 0;       ///< of each step, that it takes
  double step_microseconds = 0;  ///< of its ops in a typical sampled step; 0 before the first sample
  /// What sums over ranks take of it. Those that wait for another rank spend the time here.
  double allreduce_microseconds = 0;
  double waiting_microseconds =
      0;  ///< of that until the last rank came: what it takes longer than the one that waits least
  std::uint64_t memory_bytes = 0;  ///< of the device, that this rank allocated
  RankStep newest = {};            ///< the newest step that all ranks have timed
  /// RankStep::start is known to within this, in microseconds: by the clocks of both hosts and that of the device.
  double clock_uncertainty = 0;
  double watts = 0;      ///< that the GPU draws; 0 where it does not tell
  double megahertz = 0;  ///< of its multiprocessors; 0 where it does not tell
  /// GB/s from each rank to this one, as it was measured last; 0 from itself; empty before the first time.
  std::vector<double> links = {};
  std::string linked_by = {};  ///< what these went over, in words; "" before the first time

  /// What its own work takes.
  double own_microseconds() const { return step_microseconds - allreduce_microseconds; }
};

}  // namespace warpscope::training
