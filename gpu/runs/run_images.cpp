#include "gpu/runs/run_images.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/read_json.h"
#include "gpu/runs/image_grid.h"
#include "gpu/settings/numbers.h"

namespace warpscope::training {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kFolder = "images";
constexpr const char* kIndexFile = "index.json";
constexpr const char* kOriginalsFile = "originals.png";
constexpr const char* kIndexName = "the index of the images";
constexpr int kMostColumns = 8;
constexpr std::uint64_t kMostImages = 4096, kMostSide = 4096, kMostChannels = 4;
constexpr std::size_t kMostElements = std::size_t{1} << 27;
constexpr std::uintmax_t kMostFileBytes = std::uintmax_t{1} << 30;

std::uint8_t byte_of(float value) {
  // Not-a-number becomes black: PNG has no other way.
  return value > 0 ? static_cast<std::uint8_t>(std::lround(std::min(value, 1.0f) * 255.0f)) : 0;
}

std::string encode(const std::vector<float>& images, const ImageShape& shape, int columns) {
  std::vector<std::uint8_t> bytes(images.size());
  std::transform(images.begin(), images.end(), bytes.begin(), byte_of);
  return encode_grid(bytes, shape, columns);
}

std::vector<float> read_grid(const fs::path& path, const ImageShape& shape, int columns) {
  const std::vector<std::uint8_t> bytes =
      decode_grid(read_image_file(path, kMostFileBytes), shape, columns, path.string());
  std::vector<float> images(bytes.size());
  std::transform(bytes.begin(), bytes.end(), images.begin(),
                 [](std::uint8_t value) { return static_cast<float>(value) / 255.0f; });
  return images;
}

json numbers(const std::vector<float>& values) {
  json list = json::array();
  for (const float value : values) list.push_back(std::isfinite(value) ? json(shortest(value)) : json());
  return list;
}

bool same(const ImageShape& a, const ImageShape& b) {
  return a.count == b.count && a.height == b.height && a.width == b.width && a.channels == b.channels;
}

ImageIndex::Picture read_picture(const json& object, const ImageShape& shape) {
  ImageIndex::Picture picture;
  picture.step = count_field(object, "step", kIndexName, std::numeric_limits<std::uint64_t>::max());
  const auto errors = object.find("errors");
  if (errors == object.end() || !errors->is_array() ||
      errors->size() != static_cast<std::size_t>(shape.count)) {
    throw core::BadInput(fmt::format("'errors' of {} is no list of one number an image", kIndexName));
  }
  for (const json& error : *errors) {
    if (!error.is_number() && !error.is_null()) {
      throw core::BadInput(fmt::format("'errors' of {} has what is no number", kIndexName));
    }
    picture.errors.push_back(error.is_null() ? std::nanf("") : error.get<float>());
  }
  return picture;
}

}  // namespace

void to_json(json& json, const ImageIndex& index) {
  const ImageShape& shape = index.shape;
  json = {{"count", shape.count},
          {"height", shape.height},
          {"width", shape.width},
          {"channels", shape.channels},
          {"columns", index.columns},
          {"generation", index.generation},
          {"pictures", nlohmann::json::array()}};
  for (const ImageIndex::Picture& picture : index.pictures) {
    json["pictures"].push_back(
        {{"step", picture.step}, {"file", picture_name(picture.step)}, {"errors", numbers(picture.errors)}});
  }
}

void from_json(const json& json, ImageIndex& index) {
  const auto size = [&](const char* name, std::uint64_t most) {
    const auto value = static_cast<int>(count_field(json, name, kIndexName, most));
    if (value > 0) return value;
    throw core::BadInput(fmt::format("'{}' of {} is 0", name, kIndexName));
  };
  ImageIndex read;
  read.shape = {size("count", kMostImages), size("height", kMostSide), size("width", kMostSide),
                size("channels", kMostChannels)};
  read.columns = size("columns", static_cast<std::uint64_t>(read.shape.count));
  if (read.shape.elements() > kMostElements) {
    throw core::BadInput(fmt::format("{} tells of more pixels than can be shown", kIndexName));
  }
  read.generation = count_field(json, "generation", kIndexName, std::numeric_limits<std::uint64_t>::max());
  const auto pictures = json.find("pictures");
  if (pictures == json.end() || !pictures->is_array()) {
    throw core::BadInput(fmt::format("{} has no list of pictures", kIndexName));
  }
  for (const auto& picture : *pictures) {
    require_object(picture, "a picture of the index of the images");
    read.pictures.push_back(read_picture(picture, read.shape));
  }
  index = std::move(read);
}

