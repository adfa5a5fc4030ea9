#include "gpu/data/image_folders.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/data/class_folders.h"
#include "gpu/data/halves.h"
#include "gpu/data/notices.h"
#include "gpu/data/picture.h"
#include "gpu/data/split.h"
#include "gpu/files/file.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

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
  ImageSet set{shape.height, shape.width, shape.channels, static_cast<std::int64_t>(pictures.size()), {}, {}};
  set.pixels.resize(static_cast<std::size_t>(set.count * set.image_bytes()));
  set.labels.resize(pictures.size());
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
  const auto empty = std::find(sizes.begin(), sizes.end(), 0);
  if (empty == sizes.end()) return;
  const auto label = empty - sizes.begin();
  const auto reason = std::find_if(reasons.begin(), reasons.end(), [&](const auto& one) {
    return found.pictures_of(Half::train)[static_cast<std::size_t>(one.first)].label == label;
  });
  throw core::BadInput(
      fmt::format("class {} is left without images, because none of its files can be read: {}",
                  found.classes[static_cast<std::size_t>(label)], reason->second));
}

std::string tell_refused(const Reading& reading, std::size_t files) {
  const std::size_t refused = reading.refused;
  if (refused == 0) return "";
  return fmt::format("{} of {} files {} left out: {}{}", files::grouped(static_cast<std::int64_t>(refused)),
                     files::grouped(static_cast<std::int64_t>(files)), refused == 1 ? "was" : "were",
                     refused == 1 ? "" : "the first, ", reading.first);
}

std::string tell_beside(const ClassFolders& found) {
  if (found.beside == 0) return "";
  return fmt::format("{} beside the class folders {} of no class and {} left out",
                     found.beside == 1 ? "a picture" : fmt::format("{} pictures", found.beside),
                     found.beside == 1 ? "is" : "are", found.beside == 1 ? "was" : "were");
}

std::string tell_unused(const ClassFolders& found, const fs::path& folder) {
  constexpr std::size_t kMost = 6;
  if (found.unused.empty()) return "";
  const std::size_t told = std::min(found.unused.size(), kMost);
  const std::string more =
      told < found.unused.size() ? fmt::format(" and {} more", found.unused.size() - told) : "";
  return fmt::format(
      "not looked at in {}: {}{}", folder.string(),
      fmt::join(found.unused.begin(), found.unused.begin() + static_cast<std::ptrdiff_t>(told), ", "), more);
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
  loaded.notice = fmt::format("{}, so that every tenth image of each class tests: {} images", why,
                              files::grouped(loaded.test.count));
}

}  // namespace

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
  } else if (half_of(test.filename().string()) == Half::validation) {
    loaded.notice = tell_validation(true, loaded.test.count, "image", test.string());
  }
  if (loaded.validation.count > 0) {
    loaded.notice =
        tell_validation(false, loaded.validation.count, "image", found.folder_of(Half::validation).string());
  }
  const std::size_t files = pictures + found.others.count();
  for (const std::string& told : {found.others.tell(files), tell_refused(reading, files), tell_beside(found),
                                  tell_unused(found, folder), tell_turned(reading.turned)}) {
    add_notice(told, loaded.notice);
  }
  return loaded;
}

}  // namespace warpscope::data
