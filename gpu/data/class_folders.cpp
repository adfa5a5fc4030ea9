#include "gpu/data/class_folders.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/data/requirements.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 16;  // folders within the folder of a class

/// What is in a folder, by name, but for what is hidden.
struct Listing {
  std::vector<fs::path> folders;
  std::vector<fs::path> pictures;
  OtherFiles others;
};

Listing list(const fs::path& folder, std::error_code& failure) {
  Listing listing;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const fs::path& path = entry->path();
    if (is_hidden(path)) continue;
    std::error_code broken;  // a link that leads nowhere is no folder
    if (entry->is_directory(broken)) {
      listing.folders.push_back(path);
    } else if (is_picture(path)) {
      listing.pictures.push_back(path);
    } else {
      listing.others.add(path);
    }
  }
  std::sort(listing.folders.begin(), listing.folders.end());
  std::sort(listing.pictures.begin(), listing.pictures.end());
  return listing;
}

Listing list(const fs::path& folder) {
  std::error_code failure;
  Listing listing = list(folder, failure);
  if (!failure) return listing;
  throw core::BadInput(fmt::format("cannot read the folder {}: {}", folder.string(), failure.message()));
}

/// Folders of one class that were walked through, by what they are behind all links: links may lead in circles.
using Seen = std::set<fs::path>;

bool enter(const fs::path& folder, Seen& seen) {
  std::error_code failure;
  const fs::path real = fs::canonical(folder, failure);
  return !failure && seen.insert(real).second;
}

/// True if `folder` holds a picture, however deep. What cannot be read holds none.
bool has_picture(const fs::path& folder, int depth, Seen& seen) {
  if (depth > kDeepest || !enter(folder, seen)) return false;
  std::error_code failure;
  const Listing listing = list(folder, failure);
  return !listing.pictures.empty() ||
         std::any_of(listing.folders.begin(), listing.folders.end(),
                     [&](const fs::path& inside) { return has_picture(inside, depth + 1, seen); });
}

bool has_class_folders(const fs::path& folder) {
  const Listing listing = list(folder);
  Seen seen;
  return std::any_of(listing.folders.begin(), listing.folders.end(),
                     [&](const fs::path& inside) { return has_picture(inside, 0, seen); });
}

/// Folders in a folder that are called as halves are, with class folders and without.
struct FoundHalves {
  Halves filled;
  Halves bare;
};

FoundHalves halves_in(const std::vector<fs::path>& folders) {
  std::vector<fs::path> filled, bare;
  for (const fs::path& folder : folders) {
    if (half_of(folder.filename().string())) (has_class_folders(folder) ? filled : bare).push_back(folder);
  }
  FoundHalves found{find_halves(filled, half_of), {}};
  for (const fs::path& folder : bare) of(found.bare, *half_of(folder.filename().string())) = folder;
  return found;
}

/// Where nothing is called as training data are, nothing may be called as the other halves are: they would be classes.
void check_are_classes(const fs::path& folder, const std::vector<fs::path>& folders,
                       const FoundHalves& found) {
  const fs::path& test =
      of(found.filled, of(found.filled, Half::test).empty() ? Half::validation : Half::test);
  const fs::path& train = of(found.bare, Half::train);
  if (!test.empty() && !train.empty()) {
    throw core::BadInput(
        fmt::format("{} has no class folders with pictures ({}) to train on, as {} has to test with",
                    train.string(), kPictureKinds, test.string()));
  }
  if (!test.empty()) {
    throw core::BadInput(
        fmt::format("{} is called as data to test with are, but no folder train with class folders is beside "
                    "it to train on",
                    test.string()));
  }
  std::vector<std::string> named;
  std::map<std::string, std::set<Half>> alike;  // as "seg_train" and "seg_test" are
  std::set<Half> different;
  for (const fs::path& one : folders) {
    const std::string name = one.filename().string();
    if (const std::optional<Half> half = half_in(name)) {
      named.push_back(name);
      different.insert(*half);
      alike[without_half(name)].insert(*half);
    }
  }
  const bool all = different.size() > 1 && named.size() == folders.size();
  const bool several =
      std::any_of(alike.begin(), alike.end(), [](const auto& one) { return one.second.size() > 1; });
  if (!all && !several) return;
  throw core::BadInput(fmt::format(
      "the folders {} in {} are called as parts of a data set are, not as classes; call them train "
      "and test, with a folder for each class in each",
      fmt::join(named, ", "), folder.string()));
}

