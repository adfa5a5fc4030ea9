#include "gpu/runs/user_runs.h"

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/paths.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/run_reader.h"

namespace warpscope::runs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDeleted = ".deleted";
constexpr std::size_t kMostOfName = 40;  ///< bytes of either part
constexpr std::string_view kBuiltIn = "built-in ";

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Letters, digits, points and underscores; hyphens for all else, one in a row and none at either end.
std::string safe_part(std::string_view text, std::string_view otherwise) {
  std::string safe;
  for (const char byte : files::escaped(text)) {
    const auto code = static_cast<unsigned char>(byte);
    const bool keeps = code >= 0x80U || std::isalnum(code) != 0 || byte == '_' || byte == '.';
    if (keeps && !(safe.empty() && byte == '.')) {
      safe += byte;
    } else if (!safe.empty() && safe.back() != '-') {
      safe += '-';
    }
  }
  if (safe.size() > kMostOfName) {
    std::size_t end = kMostOfName;
    while (end > 0 && continues_character(safe[end])) --end;
    safe.resize(end);
  }
  while (!safe.empty() && (safe.back() == '-' || safe.back() == '.')) safe.pop_back();
  return safe.empty() ? std::string(otherwise) : safe;
}

/// Makes parent/name, or parent/name-2 and so on: the first that is not there.
fs::path make_new_folder(const fs::path& parent, const std::string& name) {
  const auto refuse = [](const fs::path& folder, const std::string& why) {
    return core::BadInput(fmt::format("cannot make the folder {}: {}", files::escaped(folder.string()), why));
  };
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) throw refuse(parent, error.message());
  for (int n = 1;; ++n) {
    const fs::path folder = parent / (n == 1 ? name : fmt::format("{}-{}", name, n));
    if (::mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST) throw refuse(folder, std::strerror(errno));
  }
}

/// Without a slash at its end, so that it has a name.
fs::path with_name(const fs::path& run) {
  const fs::path path = run.lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

fs::path user_runs_folder() {
  return files::data_dir() / "runs";
}

bool is_user_run(const fs::path& run) {
  try {
    return !run.empty() && with_name(run).parent_path() == user_runs_folder().lexically_normal();
  } catch (const core::Error&) {
    return false;
  }
}

std::string name_of_user_run(const std::string& network, const std::string& data, std::time_t now) {
  std::tm time{};
  ::localtime_r(&now, &time);
  std::array<char, 32> stamp{};
  std::strftime(stamp.data(), stamp.size(), "%Y-%m-%d_%H-%M-%S", &time);
  std::string_view source = data;
  if (source.starts_with(kBuiltIn)) source.remove_prefix(kBuiltIn.size());
  return fmt::format("{}_{}_{}", stamp.data(), safe_part(network, "network"), safe_part(source, "data"));
}

fs::path make_user_run(const fs::path& parent, const std::string& name) {
  return make_new_folder(parent, name);
}

std::string too_full(const fs::path& run) {
  constexpr std::uintmax_t kLeastFree = std::uintmax_t{1} << 30;
  std::error_code error;
  const fs::space_info space = fs::space(run, error);
  return !error && space.available < kLeastFree ? "less than 1 GiB is free on its disk" : "";
}

DeletedRun delete_run(const fs::path& run) {
  const fs::path from = with_name(run);
  const auto refuse = [&](const std::string& why) {
    return core::BadInput(
        fmt::format("the run {} cannot be deleted: {}", files::escaped(from.string()), why));
  };
  if (!is_run(from)) throw refuse("there is no run");
  if (is_being_written(from)) throw refuse("a process writes to it");
  DeletedRun deleted{from, make_new_folder(from.parent_path() / kDeleted, from.filename().string())};
  std::error_code untouched;  // its age counts from now on, as soon as others find it there
  fs::last_write_time(from, fs::file_time_type::clock::now(), untouched);
  // Onto the empty folder: the name is this one's whatever other processes delete.
  if (std::rename(from.c_str(), deleted.to.c_str()) != 0) {
    const int error = errno;
    std::error_code ignored;
    fs::remove(deleted.to, ignored);
    throw refuse(std::strerror(error));
  }
  return deleted;
}

void restore_run(const DeletedRun& run) {
  const auto refuse = [&](const std::string& why) {
    return core::BadInput(
        fmt::format("the run {} cannot be brought back: {}", files::escaped(run.from.string()), why));
  };
  std::error_code error;
  if (!fs::is_directory(run.to, error)) throw refuse("it is deleted for good");
  if (fs::exists(fs::symlink_status(run.from, error))) throw refuse("its name is taken");
  if (std::rename(run.to.c_str(), run.from.c_str()) != 0) throw refuse(std::strerror(errno));
  fs::remove(run.to.parent_path(), error);  // only if nothing else is in it
}

void empty_deleted(const fs::path& parent, std::chrono::system_clock::duration older_than) noexcept {
  try {
    const fs::path folder = parent / kDeleted;
    std::error_code error;
    if (parent.empty() || !fs::is_directory(fs::symlink_status(folder, error))) return;
    const auto now = fs::file_time_type::clock::now();
    for (const fs::directory_entry& entry : files::entries_of(folder, error)) {
      const auto deleted = fs::last_write_time(entry.path(), error);
      if (!error && now - deleted >= older_than) fs::remove_all(entry.path(), error);
    }
    fs::remove(folder, error);  // only if nothing is in it
  } catch (const std::exception&) {
    // It is tried again at the next start.
  }
}

}  // namespace warpscope::runs
