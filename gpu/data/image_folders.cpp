#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/data/halves.h"
#include "gpu/data/notices.h"
#include "gpu/data/picture.h"
#include "gpu/data/requirements.h"
#include "gpu/data/set_kinds.h"
#include "gpu/data/split.h"
#include "gpu/files/file.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

/// A picture and the class that its folder gives it.
struct ClassPicture {
  std::filesystem::path path;
  std::uint8_t label = 0;
};

/// What a folder of class folders holds. Pictures are those of the first class first, each class's by path.
struct ClassFolders {
  Halves folders;  ///< of class folders, by Half; empty: there is none
  std::filesystem::path
      bare_folder;  ///< without a test folder, one of that name without class folders; or empty
  std::vector<std::string> classes;  ///< the names of the folders to train on, sorted by their bytes
  std::array<std::vector<ClassPicture>, 3> pictures;  ///< by Half
  OtherFiles others;                                  ///< in the folders of the classes
  std::size_t unclassed = 0;        ///< pictures that lie beside class folders, and so in no class
  std::vector<std::string> unused;  ///< names of folders beside those of the halves
  std::string doubt;                ///< whether the classes are some

  const std::filesystem::path& folder_of(Half half) const { return of(folders, half); }
  std::vector<ClassPicture>& pictures_of(Half half) { return pictures[static_cast<std::size_t>(half)]; }
  const std::vector<ClassPicture>& pictures_of(Half half) const {
    return pictures[static_cast<std::size_t>(half)];
  }
};

constexpr int kDeepest = 16;  // folders within the folder of a class
/// Folders that are looked through without a picture, which sets of pictures have not: it is some other folder, perhaps
/// a whole disk.
constexpr std::size_t kMostBareFolders = 10'000;
constexpr std::size_t kFoldersOfAPicture =
    10;  // as many more are looked through for each picture that was found

/// What is in a folder, by name, but for what is hidden.
struct Listing {
  std::vector<fs::path> folders;  ///< but for `runs`
  std::vector<fs::path> runs;  ///< folders of runs, or with nothing else in them: no data, whatever they show
  std::vector<fs::path> pictures;
  OtherFiles others;
};

bool is_run(const fs::path& folder) {
  return files::is_there(folder / "run.json") && files::is_there(folder / "metrics.jsonl");
}

/// True of the folder of a run, and of one that holds nothing but such folders.
bool holds_only_runs(const fs::path& folder) {
  if (is_run(folder)) return true;
  std::error_code failure;
  const fs::directory_iterator inside(folder, failure);
  return !failure && inside != fs::directory_iterator() &&
         std::all_of(begin(inside), end(inside), [](const fs::path& one) { return is_run(one); });
}

Listing list(const fs::path& folder, std::error_code& failure) {
  Listing listing;
  for (const fs::directory_entry& entry : shown_in(folder, failure)) {
    std::error_code broken;  // a link that leads nowhere is no folder
    if (entry.is_directory(broken)) {
      (holds_only_runs(entry.path()) ? listing.runs : listing.folders).push_back(entry.path());
    } else if (is_picture(entry.path())) {
      listing.pictures.push_back(entry.path());
    } else {
      listing.others.add(entry.path());
    }
  }
  return listing;
}

Listing list(const fs::path& folder) {
  std::error_code failure;
  Listing listing = list(folder, failure);
  if (!failure) return listing;
  throw core::BadInput(fmt::format("cannot read the folder {}: {}", folder.string(), failure.message()));
}

/// A way through the folders of one class.
struct Walk {
  std::set<fs::path> seen = {};  ///< by what they are behind all links, which may lead in circles
  std::size_t entered = 0;

  bool is_too_long(std::size_t pictures) const {
    return entered > kMostBareFolders + kFoldersOfAPicture * pictures;
  }
};

/// True of what the system makes of itself, /proc and /sys: no end of folders, and no picture.
bool is_of_the_system(const fs::path& folder) {
  struct statfs found {};
  if (::statfs(folder.c_str(), &found) != 0) return false;
  return found.f_type == PROC_SUPER_MAGIC || found.f_type == SYSFS_MAGIC;
}

