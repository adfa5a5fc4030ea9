#pragma once
// Makes code of the file of a kernel, twice: checked and fast (assets/kernels/warpscope/kernel.h). For the CPU by the
// system's C++ compiler, which is found when it is needed; for a GPU by NVRTC (nvrtc.h). What was made is kept by
// content: of the file, of its own headers, of the program's, and by compiler, flags and processor. From any thread.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/user_kernels/diagnostic.h"
#include "gpu/user_kernels/source.h"

namespace warpscope::user_kernels {

struct CompileOptions {
  std::vector<std::filesystem::path> includes;  ///< folders of the person's own headers
  std::filesystem::path cache;                  ///< ""; kernel_cache()
  int compute_capability = 0;                   ///< of the GPU that a .cu is for
  std::function<bool()> go_on;                  ///< asked meanwhile, from several threads; no: core::Error
};

/// What came of it: files, or why there are none.
struct Compilation {
  std::filesystem::path fast;
  std::filesystem::path checked;
  std::vector<Diagnostic> errors;
  double milliseconds = 0;
  bool cached = false;  ///< both were there
};

/// The folder in the user's cache; only this user may enter it. Throws core::Error.
std::filesystem::path kernel_cache();

/// Where <warpscope/...> stands, in `cache`; it is written where it is not there yet. Throws core::Error.
std::filesystem::path include_folder(const std::filesystem::path& cache);

/// Compiles for the language of `source`. Throws core::BadInput where there is no compiler, core::Error where it cannot
/// be run or nothing can be written.
Compilation compile(const Source& source, CompileOptions options = {});

/// The errors in what GCC or Clang wrote, in its order; the kernel's file is called kShownFile there.
std::vector<Diagnostic> diagnostics_in(std::string_view output, const Source& source);

/// What compilers are told the kernel's file is called.
inline constexpr std::string_view kShownFile = "warpscope_user_kernel";

}  // namespace warpscope::user_kernels
