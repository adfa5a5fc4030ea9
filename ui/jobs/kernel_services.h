#pragma once
// What the panel of a person's own kernels asks of the program, which knows compilers, files to start from and the
// desktop.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gpu/data/sets.h"
#include "gpu/ops/op.h"

namespace warpscope::ui {

/// An op, and why nobody can write kernels of it, in words; "" where one can.
struct OpForKernels {
  ops::Op op{};
  std::string why_not = {};
};

/// A file of the lesson on kernels.
struct LessonFile {
  std::string name;  ///< "1_naive.cpp"
  std::string adds;  ///< over the one before it, in a sentence or two
  bool cuda = false;
};

struct KernelServices {
  std::vector<OpForKernels> ops = {};
  /// Writes a file to start from, whose name tells the language; on another thread. Throws core::Error, also where
  /// something is there already. nullptr: this window writes none.
  std::function<void(ops::Op, const std::filesystem::path& file)> write_new = {};
  std::vector<LessonFile> lesson = {};  ///< in rising order in each language
  /// Writes a file of the lesson into a folder, which it makes, and returns its path; on another thread. `is_new`:
  /// nothing was there; else that stays. Throws core::Error.
  std::function<std::filesystem::path(const std::string& name, const std::filesystem::path& folder,
                                      bool& is_new)>
      write_example = {};
  /// Opens a file in the editor that the desktop has for it. Throws core::Error.
  std::function<void(const std::filesystem::path& file)> edit = {};
  std::string why_no_editor = {};  ///< why there is none, in a sentence; "" if there is one
  /// Looks for races in the kernel of a file, on a GPU ("cuda:0"): what was found, in a sentence; on another thread.
  /// Throws core::Error.
  std::function<std::string(const std::filesystem::path& file, const std::string& device,
                            const data::Stopped& stopped)>
      racecheck = {};
  std::string why_no_racecheck = {};  ///< why none are looked for, in a sentence; "" if they are
};

}  // namespace warpscope::ui
