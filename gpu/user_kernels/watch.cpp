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
constexpr std::size_t kMostKeptBytes = std::size_t{4} << 20;

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

/// A file behind a kernel, or where it would be.
struct Behind {
  fs::path place;
  fs::path name;  ///< as in Header; "" of the kernel's file
};

/// Where `include` is looked for by a line of `includer`, in this order.
std::vector<Behind> places_of(const Include& include, const Behind& includer, const fs::path& file,
                              const std::vector<fs::path>& includes) {
  std::vector<Behind> places;
  if (include.quoted) {
    places.push_back({includer.place.parent_path() / include.name,
                      (includer.name.parent_path() / include.name).lexically_normal()});
    if (includer.place != file) places.push_back({file.parent_path() / include.name, include.name});
  }
  for (const fs::path& folder : includes) places.push_back({folder / include.name, include.name});
  const fs::path kept = kept_headers_of(file);
  if (std::error_code error; fs::is_directory(kept, error))
    places.push_back({kept / include.name, include.name});
  return places;
}

std::vector<Behind> all_behind(const fs::path& file, const std::vector<fs::path>& includes) {
  std::vector<Behind> found{{file, ""}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Behind includer = found[i];
    std::istringstream lines(files::read_small_file(includer.place, kMostWatchedBytes).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      const auto include = include_in(line);
      if (!include || include->name.starts_with("warpscope/")) continue;
      for (Behind& each : places_of(*include, includer, file, includes)) {
        std::error_code error;
        const bool there = fs::is_regular_file(each.place, error);
        if (found.size() < kMostFiles && std::ranges::find(found, each.place, &Behind::place) == found.end())
          found.push_back(std::move(each));
        if (there) break;
      }
    }
  }
  return found;
}

/// Whether a run can keep it beside the kernel's file.
bool can_be_kept(const fs::path& name) {
  const fs::path normal = name.lexically_normal();
  return !normal.empty() && normal.is_relative() && !normal.string().starts_with("../../");
}

}  // namespace

std::vector<fs::path> files_behind(const fs::path& file, const std::vector<fs::path>& includes) {
  std::vector<fs::path> places;
  for (Behind& each : all_behind(file, includes)) places.push_back(std::move(each.place));
  return places;
}

std::vector<Header> headers_of(const fs::path& file, const std::vector<fs::path>& includes) {
  std::vector<Header> headers;
  std::size_t bytes = 0;
  for (const Behind& each : all_behind(file, includes)) {
    if (!can_be_kept(each.name)) continue;
    auto text = files::read_small_file(each.place, kMostKeptBytes);
    std::string name = each.name.lexically_normal().string();
    if (!text || bytes + text->size() > kMostKeptBytes) continue;
    if (std::ranges::find(headers, name, &Header::name) != headers.end())
      continue;  // the first place is taken
    bytes += text->size();
    headers.push_back({std::move(name), std::move(*text)});
  }
  return headers;
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
