#include "gpu/data/cifar10.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/files/file.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;
using files::grouped;
using files::InputFile;
using files::is_there;

constexpr int kSide = 32;
constexpr int kPlaneBytes = kSide * kSide;
constexpr int kImageBytes = 3 * kPlaneBytes;
constexpr int kRecordBytes = 1 + kImageBytes;
constexpr std::int64_t kFileRecords = 10'000;
constexpr std::int64_t kFileBytes = kFileRecords * kRecordBytes;
// 3/4 MiB of records at a time: they are still in the cache when they are taken apart.
constexpr std::int64_t kPieceRecords = 250;

constexpr std::array kFiles{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                            "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
constexpr std::int64_t kTrainFiles = 5;
constexpr std::uintmax_t kMostMetaBytes = 4096;

constexpr std::uint8_t kClasses = 10;

/// A file of ten thousand records, open for reading.
InputFile open_batch(const fs::path& path) {
  InputFile file(path);
  if (file.size() == kFileBytes) return file;
  throw core::BadInput(fmt::format(
      "{} is {}: it has {} bytes instead of {}; delete it and fetch CIFAR-10 again", path.string(),
      file.size() < kFileBytes ? "truncated" : "too long", grouped(file.size()), grouped(kFileBytes)));
}

std::vector<InputFile> open_files(const fs::path& folder) {
  std::string missing;
  for (const char* file : kFiles) {
    if (!is_there(folder / file)) missing += (missing.empty() ? "" : ", ") + std::string(file);
  }
  if (!missing.empty()) {
    throw core::BadInput(
        fmt::format("CIFAR-10 in {} is not complete: {} missing; fetch it again", folder.string(), missing));
  }
  std::vector<InputFile> files;
  files.reserve(kFiles.size());
  for (const char* file : kFiles) files.push_back(open_batch(folder / file));
  return files;
}

/// Of batches.meta.txt, or `standard` where that is not there.
std::vector<std::string> read_classes(const fs::path& folder, const std::vector<std::string>& standard) {
  const fs::path path = folder / "batches.meta.txt";
  if (!is_there(path)) return standard;
  std::vector<std::string> classes;
  std::error_code error;
  const bool plausible = fs::is_regular_file(path, error) && fs::file_size(path, error) <= kMostMetaBytes;
  std::ifstream file;
  if (plausible) {
    file.open(path);
    if (!file) throw core::BadInput(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)));
  }
  for (std::string line; plausible && std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) classes.push_back(line);
  }
  if (classes.size() == kClasses) return classes;
  throw core::BadInput(fmt::format("{} should hold {} class names, one a line; correct or delete it",
                                   path.string(), kClasses));
}

ImageSet make_set(std::int64_t count) {
  ImageSet set;
  set.height = kSide;
  set.width = kSide;
  set.channels = 3;
  set.count = count;
  set.pixels.resize(static_cast<std::size_t>(count * kImageBytes));
  set.labels.resize(static_cast<std::size_t>(count));
  return set;
}

void planar_to_interleaved(const std::uint8_t* planes, std::uint8_t* pixels) {
  for (int i = 0; i < kPlaneBytes; ++i) {
    pixels[3 * i] = planes[i];
    pixels[3 * i + 1] = planes[kPlaneBytes + i];
    pixels[3 * i + 2] = planes[2 * kPlaneBytes + i];
  }
}

/// Reads records [begin, end) of `file` to the images from `first_image` on.
void read_records(const InputFile& file, std::int64_t begin, std::int64_t end, ImageSet& set,
                  std::int64_t first_image) {
  std::vector<std::uint8_t> records(static_cast<std::size_t>((end - begin) * kRecordBytes));
  file.read(begin * kRecordBytes, records);
  for (std::int64_t i = 0; i < end - begin; ++i) {
    const std::uint8_t* record = records.data() + i * kRecordBytes;
    if (record[0] >= kClasses) {
      throw core::BadInput(
          fmt::format("{} has the label {} in record {} (counted from 0), where CIFAR-10 has 0 to 9; "
                      "delete it and fetch CIFAR-10 again",
                      file.path().string(), record[0], begin + i));
    }
    set.labels[static_cast<std::size_t>(first_image + i)] = record[0];
    planar_to_interleaved(record + 1, set.pixels.data() + (first_image + i) * kImageBytes);
  }
}

}  // namespace

bool holds_cifar10(const fs::path& folder) {
  return std::any_of(kFiles.begin(), kFiles.end(), [&](const char* file) { return is_there(folder / file); });
}

bool cifar10_is_complete(const fs::path& folder) noexcept {
  for (const char* file : kFiles) {
    std::error_code error;
    if (fs::file_size(folder / file, error) != kFileBytes || error) return false;
  }
  return true;
}

DataSet load_cifar10(const SetRow& row, const fs::path& folder) {
  const std::vector<InputFile> files = open_files(folder);
  DataSet set;
  set.classes = read_classes(folder, row.classes);
  set.train = make_set(kTrainFiles * kFileRecords);
  set.test = make_set(kFileRecords);
  static_assert(kFileRecords % kPieceRecords == 0, "no piece spans two files");
  core::parallel_for(std::int64_t{kFiles.size()} * kFileRecords, kPieceRecords, 0,
                     [&](std::int64_t begin, std::int64_t end) {
                       const std::int64_t file = begin / kFileRecords;
                       const std::int64_t first = file * kFileRecords;
                       const bool train = file < kTrainFiles;
                       read_records(files[static_cast<std::size_t>(file)], begin - first, end - first,
                                    train ? set.train : set.test, train ? begin : begin - first);
                     });
  return set;
}

}  // namespace warpscope::data