std::string picture_name(std::uint64_t step) {
  return fmt::format("step-{:09}.png", step);
}

std::size_t least_missed(const std::vector<std::uint64_t>& steps) {
  std::size_t best = 1;
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i + 1 < steps.size(); ++i) {
    // Steps count from 0, which has no ratio.
    const double gap = (static_cast<double>(steps[i + 1]) + 1) / (static_cast<double>(steps[i - 1]) + 1);
    if (gap >= smallest) continue;
    smallest = gap;
    best = i;
  }
  return best;
}

RunImages::RunImages(const fs::path& folder) : folder_(folder / kFolder) {}

/// Goes on with what an earlier process has left.
void RunImages::open() {
  open_image_folder(folder_);
  try {
    index_ = read_image_index(folder_.parent_path());
  } catch (const core::BadInput&) {
    index_ = {};  // none yet, or damaged: the pictures begin anew
  }
  opened_ = true;
}

void RunImages::write(const ShownImages& images) {
  if (!opened_) open();
  if (index_.columns == 0 || !same(index_.shape, images.shape) || index_.generation != images.generation) {
    start_anew(images);
  }
  std::erase_if(index_.pictures,
                [&](const ImageIndex::Picture& picture) { return picture.step >= images.step; });
  files::write_file_atomically(folder_ / picture_name(images.step),
                               encode(images.reconstruction, index_.shape, index_.columns));
  index_.pictures.push_back({images.step, images.errors});
  if (index_.pictures.size() > kMostPictures) {
    std::vector<std::uint64_t> steps;
    for (const ImageIndex::Picture& picture : index_.pictures) steps.push_back(picture.step);
    index_.pictures.erase(index_.pictures.begin() + static_cast<std::ptrdiff_t>(least_missed(steps)));
  }
  // First the index, then the files it no longer names: a reader may miss one for a moment, but never read
  // another.
  write_index();
  remove_unlisted();
}

void RunImages::start_anew(const ShownImages& images) {
  index_ = {};
  index_.shape = images.shape;
  index_.columns = std::min(kMostColumns, images.shape.count);
  index_.generation = images.generation;
  files::write_file_atomically(folder_ / kOriginalsFile,
                               encode(images.original, index_.shape, index_.columns));
}

void RunImages::write_index() const {
  files::write_file_atomically(folder_ / kIndexFile, json(index_).dump() + "\n");
}

void RunImages::remove_unlisted() const {
  std::set<std::string> listed;
  for (const ImageIndex::Picture& picture : index_.pictures) listed.insert(picture_name(picture.step));
  std::error_code error;
  std::vector<fs::path> gone;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool picture = name.starts_with("step-") && name.ends_with(".png");
    if (picture && !listed.contains(name)) gone.push_back(entry->path());
  }
  for (const fs::path& path : gone) fs::remove(path, error);
}

ImageIndex read_image_index(const fs::path& folder) {
  const fs::path path = folder / kFolder / kIndexFile;
  const json object = files::read_json(read_image_file(path, kMostFileBytes));
  if (object.is_discarded())
    throw core::BadInput(fmt::format("{} is damaged: it is not JSON", path.string()));
  return object.get<ImageIndex>();
}

ShownImages read_shown_images(const fs::path& folder, const ImageIndex& index, std::size_t picture) {
  const ImageIndex::Picture& chosen = index.pictures.at(picture);
  ShownImages images;
  images.shape = index.shape;
  images.step = chosen.step;
  images.generation = index.generation;
  images.errors = chosen.errors;
  images.original = read_grid(folder / kFolder / kOriginalsFile, index.shape, index.columns);
  images.reconstruction = read_grid(folder / kFolder / picture_name(chosen.step), index.shape, index.columns);
  return images;
}

}  // namespace warpscope::training
