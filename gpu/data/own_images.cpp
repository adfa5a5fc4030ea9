#include "gpu/data/own_images.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <stb_image.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostFileBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostPixels = 100'000'000;

/// The source pixels that a pixel of the result covers along one axis, with the part of each.
struct Cover {
  std::size_t first = 0;
  std::vector<double> weights;  ///< sum to 1
};

/// Of each of `to` pixels over the middle `length` of a source of `from` pixels.
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

bool is_picture(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

bool begins_like_picture(std::string_view bytes) {
  return bytes.starts_with("\x89PNG\r\n\x1A\n") || bytes.starts_with("\xFF\xD8\xFF");
}

std::vector<fs::path> list_pictures(std::span<const fs::path> paths, std::vector<std::string>& refused) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    std::error_code failure;
    if (!fs::is_directory(path, failure)) {
      files.push_back(path);
      continue;
    }
    std::vector<fs::path> inside;
    for (fs::directory_iterator entry(path, failure), end; !failure && entry != end;
         entry.increment(failure)) {
      const bool hidden = entry->path().filename().native().starts_with('.');
      if (!hidden && is_picture(entry->path())) inside.push_back(entry->path());
    }
    if (failure) {
      refused.push_back(fmt::format("cannot read the folder {}: {}", path.string(), failure.message()));
    } else if (inside.empty()) {
      refused.push_back(fmt::format("the folder {} holds no PNG or JPEG files", path.string()));
    }
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

std::vector<std::uint8_t> read_picture(const fs::path& path, const ImageShape& shape) {
  const files::InputFile file(path);
  if (file.size() > kMostFileBytes) {
    throw core::BadInput(fmt::format("{} has {} bytes; pictures may have up to {}", path.string(),
                                     files::grouped(file.size()), files::grouped(kMostFileBytes)));
  }
  const std::string bytes = file.read_up_to(0, static_cast<std::size_t>(file.size()));
  const auto* const data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const auto size = static_cast<int>(bytes.size());
  int width = 0, height = 0, channels = 0;
  if (stbi_info_from_memory(data, size, &width, &height, &channels) == 0) {
    throw core::BadInput(fmt::format("{} is no picture that can be read: PNG and JPEG can", path.string()));
  }
  if (std::int64_t{width} * height > kMostPixels) {
    throw core::BadInput(fmt::format("{} is {} x {} pixels large; pictures may have up to {}", path.string(),
                                     width, height, files::grouped(kMostPixels)));
  }
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(data, size, &width, &height, &channels, shape.channels), stbi_image_free);
  if (!pixels) throw core::BadInput(fmt::format("{} is damaged: {}", path.string(), stbi_failure_reason()));
  const ImageShape from{height, width, shape.channels};
  const auto count = static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
                     static_cast<std::size_t>(shape.channels);
  return fit_image({pixels.get(), count}, from, shape);
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
  std::size_t beyond = 0;
  for (const fs::path& path : list_pictures(paths, result.refused)) {
    if (result.names.size() >= kMostOwnImages) {
      ++beyond;
      continue;
    }
    try {
      const std::vector<std::uint8_t> pixels = read_picture(path, shape);
      result.set.pixels.insert(result.set.pixels.end(), pixels.begin(), pixels.end());
      result.names.push_back(path.filename().string());
      ++result.set.count;
    } catch (const core::Error& error) {
      result.refused.emplace_back(error.what());
    }
  }
  if (beyond > 0) {
    result.refused.push_back(
        fmt::format("{} more pictures were left out: {} are shown at once", beyond, kMostOwnImages));
  }
  return result;
}

}  // namespace warpscope::data
