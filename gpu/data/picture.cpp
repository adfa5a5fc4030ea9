#include "gpu/data/picture.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stb_image.h>
#include <webp/decode.h>
#include <zlib.h>

#include "gpu/core/error.h"
#include "gpu/data/dataset.h"
#include "gpu/data/exif.h"
#include "gpu/data/own_images.h"
#include "gpu/files/byte_numbers.h"
#include "gpu/files/file.h"
#include "gpu/files/file_kind.h"
#include "gpu/files/text.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

// ---- PPM and PGM files, with pixels as bytes or as text.
// Source: J. Poskanzer, B. Henderson, "Netpbm", the pages ppm(5) and pgm(5).

bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The number behind blanks and remarks, which go to the end of their line; moves `at` behind it.
std::optional<std::uint32_t> next_number(std::string_view file, std::size_t& at) {
  for (; at < file.size() && (is_blank(file[at]) || file[at] == '#'); ++at) {
    if (file[at] == '#') at = std::min(file.find('\n', at), file.size() - 1);
  }
  if (at >= file.size() || !is_digit(file[at])) return std::nullopt;
  constexpr std::uint32_t kMost = std::numeric_limits<std::int32_t>::max();
  std::uint32_t number = 0;
  for (; at < file.size() && is_digit(file[at]); ++at) {
    const auto digit = static_cast<std::uint32_t>(file[at] - '0');
    if (number > (kMost - digit) / 10) return std::nullopt;
    number = 10 * number + digit;
  }
  return number;
}

struct PnmHeader {
  ImageShape shape;           ///< one channel or three
  std::uint32_t largest = 0;  ///< the number of the brightest, to 65,535
  std::size_t behind = 0;     ///< where the pixels begin
  bool as_text = false;
};

/// True if `bytes` begin as such a file does.
bool begins_like_pnm(std::string_view bytes) {
  constexpr std::string_view kPnmForms = "2356";
  return bytes.size() > 3 && bytes[0] == 'P' && kPnmForms.find(bytes[1]) != std::string_view::npos &&
         is_blank(bytes[2]) && (is_digit(bytes[3]) || bytes[3] == '#' || is_blank(bytes[3]));
}

/// Nothing where a file that begins so has no valid header.
std::optional<PnmHeader> pnm_header(std::string_view file) {
  constexpr std::uint32_t kMostLargest = 65'535;
  std::array<std::uint32_t, 3> numbers{};
  std::size_t at = 2;
  for (std::uint32_t& number : numbers) {
    const std::optional<std::uint32_t> found = next_number(file, at);
    if (!found || *found == 0) return std::nullopt;
    number = *found;
  }
  if (numbers[2] > kMostLargest || at >= file.size() || !is_blank(file[at])) return std::nullopt;
  const bool colours = file[1] == '3' || file[1] == '6';
  return PnmHeader{{static_cast<int>(numbers[1]), static_cast<int>(numbers[0]), colours ? 3 : 1},
                   numbers[2],
                   at + 1,
                   file[1] < '5'};
}

/// The pixels, 255 for the largest number; nothing if the file ends before, or has something else in their place.
std::optional<std::vector<std::uint8_t>> pnm_pixels(std::string_view file, const PnmHeader& header) {
  const auto count = static_cast<std::size_t>(header.shape.height) *
                     static_cast<std::size_t>(header.shape.width) *
                     static_cast<std::size_t>(header.shape.channels);
  const std::size_t bytes = header.largest > 255 ? 2 : 1;
  if ((file.size() - header.behind) / (header.as_text ? 1 : bytes) < count) return std::nullopt;
  std::vector<std::uint8_t> pixels(count);
  std::size_t at = header.behind;
  for (std::uint8_t& pixel : pixels) {
    std::uint32_t number = 0;
    if (header.as_text) {
      const std::optional<std::uint32_t> found = next_number(file, at);
      if (!found) return std::nullopt;
      number = *found;
    } else {
      for (std::size_t i = 0; i < bytes; ++i) number = number << 8 | static_cast<unsigned char>(file[at++]);
    }
    pixel = static_cast<std::uint8_t>((std::min(number, header.largest) * 255 + header.largest / 2) /
                                      header.largest);
  }
  return pixels;
}