bool enter(const fs::path& folder, Walk& walk) {
  std::error_code failure;
  const fs::path real = fs::canonical(folder, failure);
  if (failure || is_of_the_system(real) || !walk.seen.insert(real).second) return false;
  ++walk.entered;
  return true;
}

/// The folders around that of a class are none within it: by a link to one of them the pictures of all classes would be
/// of this one.
Walk around(const fs::path& of_class) {
  Walk walk;
  std::error_code failure;
  for (const fs::path& one :
       {fs::canonical(of_class, failure).parent_path(), fs::canonical(of_class.parent_path(), failure)}) {
    for (fs::path folder = one; walk.seen.insert(folder).second; folder = folder.parent_path()) continue;
  }
  return walk;
}

/// True if `folder` holds a picture, however deep. What cannot be read holds none, nor does what is too large.
bool has_picture(const fs::path& folder, int depth, Walk& walk) {
  if (depth > kDeepest || walk.is_too_long(0) || !enter(folder, walk)) return false;
  std::error_code failure;
  const Listing listing = list(folder, failure);
  return !listing.pictures.empty() || std::ranges::any_of(listing.folders, [&](const fs::path& inside) {
    return has_picture(inside, depth + 1, walk);
  });
}

using Names = std::vector<std::string>;

Names names_of(const std::vector<fs::path>& paths) {
  Names names;
  for (const fs::path& path : paths) names.push_back(path.filename().string());
  return names;
}

/// "a, b and 5 more"
std::string listed(const Names& names) {
  constexpr std::size_t kMost = 6;
  const std::size_t told = std::min(names.size(), kMost);
  const std::string more = told < names.size() ? fmt::format(" and {} more", names.size() - told) : "";
  return fmt::format("{}{}",
                     fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(told), ", "), more);
}

bool has_class_folders(const fs::path& folder) {
  const Listing listing = list(folder);
  Walk walk;
  return std::ranges::any_of(listing.folders,
                             [&](const fs::path& inside) { return has_picture(inside, 0, walk); });
}

/// Folders in a folder that are called as halves are, with class folders and without.
struct FoundHalves {
  Halves filled;
  Halves bare;
};

FoundHalves halves_in(const std::vector<fs::path>& folders) {
  std::vector<fs::path> filled, bare;
  for (const fs::path& folder : folders) {
    if (half_of_set(folder.filename().string()))
      (has_class_folders(folder) ? filled : bare).push_back(folder);
  }
  FoundHalves found{find_halves(filled, half_of, half_of_set), {}};
  for (const fs::path& folder : bare) of(found.bare, *half_of_set(folder.filename().string())) = folder;
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
  const bool several = std::ranges::any_of(alike, [](const auto& one) { return one.second.size() > 1; });
  if (!all && !several) return;
  throw core::BadInput(fmt::format(
      "the folders {} in {} are called as parts of a data set are, not as classes; call them train "
      "and test, with a folder for each class in each",
      fmt::join(named, ", "), folder.string()));
}

void collect(const fs::path& folder, int depth, Walk& walk, Listing& all) {
  if (depth > kDeepest || walk.is_too_long(all.pictures.size()) || !enter(folder, walk)) return;
  Listing listing = list(folder);
  std::move(listing.pictures.begin(), listing.pictures.end(), std::back_inserter(all.pictures));
  all.others.add(listing.others);
  for (const fs::path& inside : listing.folders) collect(inside, depth + 1, walk, all);
}

/// All pictures of one class, by path. Returns what else is there.
OtherFiles add_pictures(const fs::path& folder, std::size_t label, Half half, ClassFolders& to) {
  Listing all;
  Walk walk = around(folder);
  collect(folder, 0, walk, all);
  if (walk.is_too_long(all.pictures.size())) {
    throw core::BadInput(
        fmt::format("{} is no folder of pictures: {} of them lie in the first {} folders within it",
                    folder.string(), files::grouped(static_cast<std::int64_t>(all.pictures.size())),
                    files::grouped(static_cast<std::int64_t>(walk.entered))));
  }
  std::ranges::sort(all.pictures);
  for (fs::path& path : all.pictures) {
    to.pictures_of(half).push_back({std::move(path), static_cast<std::uint8_t>(label)});
  }
  to.others.add(all.others);
  return all.others;
}

