#include "gpu/data/own_idx.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/idx.h"
#include "gpu/files/file.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCorrectIt = "correct or replace it";

struct Role {
  const char* title;
  bool trains;
  bool images;
};
constexpr std::array kRoles{Role{"training images", true, true}, Role{"training labels", true, false},
                            Role{"test images", false, true}, Role{"test labels", false, false}};
using Candidates = std::array<std::vector<fs::path>, kRoles.size()>;

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

bool has_any(const std::string& name, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return name.find(word) != std::string::npos; });
}

bool plays(const Role& role, const std::string& name) {
  const bool trains = has_any(name, {"train"});
  const bool tests = !trains && has_any(name, {"test", "t10k"});
  const bool images = has_any(name, {"images", "idx3", "idx4"});
  const bool labels = !images && has_any(name, {"labels", "idx1"});
  return (role.trains ? trains : tests) && (role.images ? images : labels);
}

/// By name alone.
Candidates candidates_in(const fs::path& folder) {
  Candidates found;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = lower_case(entry->path().filename().string());
    std::error_code broken;
    if (name.starts_with('.') || entry->is_directory(broken)) continue;
    for (std::size_t i = 0; i < kRoles.size(); ++i) {
      if (plays(kRoles[i], name)) found[i].push_back(entry->path());
    }
  }
  if (failure) {
    throw core::BadInput(fmt::format("cannot read the folder {}: {}", folder.string(), failure.message()));
  }
  for (std::vector<fs::path>& paths : found) std::sort(paths.begin(), paths.end());
  return found;
}

std::optional<ImageShape> shape_of(const fs::path& path) {
  constexpr std::int64_t kMostSide = std::numeric_limits<int>::max();
  const std::vector<std::int64_t> sizes = peek_idx(path);
  if (sizes.size() < 3 || sizes.size() > 4) return std::nullopt;
  if (std::any_of(sizes.begin() + 1, sizes.end(), [](std::int64_t size) { return size > kMostSide; })) {
    return std::nullopt;
  }
  return ImageShape{static_cast<int>(sizes[1]), static_cast<int>(sizes[2]),
                    sizes.size() == 4 ? static_cast<int>(sizes[3]) : 1};
}

/// The one file of a role. Sorted names have the unpacked one before the packed one.
fs::path only_file(const std::vector<fs::path>& paths, const Role& role) {
  const fs::path& first = paths.front();
  for (const fs::path& other : paths) {
    if (other == first || other.string() == first.string() + ".gz") continue;
    throw core::BadInput(
        fmt::format("{} and {} could both be the {}; put the files of one set in a folder of their own",
                    first.string(), other.string(), role.title));
  }
  return first;
}

std::array<fs::path, kRoles.size()> find_files(const fs::path& folder) {
  const Candidates found = candidates_in(folder);
  std::array<fs::path, kRoles.size()> files;
  std::string missing;
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    if (found[i].empty()) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", kRoles[i].title);
    } else {
      files[i] = only_file(found[i], kRoles[i]);
    }
  }
  if (missing.empty()) return files;
  throw core::BadInput(
      fmt::format("the IDX set in {} is not complete: {} missing; names of its files hold train, test or "
                  "t10k, and images "
                  "or labels",
                  folder.string(), missing));
}

/// Of the model's shape.
ImageSet load_pair(const fs::path& images_path, const fs::path& labels_path, const Requirements& model) {
  const std::vector<std::int64_t> sizes = peek_idx(images_path);
  if (const std::optional<ImageShape> shape = shape_of(images_path)) {
    check_shape(images_path.string(), *shape, model);
    check_memory(images_path.string(), sizes.front(), *shape);
  }
  Idx images = read_idx(images_path, idx_dimensions(images_path) == 4 ? 4 : 3, kCorrectIt);
  Idx labels = read_idx(labels_path, 1, kCorrectIt);
  if (images.sizes[0] != labels.sizes[0]) {
    throw core::BadInput(fmt::format("{} holds {} images, but {} holds {} labels; correct or replace them",
                                     images_path.string(), files::grouped(images.sizes[0]),
                                     labels_path.string(), files::grouped(labels.sizes[0])));
  }
  return {model.shape.height, model.shape.width,        model.shape.channels,
          images.sizes[0],    std::move(images.values), std::move(labels.values)};
}

}  // namespace

bool holds_own_idx(const fs::path& folder) {
  return own_idx_shape(folder).has_value();
}

std::optional<ImageShape> own_idx_shape(const fs::path& folder) {
  const Candidates found = candidates_in(folder);
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    if (!kRoles[i].images) continue;
    for (const fs::path& path : found[i]) {
      if (const std::optional<ImageShape> shape = shape_of(path)) return shape;
    }
  }
  return std::nullopt;
}

DataSet load_own_idx(const SetRow&, const fs::path& folder, const Requirements& model, const Stopped&) {
  const auto [train_images, train_labels, test_images, test_labels] = find_files(folder);
  DataSet loaded;
  loaded.train = load_pair(train_images, train_labels, model);
  loaded.test = load_pair(test_images, test_labels, model);
  const auto largest = std::max(*std::max_element(loaded.train.labels.begin(), loaded.train.labels.end()),
                                *std::max_element(loaded.test.labels.begin(), loaded.test.labels.end()));
  check_classes(folder.string(), std::size_t{largest} + 1, model);
  for (int label = 0; label <= largest; ++label) loaded.classes.push_back(std::to_string(label));
  return loaded;
}

}  // namespace warpscope::data
