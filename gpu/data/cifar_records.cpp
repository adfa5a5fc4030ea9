#include "gpu/data/cifar_records.h"

#include <algorithm>
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
#include "gpu/files/file_kind.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;
using files::grouped;
using files::InputFile;
using files::is_there;

constexpr int kSide = 32;
constexpr int kPlaneBytes = kSide * kSide;
constexpr int kImageBytes = 3 * kPlaneBytes;
// 3/4 MiB of records at a time: they are still in the cache when they are taken apart. No piece spans two files.
constexpr std::int64_t kPieceRecords = 250;
constexpr std::uintmax_t kMostNamesBytes = 4096;

std::int64_t record_bytes(const CifarForm& form) {
  return form.label_bytes + std::int64_t{kImageBytes};
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

/// Of the file of names, or `standard` where that is not there.
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
    planar_to_interleaved(pixels, set.pixels.data() + (first_image + i) * kImageBytes);
  }
}

}  // namespace

bool holds_cifar(const CifarForm& form, const fs::path& folder) {
  return std::any_of(form.files.begin(), form.files.end(),
                     [&](const CifarFile& file) { return is_there(folder / file.name); });
}

bool cifar_is_complete(const CifarForm& form, const fs::path& folder) noexcept {
  for (const CifarFile& file : form.files) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(folder / file.name, error);
    if (error || bytes != static_cast<std::uintmax_t>(file_bytes(form, file))) return false;
  }
  return true;
}

DataSet load_cifar(const CifarForm& form, const SetRow& row, const fs::path& folder) {
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
  set.train = make_set(train);
  set.test = make_set(records - train);
  core::parallel_for(records, kPieceRecords, 0, [&](std::int64_t begin, std::int64_t end) {
    const auto file =
        static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), begin) - firsts.begin() - 1);
    const bool trains = begin < train;
    read_records(form, files[file], begin - firsts[file], end - firsts[file], trains ? set.train : set.test,
                 trains ? begin : begin - train);
  });
  return set;
}

}  // namespace warpscope::data