// ---- The checksums that a PNG file carries.
// Source: "Portable Network Graphics (PNG) Specification (Second Edition)", sections 5.3 to 5.5 and 10; RFC 1950.

constexpr std::size_t kAround = 12;  // length, type and CRC

const Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

/// Unpacks what it is given, to see whether it is what was packed.
class Unpacking {
 public:
  /// No more than `most` bytes come out: the rest is not looked at.
  explicit Unpacking(std::uint64_t most) : most_(most), goes_on_(inflateInit(&stream_) == Z_OK) {}
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
  ~Unpacking() { inflateEnd(&stream_); }

  /// False if it is damaged.
  bool take(std::string_view packed) {
    stream_.next_in = const_cast<Bytef*>(bytes_of(packed));  // zlib's own interface is not const
    stream_.avail_in = static_cast<uInt>(packed.size());
    while (goes_on_ && stream_.avail_in > 0) {
      stream_.next_out = scratch_.data();
      stream_.avail_out = static_cast<uInt>(scratch_.size());
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_DATA_ERROR) return false;
      goes_on_ = status == Z_OK && stream_.total_out <= most_;
    }
    return true;
  }

 private:
  std::uint64_t most_;
  z_stream stream_{};
  bool goes_on_;
  std::array<Bytef, 65'536> scratch_;
};

/// More than any kind of pixel takes, with the filters of its rows.
std::uint64_t most_unpacked(std::string_view header) {
  constexpr std::uint64_t kMostPixelBytes = 9, kMost = std::uint64_t{1} << 32;
  if (header.size() < 8) return 0;
  const std::uint64_t pixels =
      std::uint64_t{files::number_at(header, 0, 4, true)} * files::number_at(header, 4, 4, true);
  return std::min(kMost, pixels * kMostPixelBytes + (std::uint64_t{1} << 20));
}

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// What is damaged in a PNG file, as a sentence goes on behind "is damaged: "; "" if all is well: chunks of the lengths
/// that they tell, with the right CRC each, up to IEND, and packed pixels with the right Adler-32. Takes any bytes that
/// begin as PNG does.
std::string png_damage(std::string_view file) {
  constexpr std::size_t kSignature = 8;
  const std::string_view first = file.size() >= kSignature + kAround ? file.substr(kSignature + 4, 4) : "";
  if (first.empty()) return "it ends too early";
  const bool zlib = first != "CgBI";  // Apple's form has no frame around the packed pixels
  Unpacking pixels(most_unpacked(file.substr(kSignature + 8)));
  for (std::size_t at = kSignature; at + kAround <= file.size();) {
    const std::size_t length = files::number_at(file, at, 4, true);
    const std::string_view type = file.substr(at + 4, 4);
    if (!std::ranges::all_of(type, is_letter)) return fmt::format("no chunk begins at byte {}", at);
    if (length > file.size() - at - kAround) return fmt::format("it ends within its chunk {}", type);
    const std::string_view checked = file.substr(at + 4, 4 + length);
    if (crc32(0, bytes_of(checked), static_cast<uInt>(checked.size())) !=
        files::number_at(file, at + 8 + length, 4, true)) {
      return fmt::format("the checksum of its chunk {} is wrong", type);
    }
    if (type == "IEND") return "";
    if (type == "IDAT" && zlib && !pixels.take(checked.substr(4))) {
      return "its packed pixels, or their checksum, are wrong";
    }
    at += kAround + length;
  }
  return "it ends too early";
}

// ---- all kinds ----

constexpr std::int64_t kMostFileBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostPixels = 100'000'000;
constexpr std::array<std::string_view, 10> kPictureEndings{".png",  ".jpg", ".jpeg", ".jpe", ".jfif",
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
  return files::lower_case(path.extension().string());
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

Decoded decode_webp(const fs::path& path, std::string_view bytes, int channels) {
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  WebPBitstreamFeatures found;
  if (WebPGetFeatures(data, bytes.size(), &found) != VP8_STATUS_OK)
    refuse(path, "is damaged: its header cannot be read");
  if (found.has_animation != 0) refuse(path, kAnimation);
  check_size(path, found.height, found.width);
  ImageShape shape{0, 0, channels};
  Decoded decoded{{WebPDecodeRGB(data, bytes.size(), &shape.width, &shape.height), WebPFree}, shape};
  if (!decoded.pixels) refuse(path, "is damaged: its pixels cannot be unpacked");
  if (channels == 1) {
    to_luminance(decoded.pixels.get(),
                 static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width));
  }
  return decoded;
}

