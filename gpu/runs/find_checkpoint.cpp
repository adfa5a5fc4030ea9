#include "gpu/runs/find_checkpoint.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/checkpoint.h"

namespace warpscope::runs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".safetensors";

/// N of "step-N.safetensors".
std::optional<std::uint64_t> step_of(const std::string& name) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix) || !name.ends_with(kExtension)) return {};
  const std::string digits = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kExtension.size());
  const bool number = !digits.empty() && digits.size() < 19 &&
                      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return number ? std::optional<std::uint64_t>(std::stoull(digits)) : std::nullopt;
}

/// The names of the safetensors files in a folder, in order; none if there is no such folder.
std::vector<std::string> checkpoints_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    // Hidden ones are still being written.
    if (name.ends_with(kExtension) && !name.starts_with('.')) names.push_back(name);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(step_of(a).value_or(0), a) < std::pair(step_of(b).value_or(0), b);
  });
  return names;
}

/// As training::newest_valid(): where a save was killed, steps of an earlier generation are still beside the last one.
std::optional<std::string> last_of(const fs::path& folder, const std::vector<std::string>& names) {
  std::optional<std::string> last;
  std::uint64_t generation = 0;
  for (const std::string& name : names) {
    if (!step_of(name)) continue;
    const std::uint64_t its = training::generation_of(folder / name).value_or(0);
    if (last && its < generation) continue;
    last = name;
    generation = its;
  }
  return last;
}

}  // namespace

fs::path find_checkpoint(const fs::path& run, const std::string& which) {
  const fs::path folder = run / "checkpoints";
  const std::vector<std::string> names = checkpoints_in(folder);
  if (which == "last") {
    if (const auto last = last_of(folder, names)) return folder / *last;
  } else {
    const fs::path file = which == "best" ? folder / "best.safetensors" : folder / which;
    std::error_code error;
    if (fs::is_regular_file(file, error)) return file;
    if (which != "best" && fs::is_regular_file(which, error)) return which;
  }
  if (names.empty()) {
    throw core::BadInput(
        fmt::format("{} has no checkpoints; train with checkpoints, or save the weights with --save",
                    files::escaped(run.string())));
  }
  throw core::BadInput(fmt::format("{} has no checkpoint '{}'; valid: {}", files::escaped(run.string()),
                                   files::escaped(which),
                                   files::escaped(fmt::format("{}", fmt::join(names, ", ")))));
}

}  // namespace warpscope::runs