/// For a half that is not trained on.
void find_held_out(Half half, ClassFolders& found) {
  if (found.folder_of(half).empty()) return;
  const Listing listing = list(found.folder_of(half));
  found.unclassed += listing.pictures.size();
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
  found.unclassed = listing.pictures.size();
  found.unused = names_of(listing.runs);
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
    const bool used = std::ranges::find(found.folders, one) != found.folders.end();
    if (!used && one != found.bare_folder) found.unused.push_back(one.filename().string());
  }
  return found;
}

/// For people who have a training and a test part in each class: both would be trained on.
void check_no_halves_in(const fs::path& of_class, const Names& inside) {
  std::set<Half> halves;
  for (const std::string& name : inside) {
    if (const std::optional<Half> half = half_of_set(name)) halves.insert(*half);
  }
  if (halves.size() < 2) return;
  throw core::BadInput(
      fmt::format("{} holds parts of a data set ({}); put the classes into such parts, as in {}",
                  of_class.string(), listed(inside), (fs::path("train") / of_class.filename()).string()));
}

/// What speaks against classes that hold folders of the same names and no pictures beside them: these may be the
/// classes, and the others parts of a data set under names that nobody knows. "" if nothing does.
std::string doubt_of(const std::vector<fs::path>& classes) {
  Names same;
  bool alike = true;
  for (const fs::path& one : classes) {
    const Listing listing = list(one);
    const Names names = names_of(listing.folders);
    check_no_halves_in(one, names);
    if (same.empty()) same = names;
    alike = alike && listing.pictures.empty() && names == same;
  }
  if (!alike || same.size() < 2) return "";
  return fmt::format(
      "each of the folders {} is taken for a class and holds the folders {}; if those are the classes, call "
      "the others train and test",
      listed(names_of(classes)), listed(same));
}

/// The classes are the folders in `folder`; or, where a folder there that is called as training data are
/// (half_of_set()) has folders with pictures in it, those in that one; test and validation pictures are then those in
/// folders so called. Pictures (is_picture()) may lie deeper in the folder of their class; links are followed, names
/// that begin with a point are not looked at.
///
/// Throws BadInput if a folder cannot be read, if there are not 2 to 256 classes, if one has no pictures to train on,
/// if a class is only in another folder, if two folders are the same half, if there is a half to test with and none to
/// train on, or if what should be classes are called as halves are.
ClassFolders find_class_folders(const fs::path& folder) {
  ClassFolders found = find_parts(folder);
  const fs::path& train = found.folder_of(Half::train);
  const Listing listing = list(train);
  if (train != folder) found.unclassed += listing.pictures.size();
  found.classes = names_of(listing.folders);
  if (found.classes.size() == 1 && has_class_folders(listing.folders.front())) {
    throw core::BadInput(
        fmt::format("{} has one folder with pictures, {}; if the folders in that are the classes, name it",
                    train.string(), listing.folders.front().string()));
  }
  if (found.classes.size() == 1 && half_of_set(found.classes.front())) {
    throw core::BadInput(fmt::format("{} has no folders of classes with pictures in them ({})",
                                     listing.folders.front().string(), kPictureKinds));
  }
  check_classes(train.string(), found.classes.size(), {});
  found.doubt = doubt_of(listing.folders);
  for (std::size_t label = 0; label < listing.folders.size(); ++label) {
    const std::size_t before = found.pictures_of(Half::train).size();
    const OtherFiles others = add_pictures(listing.folders[label], label, Half::train, found);
    if (found.pictures_of(Half::train).size() > before) continue;
    throw core::BadInput(
        fmt::format("class {} has no images: {} holds no pictures ({}){}{}; add some or take the folder away",
                    found.classes[label], listing.folders[label].string(), kPictureKinds,
                    others.count() == 0 ? "" : "; ", others.tell(others.count())));
  }
  find_held_out(Half::test, found);
  find_held_out(Half::validation, found);
  return found;
}

