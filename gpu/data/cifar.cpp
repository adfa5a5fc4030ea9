// What the binary forms of CIFAR-10 and CIFAR-100 (A. Krizhevsky, "Learning Multiple Layers of Features from Tiny
// Images", 2009) share: files of records without a header. A record is one or two label bytes, of which the last
// counts, and 3,072 pixel bytes: 1,024 red, 1,024 green, 1,024 blue, each row by row from the top.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/data/set_kinds.h"
#include "gpu/files/file.h"
#include "gpu/files/file_kind.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;
using files::grouped;
using files::InputFile;
using files::is_there;

constexpr int kSide = 32;
constexpr int kPlaneBytes = kSide * kSide;
constexpr int kCifarBytes = 3 * kPlaneBytes;
// 3/4 MiB of records at a time: they are still in the cache when they are taken apart. No piece spans two files.
constexpr std::int64_t kPieceRecords = 250;
constexpr std::uintmax_t kMostNamesBytes = 4096;

struct CifarFile {
  const char* name;
  std::int64_t records;  ///< a multiple of 250
};

/// How one of the sets lies in files.
struct CifarForm {
  const char* title;                 ///< "CIFAR-10"
  std::span<const CifarFile> files;  ///< the test set's is the last
  int label_bytes;                   ///< in front of a record's pixels
  std::uint8_t classes;
  const char* names;  ///< the file with the names of the classes, one a line
};

constexpr std::int64_t kFileRecords = 10'000;
constexpr std::array kFiles10{
    CifarFile{"data_batch_1.bin", kFileRecords}, CifarFile{"data_batch_2.bin", kFileRecords},
    CifarFile{"data_batch_3.bin", kFileRecords}, CifarFile{"data_batch_4.bin", kFileRecords},
    CifarFile{"data_batch_5.bin", kFileRecords}, CifarFile{"test_batch.bin", kFileRecords}};
constexpr CifarForm kCifar10{
    .title = "CIFAR-10", .files = kFiles10, .label_bytes = 1, .classes = 10, .names = "batches.meta.txt"};

constexpr std::array kFiles100{CifarFile{"train.bin", 50'000}, CifarFile{"test.bin", 10'000}};
constexpr CifarForm kCifar100{.title = "CIFAR-100",
                              .files = kFiles100,
                              .label_bytes = 2,
                              .classes = 100,
                              .names = "fine_label_names.txt"};

std::int64_t record_bytes(const CifarForm& form) {
  return form.label_bytes + std::int64_t{kCifarBytes};
}

std::int64_t file_bytes(const CifarForm& form, const CifarFile& file) {
  return file.records * record_bytes(form);
}

/// A file of records, open for reading.
InputFile open_records(const CifarForm& form, const CifarFile& expected, const fs::path& path) {
  InputFile file(path);
  const std::int64_t bytes = file_bytes(form, expected);
  if (file.size() == bytes) return file;
  const files::FileKind* const kind = files::file_kind(file.read_up_to(0, files::kKindBytes));
  if (kind != nullptr && !kind->remedy.empty()) {
    throw core::BadInput(
        fmt::format("{} is {}, not a file of {}; {}", path.string(), kind->name, form.title, kind->remedy));
  }
  throw core::BadInput(fmt::format("{} is {}: it has {} bytes instead of {}; delete it and fetch {} again",
                                   path.string(), file.size() < bytes ? "truncated" : "too long",
                                   grouped(file.size()), grouped(bytes), form.title));
}

std::vector<InputFile> open_files(const CifarForm& form, const fs::path& folder) {
  std::string missing;
  for (const CifarFile& file : form.files) {
    if (!is_there(folder / file.name)) missing += (missing.empty() ? "" : ", ") + std::string(file.name);
  }
  if (!missing.empty()) {
    throw core::BadInput(fmt::format("{} in {} is not complete: {} missing; fetch it again", form.title,
                                     folder.string(), missing));
  }
  std::vector<InputFile> files;
  files.reserve(form.files.size());
  for (const CifarFile& file : form.files) files.push_back(open_records(form, file, folder / file.name));
  return files;
}

/// The classes in the file of names, or `standard` where that is not there.
std::vector<std::string> read_classes(const CifarForm& form, const fs::path& folder,
                                      const std::vector<std::string>& standard) {
  const fs::path path = folder / form.names;
  if (!is_there(path)) return standard;
  std::vector<std::string> classes;
  std::error_code error;
  const bool plausible = fs::is_regular_file(path, error) && fs::file_size(path, error) <= kMostNamesBytes;
  std::ifstream file;
  if (plausible) {
    file.open(path);
    if (!file) throw core::BadInput(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)));
  }
  for (std::string line; plausible && std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) classes.push_back(line);
  }
  if (classes.size() == form.classes) return classes;
  throw core::BadInput(fmt::format("{} should hold {} class names, one a line; correct or delete it",
                                   path.string(), form.classes));
}

