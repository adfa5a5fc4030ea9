#pragma once
// Kernels that people write, on their way from a file into the training that runs: what of each file is compiled,
// proved, timed, refused or used.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/messages/measured.h"
#include "gpu/ops/op.h"
#include "gpu/user_kernels/diagnostic.h"

namespace warpscope::training {

/// How far what a file holds has come.
enum class KernelStage : std::uint8_t {
  waiting,    ///< until the file is whole, and others before it are done
  compiling,  ///< the checked build and the fast one
  proving,    ///< in a trial process
  timing,     ///< beside the others, on the shapes of this training
  ready,      ///< it can be used
  refused     ///< it does not compile, or is wrong: KernelVersion::sentence
};

/// "waiting"
std::string_view to_string(KernelStage stage);

/// What the build for a GPU tells of itself.
struct GpuBuild {
  int registers = 0;               ///< a thread
  std::uint64_t shared_bytes = 0;  ///< a block, static and dynamic
  std::uint64_t spill_bytes = 0;   ///< a thread, of local memory
  double occupancy = 0;            ///< resident warps over the most that fit; 0: not known
  /// Instructions by name ("FFMA"), the most frequent first; empty where no disassembler is installed.
  std::vector<std::pair<std::string, int>> instructions;
};

/// What a variant takes for one call.
struct KernelTime {
  std::string variant;  ///< the version's own name too
  int version = 0;      ///< of a user's kernel: KernelVersion::number; 0 of others
  Measured microseconds;
};

/// The times of calls of one shape of this training.
struct KernelShapeTimes {
  ops::OpShape shape;               ///< OpShape::covered: the other ops of a chain
  std::vector<std::string> layers;  ///< that have it: "conv1"
  std::vector<KernelTime>
      times;               ///< the fastest first; the version itself, the one before it, other variants
  double flops = 0;        ///< of a call, by the formulas: ops::formula_flops() of the op's kind of work
  double least_flops = 0;  ///< of the cheapest way known: ops::fewest_flops()
  double bytes = 0;        ///< least bytes of a call in FP32
};

/// One content of a file.
struct KernelVersion {
  int number = 0;  ///< from 1 in this training; what another save has overtaken has none
  std::string sha256;
  KernelStage stage{};
  std::string sentence;                          ///< the verdict, or why it was refused; "" before
  std::vector<user_kernels::Diagnostic> errors;  ///< of the compiler
  bool cached = false;                           ///< it was compiled before
  double compile_milliseconds = 0;
  double proof_milliseconds = 0;
  int calls = 0;                        ///< that were right, of both builds
  double worst_error = 0;               ///< of the fast build, where it is largest relative to its tolerance
  double tolerance = 0;                 ///< there
  std::vector<KernelShapeTimes> times;  ///< empty where it was not timed, as where no layer has its ops
  std::optional<GpuBuild> gpu;          ///< of a .cu
};

/// A file, and the variant that it is.
struct UserKernel {
  std::string file;                ///< its path as it was named: by it commands name it
  std::optional<ops::Op> op;       ///< nothing where it never included a header of one
  std::string variant;             ///< "user:my_conv"
  std::string folder;              ///< that it was found in (WatchKernels); "" where it was named itself
  bool apply_when_proved = false;  ///< each version that is proved runs from the next step on
  bool gone = false;    ///< the file is not there or cannot be read; the version in the table goes on
  std::string problem;  ///< of the file, or of what surrounds it, in a sentence; "" if there is none
  /// Rising: those that were proved, as far as they are kept, and the newest whatever its stage.
  std::vector<std::shared_ptr<const KernelVersion>> versions;
  int in_table = 0;     ///< the version that plans are built from; 0: none, and there is no such variant
  bool in_use = false;  ///< the selection chooses its variant

  /// The version that runs; 0: none does.
  int used() const { return in_use ? in_table : 0; }
  /// nullptr before the first.
  const KernelVersion* newest() const { return versions.empty() ? nullptr : versions.back().get(); }
};

/// A folder that is watched for files of kernels.
struct KernelFolder {
  std::string path;
  bool apply_when_proved = false;  ///< of files that come
  std::string problem;             ///< why it is not seen, in a sentence; "" if it is
};

struct UserKernels {
  std::vector<UserKernel> kernels;  ///< in the order in which they were loaded
  std::vector<KernelFolder> folders;
  std::vector<std::string> forgotten;  ///< files and folders that somebody has named once and wants no more
  std::string why_not;  ///< why this training takes no kernels of users, in a sentence; "" if it does
};

}  // namespace warpscope::training
