#pragma once
// What each rank of a training does with the time of a step.

#include <cstddef>
#include <cstdint>
#include <string>

namespace warpscope::training {

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

  /// What its own work takes.
  double own_microseconds() const { return step_microseconds - allreduce_microseconds; }
};

}  // namespace warpscope::training
