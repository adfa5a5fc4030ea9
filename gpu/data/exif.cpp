#include "gpu/data/exif.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "gpu/files/byte_numbers.h"

namespace warpscope::data {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kExif = "Exif\0\0"sv;

/// For the TIFF fields that Exif consists of.
int orientation_in(std::string_view exif) {
  constexpr std::size_t kEntryBytes = 12;
  constexpr std::uint32_t kOrientation = 0x0112, kShort = 3, kLong = 4;
  if (exif.starts_with(kExif)) exif.remove_prefix(kExif.size());
  if (!exif.starts_with("II*\0"sv) && !exif.starts_with("MM\0*"sv)) return 1;
  const auto number = [&](std::size_t at, std::size_t size) {
    return files::number_at(exif, at, size, exif[0] == 'M');
  };
  const std::size_t directory = number(4, 4);
  const std::size_t entries = number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (entry > exif.size()) return 1;
    if (number(entry, 2) != kOrientation) continue;
    const std::uint32_t type = number(entry + 2, 2);
    const std::uint32_t value = type == kShort  ? number(entry + 8, 2)
                                : type == kLong ? number(entry + 8, 4)
                                                : 1;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

/// What stands in the segment of Exif, before the pixels.
std::string_view exif_of_jpeg(std::string_view file) {
  for (std::size_t at = 2; at + 4 <= file.size();) {
    const std::uint32_t marker = files::number_at(file, at, 2, true);
    if (marker == 0xFFFF) {  // a byte that fills
      ++at;
      continue;
    }
    const std::size_t length = files::number_at(file, at + 2, 2, true);
    const bool alone = marker == 0xFF01 || (marker >= 0xFFD0 && marker <= 0xFFD7);
    if (marker < 0xFF00 || marker == 0xFFDA || marker == 0xFFD9 || (!alone && length < 2)) return {};
    if (marker == 0xFFE1 && file.substr(at + 4).starts_with(kExif)) return file.substr(at + 4, length - 2);
    at += alone ? 2 : 2 + length;
  }
  return {};
}

std::string_view exif_of_png(std::string_view file) {
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::size_t length = files::number_at(file, at, 4, true);
    if (file.substr(at + 4, 4) == "eXIf") return file.substr(at + 8, length);
    at += 12 + length;
  }
  return {};
}

std::string_view exif_of_webp(std::string_view file) {
  for (std::size_t at = 12; at + 8 <= file.size();) {
    const std::size_t length = files::number_at(file, at + 4, 4, false);
    if (file.substr(at, 4) == "EXIF") return file.substr(at + 8, length);
    at += 8 + length + length % 2;
  }
  return {};
}

}  // namespace

int exif_orientation(std::string_view file) {
  if (file.starts_with("\xFF\xD8\xFF")) return orientation_in(exif_of_jpeg(file));
  if (file.starts_with("\x89PNG")) return orientation_in(exif_of_png(file));
  const bool webp = file.starts_with("RIFF") && file.size() >= 12 && file.substr(8, 4) == "WEBP";
  if (webp) return orientation_in(exif_of_webp(file));
  return 1;
}

std::vector<std::uint8_t> turned(const std::uint8_t* pixels, int orientation, ImageShape& shape) {
  const bool lies = orientation >= 5;  // rows are columns
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const auto height = static_cast<std::size_t>(shape.height), width = static_cast<std::size_t>(shape.width),
             channels = static_cast<std::size_t>(shape.channels);
  if (lies) std::swap(shape.height, shape.width);
  std::vector<std::uint8_t> seen(height * width * channels);
  auto to = seen.begin();
  for (std::size_t y = 0; y < (lies ? width : height); ++y) {
    for (std::size_t x = 0; x < (lies ? height : width); ++x) {
      const std::size_t row = lies ? x : y, column = lies ? y : x;
      const std::size_t place =
          (from_below ? height - 1 - row : row) * width + (from_right ? width - 1 - column : column);
      to = std::copy_n(pixels + place * channels, channels, to);
    }
  }
  return seen;
}

}  // namespace warpscope::data
