#pragma once
// What a trial process tells the one that started it, in memory that both see. What the trial runs can write anything
// here: it is read as a stranger's text is.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "assets/kernels/warpscope/kernel.h"
#include "gpu/ops/op.h"

namespace warpscope::user_kernels {

enum class Stage : std::uint32_t { beginning, loading, calling, between, unloading, proved, failed };

inline constexpr std::size_t kMostShapes = 6;
inline constexpr std::size_t kMostTimes = 200;
static_assert(std::is_trivially_copyable_v<ops::OpShape>);

/// What calls of a variant took.
struct BoardTime {
  std::uint32_t shape;  ///< of Board::shapes
  std::uint32_t samples;
  std::int32_t kernel;     ///< 0: that of the trial; from 1 on: the others that were named; -1: `variant`
  std::int32_t registers;  ///< of a GPU, as BenchRow::resources
  std::uint64_t shared_bytes;
  double occupancy;
  double median;  ///< microseconds
  double middle;  ///< from the first quartile to the third
  std::array<char, 64> variant;
};

struct Board {
  kernel::Report report;
  std::uint32_t stage;
  std::uint32_t launches;           ///< begun
  std::uint32_t calls;              ///< that were right
  double worst_error;               ///< of these, of the one where it is largest relative to its tolerance
  double tolerance;                 ///< there
  std::array<char, 256> shape;      ///< of the call under way
  std::array<char, 1024> sentence;  ///< why it failed
  std::uint32_t shape_count;        ///< written by who starts the trial
  std::array<ops::OpShape, kMostShapes> shapes;  ///< of the training that the kernel is for
  std::uint32_t time_count;
  std::array<BoardTime, kMostTimes> times;
};

/// The command line of a trial: the program, this, then as run_trial() reads them.
inline constexpr const char* kTrialCommand = "kernel-trial";
inline constexpr const char* kTimesWord = "times";
inline constexpr int kTrialDescriptor = 3;
/// The exit code of one that a checked access has ended.
inline constexpr int kStoppedCode = 97;

}  // namespace warpscope::user_kernels
