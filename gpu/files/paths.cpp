#include "gpu/files/paths.h"

#include <array>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "gpu/core/error.h"

namespace warpscope::files {
namespace {

namespace fs = std::filesystem;

fs::path environment_path(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? fs::path() : fs::path(value);
}

fs::path home_dir() {
  if (fs::path home = environment_path("HOME"); home.is_absolute()) return home;
  // Services and containers run without HOME; the user database still knows.
  std::array<char, 16384> memory{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, memory.data(), memory.size(), &found) == 0 && found != nullptr &&
      found->pw_dir != nullptr) {
    return found->pw_dir;
  }
  return {};
}

fs::path user_dir(const char* variable, const char* below_home) {
  if (const fs::path base = environment_path(variable); base.is_absolute()) return base / "warpscope";
  const fs::path home = home_dir();
  if (!home.is_absolute()) {
    throw core::Error(
        fmt::format("no folder for the files of this user: set {} or HOME to an absolute path", variable));
  }
  return home / below_home / "warpscope";
}

}  // namespace

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::absolute(path, error);
  const std::filesystem::path whole = (error ? path : found).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

fs::path cache_dir() {
  return user_dir("XDG_CACHE_HOME", ".cache");
}

fs::path data_dir() {
  return user_dir("XDG_DATA_HOME", ".local/share");
}

fs::path config_dir() {
  return user_dir("XDG_CONFIG_HOME", ".config");
}

}  // namespace warpscope::files
