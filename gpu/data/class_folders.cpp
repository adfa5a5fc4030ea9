#include "gpu/data/class_folders.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/own_images.h"
#include "gpu/data/requirements.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 16;  // folders within the folder of a class

/// What is in a folder, by name, but for what is hidden.
struct Listing {
  std::vector<fs::path> folders;
  std::vector<fs::path> pictures;
};

Listing list(const fs::path& folder, std::error_code& failure) {
  Listing listing;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const fs::path& path = entry->path();
    if (path.filename().native().starts_with('.')) continue;
    std::error_code broken;  // a link that leads nowhere is no folder
    if (entry->is_directory(broken)) {
      listing.folders.push_back(path);
    } else if (is_picture(path)) {
      listing.pictures.push_back(path);
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

/// The folder that holds the class folders to train on.
fs::path train_folder_of(const fs::path& folder) {
  fs::path train = folder / "train";
  std::error_code failure;
  return fs::is_directory(train, failure) && has_class_folders(train) ? train : folder;
}

/// The first that has class folders, or that has none. Nothing where there is none.
fs::path test_folder_of(const fs::path& folder, bool with_classes) {
  for (const char* name : {"test", "val", "valid"}) {
    const fs::path test = folder / name;
    std::error_code failure;
    if (fs::is_directory(test, failure) && has_class_folders(test) == with_classes) return test;
  }
  return {};
}

/// A folder `train` without pictures beside test images is no class.
void check_train_folder(const fs::path& folder) {
  const fs::path train = folder / "train", test = test_folder_of(folder, true);
  std::error_code failure;
  if (test.empty() || !fs::is_directory(train, failure)) return;
  throw core::BadInput(
      fmt::format("{} has no class folders with PNG or JPEG files to train on, as {} has to test with",
                  train.string(), test.string()));
}

void collect(const fs::path& folder, int depth, Seen& seen, std::vector<fs::path>& pictures) {
  if (depth > kDeepest || !enter(folder, seen)) return;
  Listing listing = list(folder);
  std::move(listing.pictures.begin(), listing.pictures.end(), std::back_inserter(pictures));
  for (const fs::path& inside : listing.folders) collect(inside, depth + 1, seen, pictures);
}

/// All pictures of one class, by path.
std::vector<fs::path> pictures_of(const fs::path& folder) {
  std::vector<fs::path> pictures;
  Seen seen;
  collect(folder, 0, seen, pictures);
  std::sort(pictures.begin(), pictures.end());
  return pictures;
}

void add_pictures(const fs::path& folder, std::size_t label, std::vector<ClassPicture>& to) {
  for (fs::path& path : pictures_of(folder))
    to.push_back({std::move(path), static_cast<std::uint8_t>(label)});
}

void find_test_pictures(ClassFolders& found) {
  for (const fs::path& folder : list(found.test_folder).folders) {
    const std::string name = folder.filename().string();
    const auto place = std::lower_bound(found.classes.begin(), found.classes.end(), name);
    if (place == found.classes.end() || *place != name) {
      throw core::BadInput(fmt::format("{} is the folder of a class that {} does not have", folder.string(),
                                       found.train_folder.string()));
    }
    add_pictures(folder, static_cast<std::size_t>(place - found.classes.begin()), found.test);
  }
}

}  // namespace

bool holds_class_folders(const fs::path& folder) {
  return has_class_folders(train_folder_of(folder));
}

ClassFolders find_class_folders(const fs::path& folder) {
  ClassFolders found;
  found.train_folder = train_folder_of(folder);
  if (found.train_folder == folder) {
    check_train_folder(folder);
  } else {
    found.test_folder = test_folder_of(folder, true);
    if (found.test_folder.empty()) found.bare_folder = test_folder_of(folder, false);
  }
  const std::vector<fs::path> folders = list(found.train_folder).folders;
  for (const fs::path& path : folders) found.classes.push_back(path.filename().string());
  check_classes(found.train_folder.string(), found.classes.size(), {});
  for (std::size_t label = 0; label < folders.size(); ++label) {
    const std::size_t before = found.train.size();
    add_pictures(folders[label], label, found.train);
    if (found.train.size() > before) continue;
    throw core::BadInput(
        fmt::format("class {} has no images: {} holds no PNG or JPEG files; add some or take the folder away",
                    found.classes[label], folders[label].string()));
  }
  if (!found.test_folder.empty()) find_test_pictures(found);
  return found;
}

}  // namespace warpscope::data
