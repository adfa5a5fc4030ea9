#include "gpu/runs/run_kernels.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/file.h"
#include "gpu/files/sha256.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/references.h"

namespace warpscope::runs {
namespace {

constexpr std::size_t kMostKernelBytes = std::size_t{4} << 20;

/// "my_conv.cpp", or "my_conv.2.cpp" where that is another file already; the second is whether it has to be written.
std::pair<std::filesystem::path, bool> place_for(const std::filesystem::path& folder,
                                                 const KernelFile& kernel) {
  const std::filesystem::path name = std::filesystem::path(kernel.name).filename();
  for (int number = 1;; ++number) {
    const std::string end = number == 1 ? "" : fmt::format(".{}", number);
    const std::filesystem::path file = folder / (name.stem().string() + end + name.extension().string());
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return {file, true};
    if (files::read_small_file(file, kMostKernelBytes) == kernel.text) return {file, false};
  }
}

}  // namespace

nlohmann::json keep_kernels(const std::filesystem::path& run, const std::vector<KernelFile>& kernels) {
  nlohmann::json kept = read_head(run).value(kKernels, nlohmann::json::array());
  if (!kept.is_array()) kept = nlohmann::json::array();
  const std::filesystem::path folder = run / kKernels;
  std::error_code error;
  if (!kernels.empty()) std::filesystem::create_directory(folder, error);
  if (error) throw core::Error(fmt::format("{} cannot be made: {}", folder.string(), error.message()));
  for (const KernelFile& kernel : kernels) {
    const auto [file, is_new] = place_for(folder, kernel);
    if (is_new) files::write_file_atomically(file, kernel.text);
    files::Sha256 sum;
    sum.update(kernel.text.data(), kernel.text.size());
    const nlohmann::json row = {
        {"op", ops::to_string(kernel.op)},
        {"variant", kernel.variant},
        {"file", files::valid_utf8((std::filesystem::path(kKernels) / file.filename()).string())},
        {"sha256", sum.finish()}};
    kept.erase(std::remove(kept.begin(), kept.end(), row), kept.end());
    kept.push_back(row);
  }
  return kept;
}

std::string kept_kernel(const nlohmann::json& head, std::string_view variant) {
  std::string found;
  if (!head.is_object() || !head.contains(kKernels)) return found;
  for (const nlohmann::json& each : head[kKernels]) {
    if (!each.is_object() || !each.contains("variant") || !each.contains("file")) continue;
    if (each["variant"] == variant && each["file"].is_string()) found = each["file"];
  }
  return found;
}

}  // namespace warpscope::runs
