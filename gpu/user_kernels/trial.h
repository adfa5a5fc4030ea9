#pragma once
// Proof of a kernel that a person wrote, in a process of its own: the checked build first, then the fast one, on shapes
// that the op's contract offers, held against the double-precision reference as all variants are (verify/op_check.h).
// Whatever the kernel does ends that process only.

#include <cstdint>
#include <functional>
#include <string>

#include "gpu/user_kernels/compiler.h"

namespace warpscope::user_kernels {

struct TrialOptions {
  std::string program = "/proc/self/exe";  ///< that knows run_trial()
  std::string device = "cpu";              ///< as core::open_device takes it
  std::uint64_t seed = 1;
  double call_seconds = 2;      ///< of CPU time that one call may take; ten times that by the clock
  std::function<bool()> go_on;  ///< asked meanwhile; no: core::Error
};

struct Verdict {
  bool proved = false;
  /// What happened and where, one sentence: "conv2d.forward user:my_conv leaves the operand 'input' at line 12: ...".
  std::string sentence;
  int calls = 0;           ///< that were right, of both builds
  double worst_error = 0;  ///< of the fast build, where it is largest relative to its tolerance
  double tolerance = 0;    ///< there
  double milliseconds = 0;
};

/// Throws core::Error where no process can be started.
Verdict prove(const Source& source, const Compilation& compiled, const TrialOptions& options = {});

/// What main() does where its first argument is kTrialCommand (board.h): the trial of one build. Does not return.
[[noreturn]] void run_trial(int argc, char** argv);

}  // namespace warpscope::user_kernels
