#include "gpu/data/locate.h"

#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/paths.h"
#include "gpu/data/builtin.h"
#include "gpu/data/cifar10.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFetch = "warpscope fetch cifar10 brings it";

/// CIFAR-10 in the cache folder, or nullopt with the reason in `absent`.
std::optional<fs::path> find_cached(std::string& absent) {
  fs::path cache;
  try {
    cache = core::cache_dir();
  } catch (const core::Error& error) {
    absent = fmt::format("no CIFAR-10 found: {}", error.what());
    return std::nullopt;
  }
  absent = fmt::format("no CIFAR-10 found in {}", cache.string());
  return find_cifar10(cache);
}

}  // namespace

Location locate(const std::string& data_option) {
  if (data_option == "builtin") return {};
  if (!data_option.empty() && data_option != "cifar10") return {data_option, {}};

  if (const char* variable = std::getenv("WARPSCOPE_DATA"); variable != nullptr && *variable != '\0') {
    if (const std::optional<fs::path> found = find_cifar10(variable)) return {*found, {}};
    throw core::BadInput(
        fmt::format("$WARPSCOPE_DATA is {}, where there is no CIFAR-10; correct or unset it", variable));
  }
  std::string absent;
  if (const std::optional<fs::path> found = find_cached(absent)) return {*found, {}};
  if (data_option == "cifar10") {
    throw core::BadInput(fmt::format("{}; {}, or name the folder that holds it", absent, kFetch));
  }
  return {{}, fmt::format("{}; using the built-in scenes ({})", absent, kFetch)};
}

DataSet load(const std::string& data_option, std::string& notice) {
  const Location location = locate(data_option);
  notice = location.notice;
  return location.folder.empty() ? make_builtin() : load_cifar10(location.folder);
}

}  // namespace warpscope::data
