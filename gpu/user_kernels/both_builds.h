#pragma once
// The two builds of a kernel's file, checked and fast, made side by side.

#include <filesystem>
#include <functional>
#include <vector>

#include "gpu/user_kernels/compiler.h"

namespace warpscope::user_kernels {

/// One build: the code, or errors.
struct Build {
  std::filesystem::path code;
  std::vector<Diagnostic> errors;
  bool cached = false;
};

/// Both builds, of which the checked one is made by a thread of its own. Errors are those of the fast build if it has
/// any, and there is no code then. Returns or throws what `build` throws once neither is under way.
Compilation make_both(const std::function<Build(bool checked)>& build);

}  // namespace warpscope::user_kernels