Decoded decode_pnm(const fs::path& path, std::string_view bytes, int channels) {
  const std::optional<PnmHeader> header = pnm_header(bytes);
  if (!header) refuse(path, "is damaged: its header cannot be read");
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
    return std::size_t{files::number_at(bytes, at, size, false)};
  };
  constexpr std::size_t kOldHeader = 12, kLeastBytes = 30;
  if (bytes.size() < kLeastBytes) return false;
  const std::size_t bits = number(number(14, 4) == kOldHeader ? 24 : 28, 2);
  const std::size_t row = (static_cast<std::size_t>(shape.width) * bits + 31) / 32 * 4;
  return bytes.size() >= number(10, 4) + static_cast<std::size_t>(shape.height) * row;
}

/// Why stb gave up. It tells the name of an unknown PNG chunk byte by byte, and no more behind a zero.
std::string reason_of_stb() {
  const std::string_view reason = stbi_failure_reason();
  const bool readable = std::ranges::all_of(reason, [](char c) { return c >= ' ' && c <= '~'; });
  return readable && !reason.empty() ? std::string(reason) : "a PNG chunk of a name that is none";
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

constexpr std::string_view kJpegEnd = "\xFF\xD9";

Decoded decode_others(const fs::path& path, std::string_view bytes, Kind kind, int channels) {
  const auto* const data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const auto size = static_cast<int>(bytes.size());
  const auto damaged = [&] {
    // stb names what it expected, not that the file ends.
    const bool cut = kind == Kind::jpeg && bytes.rfind(kJpegEnd) == std::string_view::npos;
    if (cut) refuse(path, "is damaged: it ends before its pixels do");
    refuse(path, fmt::format("is damaged or of a rare form: {}", reason_of_stb()));
  };
  ImageShape shape{0, 0, channels};
  int stored = 0;
  if (kind == Kind::png) {  // which stb does not look at
    const std::string damage = png_damage(bytes);
    if (!damage.empty()) refuse(path, "is damaged: " + damage);
    if (is_animated_png(bytes)) refuse(path, kAnimation);
    // stb gives no reason. Apple's form has another chunk before that of the size.
    if (bytes.substr(12, 4) == "IHDR")
      check_size(path, files::number_at(bytes, 20, 4, true), files::number_at(bytes, 16, 4, true));
  }
  if (stbi_info_from_memory(data, size, &shape.width, &shape.height, &stored) == 0) damaged();
  // Negative of a bitmap that begins with its top row.
  shape.height = std::abs(std::max(shape.height, -std::numeric_limits<int>::max()));
  if (shape.height == 0 || shape.width <= 0) refuse(path, "is damaged: it has no pixels");
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

void to_luminance(std::uint8_t* pixels, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* const rgb = pixels + 3 * i;
    pixels[i] = static_cast<std::uint8_t>((rgb[0] * 77 + rgb[1] * 150 + rgb[2] * 29) >> 8);
  }
}

bool begins_like_picture(std::string_view bytes) {
  return kind_of(bytes) != Kind::none;
}

bool is_picture(const fs::path& path) {
  if (std::ranges::find(kPictureEndings, ending_of(path)) != kPictureEndings.end()) return true;
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
  std::ranges::stable_sort(most, [](const auto& a, const auto& b) { return a.second > b.second; });
  const std::size_t shown = std::min(most.size(), kMostEndings);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [ending, number] = most[i];
    parts.push_back(
        fmt::format("{} ({})", ending.empty() ? "names without an ending" : ending, files::grouped(number)));
  }
  if (shown < most.size()) parts.push_back(fmt::format("{} more endings", most.size() - shown));
  const std::size_t left_out = count();
  return fmt::format("{} of {} files {} left out: {} {} not read", files::grouped(left_out),
                     files::grouped(files), left_out == 1 ? "was" : "were", fmt::join(parts, ", "),
                     left_out == 1 ? "is" : "are");
}

std::string tell_turned(std::size_t pictures) {
  if (pictures == 0) return "";
  return fmt::format("{} {} turned as {} EXIF orientation says", files::grouped(pictures),
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
