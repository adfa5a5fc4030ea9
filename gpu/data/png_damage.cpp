#include "gpu/data/png_damage.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>
#include <zlib.h>

namespace warpscope::data {
namespace {

constexpr std::size_t kAround = 12;  // length, type and CRC

std::uint32_t number_at(std::string_view file, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(file[at + i]);
  return value;
}

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
  const std::uint64_t pixels = std::uint64_t{number_at(header, 0)} * number_at(header, 4);
  return std::min(kMost, pixels * kMostPixelBytes + (std::uint64_t{1} << 20));
}

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

}  // namespace

std::string png_damage(std::string_view file) {
  constexpr std::size_t kSignature = 8;
  const std::string_view first = file.size() >= kSignature + kAround ? file.substr(kSignature + 4, 4) : "";
  if (first.empty()) return "it ends too early";
  const bool zlib = first != "CgBI";  // Apple's form has no frame around the packed pixels
  Unpacking pixels(most_unpacked(file.substr(kSignature + 8)));
  for (std::size_t at = kSignature; at + kAround <= file.size();) {
    const std::size_t length = number_at(file, at);
    const std::string_view type = file.substr(at + 4, 4);
    if (!std::all_of(type.begin(), type.end(), is_letter))
      return fmt::format("no chunk begins at byte {}", at);
    if (length > file.size() - at - kAround) return fmt::format("it ends within its chunk {}", type);
    const std::string_view checked = file.substr(at + 4, 4 + length);
    if (crc32(0, bytes_of(checked), static_cast<uInt>(checked.size())) != number_at(file, at + 8 + length)) {
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

}  // namespace warpscope::data
