#include "gpu/data/picture.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stb_image.h>
#include <webp/decode.h>

#include "gpu/core/error.h"
#include "gpu/data/exif.h"
#include "gpu/data/own_images.h"
#include "gpu/data/png_damage.h"
#include "gpu/data/pnm.h"
#include "gpu/files/file.h"
#include "gpu/files/file_kind.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostFileBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostPixels = 100'000'000;
constexpr std::array<std::string_view, 10> kEndings{".png",  ".jpg", ".jpeg", ".jpe", ".jfif",
                                                    ".webp", ".bmp", ".dib",  ".ppm", ".pgm"};

constexpr const char* kAnimation = "is an animation; save one of its pictures as PNG or JPEG";

enum class Kind : std::uint8_t { none, png, jpeg, webp, bmp, pnm };

Kind kind_of(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1A\n")) return Kind::png;
  if (bytes.starts_with("\xFF\xD8\xFF")) return Kind::jpeg;
  if (bytes.starts_with("RIFF") && bytes.substr(4).substr(0, 8).ends_with("WEBP")) return Kind::webp;
  // What else may begin with these two letters is a text, which has no zero bytes.
  constexpr std::size_t kReserved = 6;
  if (bytes.starts_with("BM") && bytes.size() > kReserved + 4 &&
      bytes.substr(kReserved, 4) == std::string_view("\0\0\0\0", 4)) {
    return Kind::bmp;
  }
  return begins_like_pnm(bytes) ? Kind::pnm : Kind::none;
}

std::string ending_of(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return ending;
}

/// For a file, in the channels that were asked for.
struct Decoded {
  std::unique_ptr<std::uint8_t, void (*)(void*)> pixels;
  ImageShape shape;
};

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw core::BadInput(fmt::format("{} {}", path.string(), what));
}

void check_size(const fs::path& path, std::int64_t height, std::int64_t width) {
  if (height == 0 || width <= kMostPixels / height) return;
  refuse(path, fmt::format("is {} x {} pixels large; pictures may have up to {}", width, height,
                           files::grouped(kMostPixels)));
}

[[noreturn]] void refuse_other(const fs::path& path, std::string_view bytes) {
  if (bytes.empty()) refuse(path, "is empty");
  const files::FileKind* const kind = files::file_kind(bytes);
  if (kind == nullptr) {
    refuse(path, fmt::format("is no picture that can be read, which are {}", kPictureKinds));
  }
  refuse(path, fmt::format("is {}, which is not read; {}", kind->name, kind->remedy));
}

/// For `count` pixels of RGB, in their place; the same as stb's.
void to_luminance(std::uint8_t* pixels, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* const rgb = pixels + 3 * i;
    pixels[i] = static_cast<std::uint8_t>((rgb[0] * 77 + rgb[1] * 150 + rgb[2] * 29) >> 8);
  }
}

Decoded decode_webp(const fs::path& path, std::string_view bytes, int channels) {
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  WebPBitstreamFeatures found;
  if (WebPGetFeatures(data, bytes.size(), &found) != VP8_STATUS_OK) refuse(path, "is damaged: its header is");
  if (found.has_animation != 0) refuse(path, kAnimation);
  check_size(path, found.height, found.width);
  ImageShape shape{0, 0, channels};
  Decoded decoded{{WebPDecodeRGB(data, bytes.size(), &shape.width, &shape.height), WebPFree}, shape};
  if (!decoded.pixels) refuse(path, "is damaged: its packed pixels are");
  if (channels == 1) {
    to_luminance(decoded.pixels.get(),
                 static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width));
  }
  return decoded;
}

Decoded decode_pnm(const fs::path& path, std::string_view bytes, int channels) {
  const std::optional<PnmHeader> header = pnm_header(bytes);
  if (!header) refuse(path, "is damaged: its header is");
  check_size(path, header->shape.height, header->shape.width);
  const std::optional<std::vector<std::uint8_t>> stored = pnm_pixels(bytes, *header);
  if (!stored) refuse(path, "is damaged: it ends before its pixels do");
  const ImageShape shape{header->shape.height, header->shape.width, channels};
  const std::size_t count = stored->size() / static_cast<std::size_t>(header->shape.channels);
  auto* const pixels = static_cast<std::uint8_t*>(std::malloc(3 * count));
  if (pixels == nullptr) throw core::OutOfMemory(fmt::format("no memory left to read {}", path.string()));
  Decoded decoded{{pixels, std::free}, shape};
  for (std::size_t i = 0; i < 3 * count; ++i) pixels[i] = (*stored)[header->shape.channels == 3 ? i : i / 3];
  if (channels == 1) to_luminance(pixels, count);
  return decoded;
}