constexpr std::int64_t kPiecePictures = 8;

/// Why files could not be read, by their place in the list.
using Reasons = std::map<std::int64_t, std::string>;

/// What is to be known of the files of all halves.
struct Reading {
  std::size_t refused = 0;
  std::string first;  ///< why the first of those was
  std::atomic<std::size_t> turned = 0;

  void add(const Reasons& reasons) {
    if (refused == 0 && !reasons.empty()) first = reasons.begin()->second;
    refused += reasons.size();
  }
};

/// Reads picture i to place i; what cannot be read leaves a reason.
ImageSet read_all(const std::vector<ClassPicture>& pictures, const ImageShape& shape, const Stopped& stopped,
                  Reasons& reasons, std::atomic<std::size_t>& turned) {
  ImageSet set = make_image_set(shape, static_cast<std::int64_t>(pictures.size()));
  std::mutex mutex;
  core::parallel_for(set.count, kPiecePictures, 0, [&](std::int64_t begin, std::int64_t end) {
    if (stopped && stopped()) throw core::Error("reading the images was stopped");
    for (std::int64_t i = begin; i < end; ++i) {
      const ClassPicture& picture = pictures[static_cast<std::size_t>(i)];
      set.labels[static_cast<std::size_t>(i)] = picture.label;
      try {
        const FittedPicture fitted = read_picture(picture.path, shape);
        std::copy(fitted.pixels.begin(), fitted.pixels.end(), set.pixels.begin() + i * set.image_bytes());
        if (fitted.turned) ++turned;
      } catch (const core::Error& error) {
        const std::lock_guard lock(mutex);
        reasons.emplace(i, error.what());
      }
    }
  });
  return set;
}

/// The pictures that could be read, in their order.
ImageSet read_good(const std::vector<ClassPicture>& pictures, const ImageShape& shape, const Stopped& stopped,
                   Reasons& reasons, Reading& reading) {
  ImageSet set = read_all(pictures, shape, stopped, reasons, reading.turned);
  reading.add(reasons);
  if (reasons.empty()) return set;
  std::vector<bool> bad(pictures.size());
  for (const auto& [place, reason] : reasons) bad[static_cast<std::size_t>(place)] = true;
  ImageSet dropped;
  move_images(bad, set, dropped);
  return set;
}

/// Throws BadInput if no file of a class could be read.
void check_all_have_images(const ImageSet& set, const ClassFolders& found, const Reasons& reasons) {
  const std::vector<std::int64_t> sizes = class_sizes(set, found.classes.size());
  const auto empty = std::ranges::find(sizes, 0);
  if (empty == sizes.end()) return;
  const auto label = empty - sizes.begin();
  const auto reason = std::ranges::find_if(reasons, [&](const auto& one) {
    return found.pictures_of(Half::train)[static_cast<std::size_t>(one.first)].label == label;
  });
  throw core::BadInput(
      fmt::format("class {} is left without images, because none of its files can be read: {}",
                  found.classes[static_cast<std::size_t>(label)], reason->second));
}

std::string tell_refused(const Reading& reading, std::size_t files) {
  const std::size_t refused = reading.refused;
  if (refused == 0) return "";
  return fmt::format("{} of {} {} left out: {}{}", files::grouped(refused), files::counted(files, "file"),
                     refused == 1 ? "was" : "were", refused == 1 ? "" : "the first, ", reading.first);
}

std::string tell_unclassed(const ClassFolders& found) {
  if (found.unclassed == 0) return "";
  return fmt::format("{} beside the class folders {} of no class and {} left out",
                     found.unclassed == 1 ? "a picture" : fmt::format("{} pictures", found.unclassed),
                     found.unclassed == 1 ? "is" : "are", found.unclassed == 1 ? "was" : "were");
}

