#include "gpu/files/paths.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "gpu/core/error.h"

namespace warpscope::files::paths_test {
namespace {

/// Sets (or, with nullptr, removes) an environment variable until the end of its scope.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name); before != nullptr) before_ = before;
    set(value);
  }
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const char* value) const {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

TEST(Paths, FollowTheXdgVariables) {
  const Environment cache("XDG_CACHE_HOME", "/somewhere/cache");
  const Environment config("XDG_CONFIG_HOME", "/somewhere/with space");
  const Environment data("XDG_DATA_HOME", "/somewhere/data");
  EXPECT_EQ(data_dir(), "/somewhere/data/warpscope");
  EXPECT_EQ(cache_dir(), "/somewhere/cache/warpscope");
  EXPECT_EQ(config_dir(), "/somewhere/with space/warpscope");
}

TEST(Paths, FallBackToTheHomeFolder) {
  const Environment home("HOME", "/home/somebody");
  for (const char* ignored : {static_cast<const char*>(nullptr), "", "relative/path"}) {
    const Environment cache("XDG_CACHE_HOME", ignored);
    const Environment config("XDG_CONFIG_HOME", ignored);
    EXPECT_EQ(cache_dir(), "/home/somebody/.cache/warpscope");
    EXPECT_EQ(config_dir(), "/home/somebody/.config/warpscope");
  }
}

TEST(Paths, WithoutHomeTheUserDatabaseIsAsked) {
  const Environment home("HOME", nullptr);
  const Environment cache("XDG_CACHE_HOME", nullptr);
  try {
    EXPECT_TRUE(cache_dir().is_absolute());
  } catch (const core::Error& error) {
    // A user id without an entry has no home folder at all; then the message says what to set.
    EXPECT_NE(std::string(error.what()).find("XDG_CACHE_HOME"), std::string::npos);
  }
}

}  // namespace
}  // namespace warpscope::files::paths_test
