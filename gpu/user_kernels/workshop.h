#pragma once
// What makes a variant of a kernel's file while a training runs: the steps of try_kernel(), one by one, and what it
// begins with.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gpu/user_kernels/kernels.h"

namespace warpscope::user_kernels {

/// Tests have their own.
struct Workshop {
  std::function<Compilation(const Source&, const CompileOptions&)> compile = user_kernels::compile;
  std::function<Verdict(const Source&, const Compilation&, const TrialOptions&)> prove = user_kernels::prove;
  std::function<Times(const Source&, const Compilation&, const std::vector<OtherKernel>&,
                      const TrialOptions&)>
      time = time_kernel;
  std::function<ops::Variant(const Kernel&)> load = loaded;
};

/// A file that was tried before the training began.
struct TriedKernel {
  Kernel kernel;
  std::string
      problem;  ///< why it could not be tried, in a sentence, as where there is no compiler; "" if it could

  bool usable() const { return problem.empty() && kernel.usable(); }
};

/// A file, or a folder of such, that a person has named while a training ran.
struct NamedPlace {
  std::string path;
  bool apply_when_proved = false;
  bool operator==(const NamedPlace&) const = default;
};

struct LiveKernels {
  std::vector<std::filesystem::path> includes;  ///< folders of the person's own headers
  std::vector<TriedKernel> tried;  ///< watched from the beginning; those that are usable are variants already
  std::vector<NamedPlace> files = {};       ///< loaded once the training has begun
  std::vector<NamedPlace> folders = {};     ///< watched from then on
  std::vector<std::string> forgotten = {};  ///< files in such folders that are left out
  Workshop workshop;
};

}  // namespace warpscope::user_kernels
