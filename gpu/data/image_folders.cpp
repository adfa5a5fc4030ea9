#include "gpu/data/image_folders.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/data/class_folders.h"
#include "gpu/data/own_images.h"
#include "gpu/data/split.h"
#include "gpu/files/file.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPiecePictures = 8;

/// Why files could not be read, by their place in the list.
using Reasons = std::map<std::int64_t, std::string>;

/// Files that were not taken.
struct Refused {
  std::size_t count = 0;
  std::string first;

  void add(const Reasons& reasons) {
    if (count == 0 && !reasons.empty()) first = reasons.begin()->second;
    count += reasons.size();
  }
};

/// Reads picture i to place i; what cannot be read leaves a reason.
ImageSet read_all(const std::vector<ClassPicture>& pictures, const ImageShape& shape, const Stopped& stopped,
                  Reasons& reasons) {
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
        const std::vector<std::uint8_t> pixels = read_picture(picture.path, shape);
        std::copy(pixels.begin(), pixels.end(), set.pixels.begin() + i * set.image_bytes());
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
                   Reasons& reasons) {
  ImageSet set = read_all(pictures, shape, stopped, reasons);
  if (reasons.empty()) return set;
  std::vector<bool> bad(pictures.size());
  for (const auto& [place, reason] : reasons) bad[static_cast<std::size_t>(place)] = true;
  ImageSet dropped;
  move_images(bad, set, dropped);
  return set;
}

/// How many images each class has.
std::vector<std::size_t> sizes_of(const ImageSet& set, std::size_t classes) {
  std::vector<std::size_t> sizes(classes);
  for (const std::uint8_t label : set.labels) ++sizes[label];
  return sizes;
}

/// Throws BadInput if no file of a class could be read.
void check_all_have_images(const ImageSet& set, const ClassFolders& found, const Reasons& reasons) {
  const std::vector<std::size_t> sizes = sizes_of(set, found.classes.size());
  const auto empty = std::find(sizes.begin(), sizes.end(), 0U);
  if (empty == sizes.end()) return;
  const auto label = empty - sizes.begin();
  const auto reason = std::find_if(reasons.begin(), reasons.end(), [&](const auto& one) {
    return found.train[static_cast<std::size_t>(one.first)].label == label;
  });
  throw core::BadInput(
      fmt::format("class {} is left without images, because none of its files can be read: {}",
                  found.classes[static_cast<std::size_t>(label)], reason->second));
}

std::string tell(const Refused& refused, std::size_t files) {
  if (refused.count == 0) return "";
  return fmt::format("{} of {} files {} left out: {}{}",
                     files::grouped(static_cast<std::int64_t>(refused.count)),
                     files::grouped(static_cast<std::int64_t>(files)), refused.count == 1 ? "was" : "were",
                     refused.count == 1 ? "" : "the first, ", refused.first);
}

void read_test(const ClassFolders& found, const ImageShape& shape, const Stopped& stopped, DataSet& loaded,
               Refused& refused) {
  Reasons reasons;
  loaded.test = read_good(found.test, shape, stopped, reasons);
  refused.add(reasons);
  if (loaded.test.count > 0) return;
  throw core::BadInput(
      fmt::format("none of the files in {} can be read: {}", found.test_folder.string(), refused.first));
}

/// `folder`: that of the whole set.
void split_test(const ClassFolders& found, const fs::path& folder, DataSet& loaded) {
  move_images(every_tenth(loaded.train), loaded.train, loaded.test);
  if (loaded.test.count == 0) {
    throw core::BadInput(fmt::format("each class of {} has one image, which leaves none to test with",
                                     found.train_folder.string()));
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
  const std::size_t files = found.train.size() + found.test.size();
  check_memory(folder.string(), static_cast<std::int64_t>(files), model.shape);
  DataSet loaded;
  loaded.classes = found.classes;
  Reasons reasons;
  loaded.train = read_good(found.train, model.shape, stopped, reasons);
  check_all_have_images(loaded.train, found, reasons);
  Refused refused;
  refused.add(reasons);
  found.test_folder.empty() ? split_test(found, folder, loaded)
                            : read_test(found, model.shape, stopped, loaded, refused);
  const std::string told = tell(refused, files);
  if (!told.empty()) loaded.notice += (loaded.notice.empty() ? "" : "; ") + told;
  return loaded;
}

}  // namespace warpscope::data
