#include "gpu/user_kernels/watch.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/sha256.h"
#include "gpu/files/text.h"
#include "gpu/user_kernels/source.h"

namespace warpscope::user_kernels {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 200;
constexpr std::size_t kMostKernels = 100;
constexpr std::size_t kMostWatchedBytes = std::size_t{16} << 20;

/// A header as a line includes it.
struct Include {
  std::string name;
  bool quoted = false;
};

std::optional<Include> include_in(std::string_view line) {
  const auto skip_blanks = [&line] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_blanks();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return std::nullopt;
  line.remove_prefix(std::string_view("include").size());
  skip_blanks();
  if (!line.starts_with('"') && !line.starts_with('<')) return std::nullopt;
  const bool quoted = line.front() == '"';
  const std::size_t end = line.find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos || end == 1) return std::nullopt;
  return Include{std::string(line.substr(1, end - 1)), quoted};
}

/// Where `include` is looked for by a line of `includer`, in this order.
std::vector<fs::path> places_of(const Include& include, const fs::path& includer, const fs::path& file,
                                const std::vector<fs::path>& includes) {
  std::vector<fs::path> places;
  if (include.quoted) {
    places.push_back(includer.parent_path() / include.name);
    if (includer != file) places.push_back(file.parent_path() / include.name);
  }
  for (const fs::path& folder : includes) places.push_back(folder / include.name);
  return places;
}

}  // namespace

std::vector<fs::path> files_behind(const fs::path& file, const std::vector<fs::path>& includes) {
  std::vector<fs::path> found{file};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const fs::path includer = found[i];
    std::istringstream lines(files::read_small_file(includer, kMostWatchedBytes).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      const auto include = include_in(line);
      if (!include || include->name.starts_with("warpscope/")) continue;
      for (const fs::path& place : places_of(*include, includer, file, includes)) {
        std::error_code error;
        if (found.size() < kMostFiles && std::ranges::find(found, place) == found.end())
          found.push_back(place);
        if (fs::is_regular_file(place, error)) break;
      }
    }
  }
  return found;
}

std::vector<FileLook> look_at(const std::vector<fs::path>& files) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  std::vector<FileLook> looks;
  for (const fs::path& file : files) {
    struct stat is {};
    FileLook& look = looks.emplace_back();
    if (::stat(file.c_str(), &is) != 0) continue;
    look = {true, static_cast<std::uint64_t>(is.st_ino), static_cast<std::uint64_t>(is.st_size),
            is.st_mtim.tv_sec * kNanoseconds + is.st_mtim.tv_nsec,
            is.st_ctim.tv_sec * kNanoseconds + is.st_ctim.tv_nsec};
  }
  return looks;
}

std::string checksum_of_all(const std::vector<fs::path>& files) {
  files::Sha256 sum;
  for (const fs::path& file : files) {
    const auto text = files::read_small_file(file, kMostWatchedBytes);
    const std::string head = fmt::format("{}\n{}\n", file.string(), text ? text->size() + 1 : 0);
    sum.update(head.data(), head.size());
    if (text) sum.update(text->data(), text->size());
  }
  return sum.finish();
}

std::vector<fs::path> kernels_in(const fs::path& folder, std::string& problem) {
  std::vector<fs::path> found;
  std::error_code failure;
  const auto entries = files::entries_of(folder, failure);
  problem = failure ? fmt::format("the folder {} cannot be read: {}", files::sayable(folder.string()),
                                  failure.message())
                    : "";
  for (const fs::directory_entry& each : entries) {
    if (found.size() == kMostKernels) break;
    try {
      static_cast<void>(read_source(each.path()));
      found.push_back(each.path());
    } catch (const core::Error&) {
      // Other files lie there too.
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace warpscope::user_kernels
