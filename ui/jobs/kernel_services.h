#pragma once
// What the panel of a person's own kernels asks of the program, which knows compilers, files to start from and the
// desktop.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gpu/ops/op.h"

namespace warpscope::ui {

/// An op, and why nobody can write kernels of it, in words; "" where one can.
struct OpForKernels {
  ops::Op op{};
  std::string why_not = {};
};

struct KernelServices {
  std::vector<OpForKernels> ops = {};
  /// Writes a file to start from, whose name tells the language; on another thread. Throws core::Error, also where
  /// something is there already. nullptr: this window writes none.
  std::function<void(ops::Op, const std::filesystem::path& file)> write_new = {};
  /// Opens a file in the editor that the desktop has for it. Throws core::Error.
  std::function<void(const std::filesystem::path& file)> edit = {};
  std::string why_no_editor = {};  ///< why there is none, in a sentence; "" if there is one
};

}  // namespace warpscope::ui
