#include "gpu/data/own_images.h"

#include <algorithm>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/halves.h"
#include "gpu/data/notices.h"
#include "gpu/data/picture.h"
#include "gpu/files/file.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

/// The source pixels that a pixel of the result covers along one axis, with the part of each.
struct Cover {
  std::size_t first = 0;
  std::vector<double> weights;  ///< sum to 1
};

/// What each of `to` pixels covers in the middle `length` of a source of `from` pixels.
std::vector<Cover> covers(int from, double length, int to) {
  const double start = (from - length) / 2, step = length / to;
  std::vector<Cover> result(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const double low = std::max(0.0, start + i * step);
    const double high = std::min(static_cast<double>(from), start + (i + 1) * step);
    Cover& cover = result[static_cast<std::size_t>(i)];
    const int first = std::min(static_cast<int>(low), from - 1);
    cover.first = static_cast<std::size_t>(first);
    for (int pixel = first; pixel < from && pixel < high; ++pixel) {
      const double part = std::min(high, pixel + 1.0) - std::max(low, static_cast<double>(pixel));
      cover.weights.push_back(std::max(part, 0.0) / (high - low));
    }
  }
  return result;
}

}  // namespace

PictureList list_pictures(std::span<const fs::path> paths) {
  PictureList list;
  for (const fs::path& path : paths) {
    std::error_code failure;
    if (!fs::is_directory(path, failure)) {
      list.files.push_back(path);
      continue;
    }
    std::vector<fs::path> inside;
    for (const fs::directory_entry& entry : shown_in(path, failure)) {
      std::error_code broken;
      if (entry.is_directory(broken)) {
        ++list.folders;
      } else if (is_picture(entry.path())) {
        inside.push_back(entry.path());
      } else {
        list.others.add(entry.path());
      }
    }
    if (failure) {
      list.refused.push_back(fmt::format("cannot read the folder {}: {}", path.string(), failure.message()));
    } else if (inside.empty()) {
      list.refused.push_back(
          fmt::format("the folder {} holds no pictures ({})", path.string(), kPictureKinds));
    }
    list.files.insert(list.files.end(), inside.begin(), inside.end());
  }
  return list;
}

std::string tell_left_out(const PictureList& list) {
  std::string told = list.others.tell(list.files.size() + list.others.count());
  if (list.folders > 0) {
    add_notice(fmt::format("{} not looked at", list.folders == 1
                                                   ? "a folder within was"
                                                   : fmt::format("{} folders within were", list.folders)),
               told);
  }
  return told;
}

std::vector<std::uint8_t> fit_image(std::span<const std::uint8_t> pixels, const ImageShape& from,
                                    const ImageShape& to) {
  const double scale =
      std::min(static_cast<double>(from.width) / to.width, static_cast<double>(from.height) / to.height);
  const std::vector<Cover> rows = covers(from.height, scale * to.height, to.height);
  const std::vector<Cover> columns = covers(from.width, scale * to.width, to.width);
  const auto channels = static_cast<std::size_t>(to.channels);
  const std::size_t line = static_cast<std::size_t>(from.width) * channels;
  std::vector<std::uint8_t> result;
  for (const Cover& row : rows) {
    for (const Cover& column : columns) {
      for (std::size_t channel = 0; channel < channels; ++channel) {
        double sum = 0;
        for (std::size_t y = 0; y < row.weights.size(); ++y) {
          const std::uint8_t* const source = pixels.data() + (row.first + y) * line + column.first * channels;
          for (std::size_t x = 0; x < column.weights.size(); ++x) {
            sum += row.weights[y] * column.weights[x] * source[x * channels + channel];
          }
        }
        result.push_back(static_cast<std::uint8_t>(std::clamp(std::lround(sum), 0L, 255L)));
      }
    }
  }
  return result;
}

OwnImages read_own_images(std::span<const fs::path> paths, const ImageShape& shape) {
  OwnImages result;
  result.set = {shape.height, shape.width, shape.channels, 0, {}, {}};
  std::size_t beyond = 0, turned = 0;
  PictureList list = list_pictures(paths);
  result.refused = std::move(list.refused);
  for (const fs::path& path : list.files) {
    if (result.names.size() >= kMostOwnImages) {
      ++beyond;
      continue;
    }
    try {
      const FittedPicture picture = read_picture(path, shape);
      result.set.pixels.insert(result.set.pixels.end(), picture.pixels.begin(), picture.pixels.end());
      if (picture.turned) ++turned;
      result.names.push_back(path.filename().string());
      ++result.set.count;
    } catch (const core::Error& error) {
      result.refused.emplace_back(error.what());
    }
  }
  if (beyond > 0) {
    result.left_out = fmt::format("{} more {} left out: {} are shown at once", files::grouped(beyond),
                                  beyond == 1 ? "picture was" : "pictures were", kMostOwnImages);
  }
  add_notice(tell_left_out(list), result.left_out);
  result.turned = tell_turned(turned);
  return result;
}

}  // namespace warpscope::data
