#pragma once
// What a trial process tells the one that started it, in memory that both see. What the trial runs can write anything
// here: it is read as a stranger's text is.

#include <array>
#include <cstddef>
#include <cstdint>

#include "assets/kernels/warpscope/kernel.h"

namespace warpscope::user_kernels {

enum class Stage : std::uint32_t { beginning, loading, calling, between, unloading, proved, failed };

struct Board {
  kernel::Report report;
  std::uint32_t stage;
  std::uint32_t launches;           ///< begun
  std::uint32_t calls;              ///< that were right
  double worst_error;               ///< of these, of the one where it is largest relative to its tolerance
  double tolerance;                 ///< there
  std::array<char, 256> shape;      ///< of the call under way
  std::array<char, 1024> sentence;  ///< why it failed
};

/// The command line of a trial: the program, this, then as run_trial() reads them.
inline constexpr const char* kTrialCommand = "kernel-trial";
inline constexpr int kTrialDescriptor = 3;
/// The exit code of one that a checked access has ended.
inline constexpr int kStoppedCode = 97;

}  // namespace warpscope::user_kernels
