#include "gpu/data/locate.h"

#include <array>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/builtin.h"
#include "gpu/data/builtin_digits.h"
#include "gpu/data/cifar10.h"
#include "gpu/data/mnist.h"
#include "gpu/files/paths.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

/// A data set with a name, and what stands in for it.
struct Source {
  const char* option;
  const char* name;
  ImageShape shape;
  const char* stand_in;
  std::optional<fs::path> (*find)(const fs::path& folder);
  DataSet (*load)(const fs::path& folder);
  DataSet (*make)();
};

constexpr std::array kSources{
    Source{"cifar10", "CIFAR-10", kSceneShape, "built-in scenes", find_cifar10, load_cifar10,
           [] { return make_builtin(); }},
    Source{"mnist", "MNIST", kDigitShape, "built-in digits", find_mnist, load_mnist,
           [] { return make_builtin_digits(); }},
};

std::string describe(const ImageShape& shape) {
  return fmt::format("{}x{}x{}", shape.height, shape.width, shape.channels);
}

const Source& source_of(const ImageShape& wanted) {
  std::string known;
  for (const Source& source : kSources) {
    if (source.shape == wanted) return source;
    known += fmt::format("{}{} ({})", known.empty() ? "" : " and ", describe(source.shape), source.name);
  }
  throw core::BadInput(fmt::format("no data set has images of {}, which the model takes; known are {}",
                                   describe(wanted), known));
}

std::string fetch_hint(const Source& source) {
  return fmt::format("warpscope fetch {} brings it", source.option);
}

/// "" or, if `folder` holds another data set than `source`, a remark about that.
std::string remark_on_other(const Source& source, const fs::path& folder) {
  for (const Source& other : kSources) {
    if (&other == &source || !other.find(folder)) continue;
    return fmt::format(": it holds {}, with images of {}, but the model takes {}", other.name,
                       describe(other.shape), describe(source.shape));
  }
  return "";
}

/// The data set in the cache folder, or nullopt with the reason in `absent`.
std::optional<fs::path> find_cached(const Source& source, std::string& absent) {
  fs::path cache;
  try {
    cache = core::cache_dir();
  } catch (const core::Error& error) {
    absent = fmt::format("no {} found: {}", source.name, error.what());
    return std::nullopt;
  }
  absent = fmt::format("no {} found in {}", source.name, cache.string());
  return source.find(cache);
}

/// A folder that was named. What is wrong with it, but for holding the other data set, its loader says.
Location named_folder(const Source& source, const std::string& folder) {
  if (!source.find(folder)) {
    const std::string remark = remark_on_other(source, folder);
    if (!remark.empty()) {
      throw core::BadInput(fmt::format("no {} in {}{}; name a folder with {}, or builtin", source.name,
                                       folder, remark, source.name));
    }
  }
  return {folder, {}};
}

}  // namespace

Location locate(const std::string& data_option, const ImageShape& wanted) {
  const Source& source = source_of(wanted);
  if (data_option == "builtin") return {};
  for (const Source& other : kSources) {
    if (data_option == other.option && &other != &source) {
      throw core::BadInput(
          fmt::format("{} has images of {}, but the model takes {}; valid: {}, builtin or a folder",
                      other.name, describe(other.shape), describe(wanted), source.option));
    }
  }
  if (!data_option.empty() && data_option != source.option) return named_folder(source, data_option);

  if (const char* variable = std::getenv("WARPSCOPE_DATA"); variable != nullptr && *variable != '\0') {
    if (const std::optional<fs::path> found = source.find(variable)) return {*found, {}};
    throw core::BadInput(fmt::format("$WARPSCOPE_DATA is {}, where there is no {}{}; correct or unset it",
                                     variable, source.name, remark_on_other(source, variable)));
  }
  std::string absent;
  if (const std::optional<fs::path> found = find_cached(source, absent)) return {*found, {}};
  if (!data_option.empty()) {
    throw core::BadInput(fmt::format("{}; {}, or name the folder that holds it", absent, fetch_hint(source)));
  }
  return {{}, fmt::format("{}; using the {} ({})", absent, source.stand_in, fetch_hint(source))};
}

DataSet load(const std::string& data_option, std::string& notice, const ImageShape& wanted) {
  const Location location = locate(data_option, wanted);
  notice = location.notice;
  const Source& source = source_of(wanted);
  return location.folder.empty() ? source.make() : source.load(location.folder);
}

}  // namespace warpscope::data