void planar_to_interleaved(const std::uint8_t* planes, std::uint8_t* pixels) {
  for (int i = 0; i < kPlaneBytes; ++i) {
    pixels[3 * i] = planes[i];
    pixels[3 * i + 1] = planes[kPlaneBytes + i];
    pixels[3 * i + 2] = planes[2 * kPlaneBytes + i];
  }
}

/// Reads records [begin, end) of `file` to the images from `first_image` on.
void read_records(const CifarForm& form, const InputFile& file, std::int64_t begin, std::int64_t end,
                  ImageSet& set, std::int64_t first_image) {
  std::vector<std::uint8_t> records(static_cast<std::size_t>((end - begin) * record_bytes(form)));
  file.read(begin * record_bytes(form), records);
  for (std::int64_t i = 0; i < end - begin; ++i) {
    const std::uint8_t* pixels = records.data() + i * record_bytes(form) + form.label_bytes;
    const std::uint8_t label = pixels[-1];
    if (label >= form.classes) {
      throw core::BadInput(
          fmt::format("{} has the label {} in record {} (counted from 0), where {} has 0 to {}; "
                      "delete it and fetch {} again",
                      file.path().string(), label, begin + i, form.title, form.classes - 1, form.title));
    }
    set.labels[static_cast<std::size_t>(first_image + i)] = label;
    planar_to_interleaved(pixels, set.pixels.data() + (first_image + i) * kCifarBytes);
  }
}

bool holds(const CifarForm& form, const fs::path& folder) {
  return std::ranges::any_of(form.files, [&](const CifarFile& file) { return is_there(folder / file.name); });
}

bool is_complete(const CifarForm& form, const fs::path& folder) noexcept {
  for (const CifarFile& file : form.files) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(folder / file.name, error);
    if (error || bytes != static_cast<std::uintmax_t>(file_bytes(form, file))) return false;
  }
  return true;
}

DataSet load(const CifarForm& form, const SetRow& row, const fs::path& folder) {
  const std::vector<InputFile> files = open_files(form, folder);
  std::vector<std::int64_t> firsts;  // the first record of each file, counted through all
  std::int64_t records = 0;
  for (const CifarFile& file : form.files) {
    firsts.push_back(records);
    records += file.records;
  }
  const std::int64_t train = firsts.back();
  DataSet set;
  set.classes = read_classes(form, folder, row.classes);
  set.train = make_image_set({kSide, kSide, 3}, train);
  set.test = make_image_set({kSide, kSide, 3}, records - train);
  core::parallel_for(records, kPieceRecords, 0, [&](std::int64_t begin, std::int64_t end) {
    const auto file =
        static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), begin) - firsts.begin() - 1);
    const bool trains = begin < train;
    read_records(form, files[file], begin - firsts[file], end - firsts[file], trains ? set.train : set.test,
                 trains ? begin : begin - train);
  });
  return set;
}

}  // namespace

std::vector<std::string> cifar100_classes() {
  return {"apple",       "aquarium_fish", "baby",      "bear",       "beaver",       "bed",
          "bee",         "beetle",        "bicycle",   "bottle",     "bowl",         "boy",
          "bridge",      "bus",           "butterfly", "camel",      "can",          "castle",
          "caterpillar", "cattle",        "chair",     "chimpanzee", "clock",        "cloud",
          "cockroach",   "couch",         "crab",      "crocodile",  "cup",          "dinosaur",
          "dolphin",     "elephant",      "flatfish",  "forest",     "fox",          "girl",
          "hamster",     "house",         "kangaroo",  "keyboard",   "lamp",         "lawn_mower",
          "leopard",     "lion",          "lizard",    "lobster",    "man",          "maple_tree",
          "motorcycle",  "mountain",      "mouse",     "mushroom",   "oak_tree",     "orange",
          "orchid",      "otter",         "palm_tree", "pear",       "pickup_truck", "pine_tree",
          "plain",       "plate",         "poppy",     "porcupine",  "possum",       "rabbit",
          "raccoon",     "ray",           "road",      "rocket",     "rose",         "sea",
          "seal",        "shark",         "shrew",     "skunk",      "skyscraper",   "snail",
          "snake",       "spider",        "squirrel",  "streetcar",  "sunflower",    "sweet_pepper",
          "table",       "tank",          "telephone", "television", "tiger",        "tractor",
          "train",       "trout",         "tulip",     "turtle",     "wardrobe",     "whale",
          "willow_tree", "wolf",          "woman",     "worm"};
}

bool holds_cifar10(const fs::path& folder) {
  return holds(kCifar10, folder);
}

bool cifar10_is_complete(const fs::path& folder) noexcept {
  return is_complete(kCifar10, folder);
}

DataSet load_cifar10(const SetRow& row, const fs::path& folder, const Requirements&, const Stopped&) {
  return load(kCifar10, row, folder);
}

bool holds_cifar100(const fs::path& folder) {
  return holds(kCifar100, folder);
}

bool cifar100_is_complete(const fs::path& folder) noexcept {
  return is_complete(kCifar100, folder);
}

DataSet load_cifar100(const SetRow& row, const fs::path& folder, const Requirements&, const Stopped&) {
  return load(kCifar100, row, folder);
}

}  // namespace warpscope::data
