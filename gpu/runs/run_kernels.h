#pragma once
// The files of kernels that people wrote, in the folder of a run: it says what it ran. They are never compiled from
// there unless somebody names them.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ops/op.h"
#include "gpu/user_kernels/kept_headers.h"

namespace warpscope::runs {

/// The file of a variant that a person wrote.
struct KernelFile {
  ops::Op op{};
  std::string variant;  ///< "user:my_conv"
  std::string name;     ///< "my_conv.cpp"
  std::string text;
  std::vector<user_kernels::Header> headers = {};  ///< of the person's own that it includes
};

/// The key of run.json.
inline constexpr const char* kKernels = "kernels";

/// Writes each into the folder "kernels" of the run, with its headers where a compiler finds them (kept_headers.h),
/// unless the same lies there; another of that name stays. Returns what run.json says: an array of {op, variant, file,
/// sha256} and, if there are any, headers, those that it names already before them. Throws core::Error.
nlohmann::json keep_kernels(const std::filesystem::path& run, const std::vector<KernelFile>& kernels);

/// Where the run whose run.json is `head` keeps the newest file of `variant`, from its folder on; "" if it has none.
std::string kept_kernel(const nlohmann::json& head, std::string_view variant);

}  // namespace warpscope::runs