/// False if the file ends before its pixels, which stb takes for black.
bool is_whole_bmp(std::string_view bytes, const ImageShape& shape) {
  const auto number = [&](std::size_t at, std::size_t size) {
    std::size_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  constexpr std::size_t kOldHeader = 12, kLeastBytes = 30;
  if (bytes.size() < kLeastBytes) return false;
  const std::size_t bits = number(number(14, 4) == kOldHeader ? 24 : 28, 2);
  const std::size_t row = (static_cast<std::size_t>(shape.width) * bits + 31) / 32 * 4;
  return bytes.size() >= number(10, 4) + static_cast<std::size_t>(shape.height) * row;
}

/// Why stb gave up. Of a PNG chunk that it does not know it tells the name byte by byte, and no more behind a zero.
std::string reason_of_stb() {
  const std::string_view reason = stbi_failure_reason();
  const bool readable =
      std::all_of(reason.begin(), reason.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return readable && !reason.empty() ? std::string(reason) : "a PNG chunk of a name that is none";
}

/// The number of 32 bits at `at` of a PNG's header.
std::int64_t png_side(std::string_view bytes, std::size_t at) {
  std::int64_t side = 0;
  for (const char byte : bytes.substr(at, 4)) side = side << 8 | static_cast<unsigned char>(byte);
  return side;
}

/// By the chunk that stands before the pixels of one that is: its length, its name, the number of pictures.
bool is_animated_png(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr std::string_view kChunk =
      "\0\0\0\x08"
      "acTL"sv;
  const std::size_t at = bytes.substr(0, bytes.find("IDAT")).find(kChunk);
  return at != std::string_view::npos && bytes.substr(at + kChunk.size(), 4) != "\0\0\0\1"sv;
}

Decoded decode_others(const fs::path& path, std::string_view bytes, Kind kind, int channels) {
  const auto* const data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const auto size = static_cast<int>(bytes.size());
  const auto damaged = [&] {
    refuse(path, fmt::format("is damaged or of a rare form: {}", reason_of_stb()));
  };
  ImageShape shape{0, 0, channels};
  int stored = 0;
  if (kind == Kind::png) {  // which stb does not look at
    const std::string damage = png_damage(bytes);
    if (!damage.empty()) refuse(path, "is damaged: " + damage);
    if (is_animated_png(bytes)) refuse(path, kAnimation);
    // stb gives no reason. Apple's form has another chunk before that of the size.
    if (bytes.substr(12, 4) == "IHDR") check_size(path, png_side(bytes, 20), png_side(bytes, 16));
  }
  if (stbi_info_from_memory(data, size, &shape.width, &shape.height, &stored) == 0) damaged();
  // Negative of a bitmap that begins with its top row.
  shape.height = std::abs(std::max(shape.height, -std::numeric_limits<int>::max()));
  check_size(path, shape.height, shape.width);
  if (kind == Kind::bmp && !is_whole_bmp(bytes, shape))
    refuse(path, "is damaged: it ends before its pixels do");
  Decoded decoded{
      {stbi_load_from_memory(data, size, &shape.width, &shape.height, &stored, channels), stbi_image_free},
      shape};
  if (!decoded.pixels) damaged();
  return decoded;
}

}  // namespace

bool begins_like_picture(std::string_view bytes) {
  return kind_of(bytes) != Kind::none;
}

bool is_picture(const fs::path& path) {
  if (std::find(kEndings.begin(), kEndings.end(), ending_of(path)) != kEndings.end()) return true;
  const std::optional<files::InputFile> file = files::InputFile::open(path);
  return file && begins_like_picture(file->read_up_to(0, files::kKindBytes));
}

void OtherFiles::add(const fs::path& path) {
  ++endings_[ending_of(path)];
}

void OtherFiles::add(const OtherFiles& others) {
  for (const auto& [ending, files] : others.endings_) endings_[ending] += files;
}

std::size_t OtherFiles::count() const {
  std::size_t all = 0;
  for (const auto& [ending, files] : endings_) all += files;
  return all;
}

std::string OtherFiles::tell(std::size_t files) const {
  constexpr std::size_t kMostEndings = 8;
  if (endings_.empty()) return "";
  std::vector<std::pair<std::string, std::size_t>> most(endings_.begin(), endings_.end());
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  const std::size_t shown = std::min(most.size(), kMostEndings);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [ending, number] = most[i];
    parts.push_back(fmt::format("{} ({})", ending.empty() ? "names without an ending" : ending,
                                files::grouped(static_cast<std::int64_t>(number))));
  }
  if (shown < most.size()) parts.push_back(fmt::format("{} more endings", most.size() - shown));
  const std::size_t left_out = count();
  return fmt::format("{} of {} files {} left out: {} {} not read",
                     files::grouped(static_cast<std::int64_t>(left_out)),
                     files::grouped(static_cast<std::int64_t>(files)), left_out == 1 ? "was" : "were",
                     fmt::join(parts, ", "), left_out == 1 ? "is" : "are");
}

std::string tell_turned(std::size_t pictures) {
  if (pictures == 0) return "";
  return fmt::format("{} {} turned as {} EXIF orientation says",
                     files::grouped(static_cast<std::int64_t>(pictures)),
                     pictures == 1 ? "picture was" : "pictures were", pictures == 1 ? "its" : "their");
}

FittedPicture read_picture(const fs::path& path, const ImageShape& shape) {
  const files::InputFile file(path);
  if (file.size() > kMostFileBytes) {
    refuse(path, fmt::format("has {} bytes; pictures may have up to {}", files::grouped(file.size()),
                             files::grouped(kMostFileBytes)));
  }
  const std::string bytes = file.read_up_to(0, static_cast<std::size_t>(file.size()));
  const Kind kind = kind_of(bytes);
  if (kind == Kind::none) refuse_other(path, bytes);
  Decoded decoded = kind == Kind::webp  ? decode_webp(path, bytes, shape.channels)
                    : kind == Kind::pnm ? decode_pnm(path, bytes, shape.channels)
                                        : decode_others(path, bytes, kind, shape.channels);
  const int orientation = exif_orientation(bytes);
  const auto count = static_cast<std::size_t>(decoded.shape.height) *
                     static_cast<std::size_t>(decoded.shape.width) * static_cast<std::size_t>(shape.channels);
  if (orientation == 1) return {fit_image({decoded.pixels.get(), count}, decoded.shape, shape), false};
  const std::vector<std::uint8_t> seen = turned(decoded.pixels.get(), orientation, decoded.shape);
  return {fit_image(seen, decoded.shape, shape), true};
}

}  // namespace warpscope::data
