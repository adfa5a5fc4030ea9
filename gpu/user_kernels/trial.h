#pragma once
// Proof of a kernel that a person wrote, in processes of its own: the checked build and the fast one, on a GPU one
// after the other, on shapes that the op's contract offers, held against the double-precision reference as all variants
// are (verify/op_check.h). Whatever the kernel does ends these processes only.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/user_kernels/compiler.h"

namespace warpscope::user_kernels {

struct TrialOptions {
  std::string program = "/proc/self/exe";  ///< that knows run_trial()
  std::string device = "cpu";              ///< as core::open_device takes it
  std::uint64_t seed = 1;
  /// Those of a training, the most expensive first: tried as well, of smaller batches where they are large. No more
  /// than kMostShapes (board.h) count.
  std::vector<ops::OpShape> shapes = {};
  double call_seconds = 2;      ///< of CPU time that one call may take; it may sleep for ten times that
  std::function<bool()> go_on;  ///< asked meanwhile, from several threads; no: core::Error
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

/// Another kernel of users, compiled before.
struct OtherKernel {
  std::string variant;  ///< "user:my_conv"
  int version = 0;
  Source source;
  std::filesystem::path code;  ///< Compilation::fast
};

/// What calls of one variant took.
struct TimedCall {
  std::size_t shape = 0;  ///< of TrialOptions::shapes
  std::string variant;    ///< "" of the kernel itself
  int version = 0;        ///< OtherKernel::version; 0 of others
  int samples = 0;
  double median = 0;  ///< microseconds
  double middle = 0;  ///< from the first quartile to the third
  int registers = 0;  ///< of a GPU, with the next two
  std::uint64_t shared_bytes = 0;
  double occupancy = 0;
};

struct Times {
  std::vector<TimedCall> calls;
  std::string sentence;  ///< why the kernel cannot be timed: what a Verdict says; "" if it can
};

/// Times a kernel that is proved beside `others` and the variants of this build, in FP32 and in a process of its own,
/// on TrialOptions::shapes as they are. What is not done after some seconds is left out, the slowest variants first.
/// Throws core::Error where no process can be started.
Times time_kernel(const Source& source, const Compilation& compiled, const std::vector<OtherKernel>& others,
                  const TrialOptions& options);

/// Why races cannot be looked for, in a sentence; "" if they can.
std::string no_racecheck();

struct Races {
  bool found = false;
  std::string sentence;
};

/// What compute-sanitizer's racecheck says of the calls of a proof. Throws core::BadInput for a kernel
/// on the CPU and where the tool is not installed, core::Error where it does not do its work.
Races racecheck(const Source& source, const Compilation& compiled, const TrialOptions& options = {});

/// "races in shared memory: Write access at ... and Read access at ..." in what the tool wrote; "" if it has found
/// none. Throws core::Error where it says neither.
std::string races_in(std::string_view output);

/// What main() does where its first argument is kTrialCommand (board.h): the trial of one build. Does not return.
[[noreturn]] void run_trial(int argc, char** argv);

}  // namespace warpscope::user_kernels