std::string tell_unused(const ClassFolders& found, const fs::path& folder) {
  if (found.unused.empty()) return "";
  return fmt::format("not looked at in {}: {}", folder.string(), listed(found.unused));
}

/// Which folders are which half, where they are not called as one is, but as a set of something.
std::string tell_halves(const ClassFolders& found) {
  std::vector<std::string> told;
  for (const Half half : {Half::train, Half::test, Half::validation}) {
    const std::string name = found.folder_of(half).filename().string();
    if (name.empty() || half_of(name) || !half_of_set(name) || found.folder_of(Half::test).empty()) continue;
    told.push_back(fmt::format("{} {}", name,
                               half == Half::train  ? "trains"
                               : half == Half::test ? "tests"
                                                    : "steers"));
  }
  return told.empty() ? "" : fmt::format("of the folders {}", fmt::join(told, ", "));
}

/// What is not trained on.
void read_held_out(const ClassFolders& found, const ImageShape& shape, const Stopped& stopped,
                   DataSet& loaded, Reading& reading) {
  for (const Half half : {Half::test, Half::validation}) {
    if (found.folder_of(half).empty()) continue;
    Reasons reasons;
    ImageSet& set = half == Half::test ? loaded.test : loaded.validation;
    set = read_good(found.pictures_of(half), shape, stopped, reasons, reading);
    if (set.count > 0) continue;
    throw core::BadInput(fmt::format("none of the files in {} can be read: {}",
                                     found.folder_of(half).string(), reasons.begin()->second));
  }
}

/// `folder`: that of the whole set.
void split_test(const ClassFolders& found, const fs::path& folder, DataSet& loaded) {
  move_images(every_tenth(loaded.train), loaded.train, loaded.test);
  if (loaded.test.count == 0) {
    throw core::BadInput(fmt::format("each class of {} has one image, which leaves none to test with",
                                     found.folder_of(Half::train).string()));
  }
  const std::string why = found.bare_folder.empty()
                              ? folder.string() + " has no test folder"
                              : found.bare_folder.string() + " has no class folders with images";
  loaded.notice = fmt::format("{}, so that every tenth image of each class tests: {}", why,
                              files::counted(loaded.test.count, "image"));
}

}  // namespace

bool holds_class_folders(const fs::path& folder) {
  return has_class_folders(folder);
}

DataSet load_image_folders(const SetRow&, const fs::path& folder, const Requirements& model,
                           const Stopped& stopped) {
  if (model.shape.channels != 1 && model.shape.channels != 3) {
    throw core::BadInput(fmt::format("pictures have one channel or three, but {} takes {}", model.name,
                                     describe(model.shape)));
  }
  const ClassFolders found = find_class_folders(folder);
  check_classes(folder.string(), found.classes.size(), model);
  std::size_t pictures = 0;
  for (const auto& half : found.pictures) pictures += half.size();
  check_memory(folder.string(), static_cast<std::int64_t>(pictures), model.shape);
  DataSet loaded;
  loaded.classes = found.classes;
  Reasons reasons;
  Reading reading;
  loaded.train = read_good(found.pictures_of(Half::train), model.shape, stopped, reasons, reading);
  check_all_have_images(loaded.train, found, reasons);
  read_held_out(found, model.shape, stopped, loaded, reading);
  const fs::path& test = found.folder_of(Half::test);
  if (test.empty()) {
    split_test(found, folder, loaded);
  } else if (half_of_set(test.filename().string()) == Half::validation) {
    loaded.notice = tell_validation(true, loaded.test.count, "image", test.string());
  }
  if (loaded.validation.count > 0) {
    loaded.notice =
        tell_validation(false, loaded.validation.count, "image", found.folder_of(Half::validation).string());
  }
  const std::size_t files = pictures + found.others.count();
  for (const std::string& told :
       {tell_halves(found), found.doubt, found.others.tell(files), tell_refused(reading, files),
        tell_unclassed(found), tell_unused(found, folder), tell_turned(reading.turned)}) {
    add_notice(told, loaded.notice);
  }
  return loaded;
}

}  // namespace warpscope::data
