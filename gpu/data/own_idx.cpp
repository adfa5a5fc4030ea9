#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/data/halves.h"
#include "gpu/data/idx.h"
#include "gpu/data/set_kinds.h"
#include "gpu/files/file.h"
#include "gpu/files/text.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCorrectIt = "correct or replace it";

struct Role {
  const char* title;
  Half half;
  bool images;
};
// For each half images before labels, as Files has them.
constexpr std::array kRoles{Role{"training images", Half::train, true},
                            Role{"training labels", Half::train, false},
                            Role{"test images", Half::test, true},
                            Role{"test labels", Half::test, false},
                            Role{"validation images", Half::validation, true},
                            Role{"validation labels", Half::validation, false}};
using Candidates = std::array<std::vector<fs::path>, kRoles.size()>;
using Files = std::array<fs::path, kRoles.size()>;

bool has_any(const std::string& name, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](const char* word) { return name.find(word) != std::string::npos; });
}

bool plays(const Role& role, const std::string& name) {
  const bool trains = has_any(name, {"train"});
  const bool tests = !trains && has_any(name, {"test", "t10k"});
  const std::optional<Half> half = trains ? Half::train : tests ? Half::test : half_in(name);
  const bool images = has_any(name, {"images", "idx3", "idx4"});
  const bool labels = !images && has_any(name, {"labels", "idx1"});
  return half == role.half && (role.images ? images : labels);
}

/// Only by name.
Candidates candidates_in(const fs::path& folder) {
  Candidates found;
  for (const fs::directory_entry& entry : shown_in(folder)) {
    const std::string name = files::lower_case(entry.path().filename().string());
    std::error_code broken;
    if (entry.is_directory(broken)) continue;
    for (std::size_t i = 0; i < kRoles.size(); ++i) {
      if (plays(kRoles[i], name)) found[i].push_back(entry.path());
    }
  }
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

/// Takes the files of a half and returns what of it is missing; "" where neither is there and none is `needed`.
std::string take_half(const Candidates& found, Half half, bool needed, Files& files) {
  std::string missing;
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    if (kRoles[i].half != half) continue;
    if (found[i].empty()) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", kRoles[i].title);
    } else {
      files[i] = only_file(found[i], kRoles[i]);
      needed = true;
    }
  }
  return needed ? missing : "";
}

/// Those to validate with test where no others do.
Files find_files(const fs::path& folder) {
  const Candidates found = candidates_in(folder);
  Files files;
  std::vector<std::string> missing{take_half(found, Half::train, true, files),
                                   take_half(found, Half::validation, false, files)};
  missing.push_back(take_half(found, Half::test, files[4].empty() && missing.back().empty(), files));
  missing.erase(std::remove(missing.begin(), missing.end(), ""), missing.end());
  if (!missing.empty()) {
    throw core::BadInput(fmt::format(
        "the IDX set in {} is not complete: {} missing; names of its files hold train, test or t10k, or "
        "val, and images or labels",
        folder.string(), fmt::join(missing, ", ")));
  }
  if (files[2].empty()) {
    std::swap(files[2], files[4]);
    std::swap(files[3], files[5]);
  }
  return files;
}

/// Images of the model's shape.
ImageSet load_pair(const fs::path& images_path, const fs::path& labels_path, const Requirements& model) {
  const std::vector<std::int64_t> sizes = peek_idx(images_path);
  if (const std::optional<ImageShape> shape = shape_of(images_path)) {
    check_shape(images_path.string(), *shape, model);
    check_memory(images_path.string(), sizes.front(), *shape);
  }
  Idx images = read_idx(images_path, idx_dimensions(images_path) == 4 ? 4 : 3, kCorrectIt);
  Idx labels = read_idx(labels_path, 1, kCorrectIt);
  if (images.sizes[0] != labels.sizes[0]) {
    throw core::BadInput(fmt::format("{} holds {}, but {} holds {}; correct or replace them",
                                     images_path.string(), files::counted(images.sizes[0], "image"),
                                     labels_path.string(), files::counted(labels.sizes[0], "label")));
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
  const Files files = find_files(folder);
  DataSet loaded;
  loaded.train = load_pair(files[0], files[1], model);
  loaded.test = load_pair(files[2], files[3], model);
  const fs::path& validation = files[4];
  if (!validation.empty()) {
    loaded.validation = load_pair(validation, files[5], model);
    loaded.notice = tell_validation(false, loaded.validation.count, "image", validation.string());
  } else if (plays(kRoles[4], files::lower_case(files[2].filename().string()))) {
    loaded.notice = tell_validation(true, loaded.test.count, "image", files[2].string());
  }
  std::uint8_t largest = 0;
  for (const ImageSet* set : {&loaded.train, &loaded.test, &loaded.validation}) {
    for (const std::uint8_t label : set->labels) largest = std::max(largest, label);
  }
  check_classes(folder.string(), std::size_t{largest} + 1, model);
  for (int label = 0; label <= largest; ++label) loaded.classes.push_back(std::to_string(label));
  return loaded;
}

}  // namespace warpscope::data
