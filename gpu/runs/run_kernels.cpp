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

/// Whether the headers beside `file` are these.
bool has_headers(const std::filesystem::path& file, const std::vector<user_kernels::Header>& headers) {
  const std::filesystem::path folder = user_kernels::kept_headers_of(file);
  std::error_code error;
  std::size_t there = 0;
  for (std::filesystem::recursive_directory_iterator each(folder.parent_path(), error), end;
       !error && each != end; each.increment(error))
    there += each->is_directory(error) ? 0 : 1;
  return there == headers.size() && std::ranges::all_of(headers, [&](const user_kernels::Header& header) {
           return files::read_small_file(folder / header.name, kMostKernelBytes) == header.text;
         });
}

/// "my_conv.cpp", or "my_conv.2.cpp" where that is another file already; the second is whether it has to be written.
std::pair<std::filesystem::path, bool> place_for(const std::filesystem::path& folder,
                                                 const KernelFile& kernel) {
  const std::filesystem::path name = std::filesystem::path(kernel.name).filename();
  for (int number = 1;; ++number) {
    const std::string end = number == 1 ? "" : fmt::format(".{}", number);
    const std::filesystem::path file = folder / (name.stem().string() + end + name.extension().string());
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return {file, true};
    if (files::read_small_file(file, kMostKernelBytes) == kernel.text && has_headers(file, kernel.headers))
      return {file, false};
  }
}

/// From the folder of the run on, in UTF-8.
std::string in_run(const std::filesystem::path& run, const std::filesystem::path& file) {
  return files::valid_utf8(file.lexically_normal().lexically_relative(run.lexically_normal()).string());
}

void write_whole(const std::filesystem::path& file, const KernelFile& kernel) {
  // A write that was broken off may have left some.
  std::filesystem::remove_all(user_kernels::kept_headers_of(file).parent_path());
  for (const user_kernels::Header& each : kernel.headers) {
    const std::filesystem::path header = user_kernels::kept_headers_of(file) / each.name;
    std::filesystem::create_directories(user_kernels::kept_headers_of(file));  // "../" leads out of it
    std::filesystem::create_directories(header.parent_path());
    files::write_file_atomically(header, each.text);
  }
  files::write_file_atomically(file, kernel.text);
}

nlohmann::json kernel_row(const std::filesystem::path& run, const std::filesystem::path& file,
                          const KernelFile& kernel) {
  files::Sha256 sum;
  sum.update(kernel.text.data(), kernel.text.size());
  nlohmann::json row = {{"op", ops::to_string(kernel.op)},
                        {"variant", kernel.variant},
                        {"file", in_run(run, file)},
                        {"sha256", sum.finish()}};
  for (const user_kernels::Header& each : kernel.headers)
    row["headers"].push_back(in_run(run, user_kernels::kept_headers_of(file) / each.name));
  return row;
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
    try {
      if (is_new) write_whole(file, kernel);
    } catch (const std::filesystem::filesystem_error& failed) {
      throw core::Error(
          fmt::format("{} cannot be made: {}", failed.path1().string(), failed.code().message()));
    }
    const nlohmann::json row = kernel_row(run, file, kernel);
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