void collect(const fs::path& folder, int depth, Seen& seen, Listing& all) {
  if (depth > kDeepest || !enter(folder, seen)) return;
  Listing listing = list(folder);
  std::move(listing.pictures.begin(), listing.pictures.end(), std::back_inserter(all.pictures));
  all.others.add(listing.others);
  for (const fs::path& inside : listing.folders) collect(inside, depth + 1, seen, all);
}

/// All pictures of one class, by path.
void add_pictures(const fs::path& folder, std::size_t label, Half half, ClassFolders& to) {
  Listing all;
  Seen seen;
  collect(folder, 0, seen, all);
  std::sort(all.pictures.begin(), all.pictures.end());
  for (fs::path& path : all.pictures) {
    to.pictures_of(half).push_back({std::move(path), static_cast<std::uint8_t>(label)});
  }
  to.others.add(all.others);
}

/// For a half that is not trained on.
void find_held_out(Half half, ClassFolders& found) {
  if (found.folder_of(half).empty()) return;
  const Listing listing = list(found.folder_of(half));
  found.beside += listing.pictures.size();
  for (const fs::path& folder : listing.folders) {
    const std::string name = folder.filename().string();
    const auto place = std::lower_bound(found.classes.begin(), found.classes.end(), name);
    if (place == found.classes.end() || *place != name) {
      throw core::BadInput(fmt::format("{} is the folder of a class that {} does not have", folder.string(),
                                       found.folder_of(Half::train).string()));
    }
    add_pictures(folder, static_cast<std::size_t>(place - found.classes.begin()), half, found);
  }
}

/// Where the parts of the set lie in `folder`.
ClassFolders find_parts(const fs::path& folder) {
  ClassFolders found;
  const Listing listing = list(folder);
  FoundHalves halves = halves_in(listing.folders);
  found.beside = listing.pictures.size();
  if (of(halves.filled, Half::train).empty()) {
    check_are_classes(folder, listing.folders, halves);
    of(found.folders, Half::train) = folder;
    return found;
  }
  found.folders = halves.filled;
  fs::path& test = of(found.folders, Half::test);
  if (test.empty()) test = std::exchange(of(found.folders, Half::validation), {});
  if (test.empty())
    found.bare_folder = of(halves.bare, of(halves.bare, Half::test).empty() ? Half::validation : Half::test);
  for (const fs::path& one : listing.folders) {
    const bool used = std::find(found.folders.begin(), found.folders.end(), one) != found.folders.end();
    if (!used && one != found.bare_folder) found.unused.push_back(one.filename().string());
  }
  return found;
}

}  // namespace

bool holds_class_folders(const fs::path& folder) {
  return has_class_folders(folder);
}

ClassFolders find_class_folders(const fs::path& folder) {
  ClassFolders found = find_parts(folder);
  const fs::path& train = found.folder_of(Half::train);
  const Listing listing = list(train);
  if (train != folder) found.beside += listing.pictures.size();
  for (const fs::path& path : listing.folders) found.classes.push_back(path.filename().string());
  if (found.classes.size() == 1 && has_class_folders(listing.folders.front())) {
    throw core::BadInput(
        fmt::format("{} has one folder with pictures, {}; if the folders in that are the classes, name it",
                    train.string(), listing.folders.front().string()));
  }
  if (found.classes.size() == 1 && half_of(found.classes.front())) {
    throw core::BadInput(fmt::format("{} has no folders of classes with pictures in them ({})",
                                     listing.folders.front().string(), kPictureKinds));
  }
  check_classes(train.string(), found.classes.size(), {});
  for (std::size_t label = 0; label < listing.folders.size(); ++label) {
    const std::size_t before = found.pictures_of(Half::train).size();
    add_pictures(listing.folders[label], label, Half::train, found);
    if (found.pictures_of(Half::train).size() > before) continue;
    throw core::BadInput(
        fmt::format("class {} has no images: {} holds no pictures ({}); add some or take the folder away",
                    found.classes[label], listing.folders[label].string(), kPictureKinds));
  }
  find_held_out(Half::test, found);
  find_held_out(Half::validation, found);
  return found;
}

}  // namespace warpscope::data
