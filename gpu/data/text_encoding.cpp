#include "gpu/data/text_encoding.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/utf8.h"

namespace warpscope::data {
namespace {

constexpr std::size_t kMostCharacters = 255;
constexpr char32_t kUnknown = 0xB7;  // a middle dot

}  // namespace

Alphabet::Alphabet(std::string_view characters) : points_(files::decode_utf8(characters)) {
  if (points_.empty() || points_.size() > kMostCharacters) {
    throw core::BadInput(
        fmt::format("an alphabet has 1 to {} characters, not {}", kMostCharacters, points_.size()));
  }
  for (const char32_t point : points_) {
    if (point == files::kBroken) throw core::BadInput("the alphabet is not valid UTF-8");
    if (!bytes_.emplace(point, static_cast<std::uint8_t>(bytes_.size() + 1)).second) {
      throw core::BadInput(fmt::format("the alphabet has '{}' twice", files::encode_utf8(point)));
    }
  }
  folds_ = std::ranges::none_of(points_, [](char32_t point) { return files::small_letter(point) != point; });
}

std::uint8_t Alphabet::byte_of(char32_t point) const {
  const auto found = bytes_.find(folds_ ? files::small_letter(point) : point);
  return found == bytes_.end() ? 0 : found->second;
}

void Alphabet::encode(std::string_view text, std::span<std::uint8_t> bytes) const {
  constexpr std::size_t kLongest = 4;  // bytes of a character
  const std::vector<char32_t> points = files::decode_utf8(text.substr(0, kLongest * bytes.size()));
  const std::size_t count = std::min(points.size(), bytes.size());
  std::transform(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(count),
                 bytes.rbegin() + static_cast<std::ptrdiff_t>(bytes.size() - count),
                 [this](char32_t point) { return byte_of(point); });
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(count), bytes.end(), std::uint8_t{0});
}

std::vector<std::uint8_t> Alphabet::encode(std::string_view text, int length) const {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(length));
  encode(text, bytes);
  return bytes;
}

std::string Alphabet::decode(std::span<const std::uint8_t> bytes) const {
  const auto first = std::find_if(bytes.rbegin(), bytes.rend(), [](std::uint8_t byte) { return byte != 0; });
  std::string text;
  for (auto byte = first; byte != bytes.rend(); ++byte) {
    const bool known = *byte >= 1 && *byte <= points_.size();
    text += files::encode_utf8(known ? points_[*byte - 1U] : kUnknown);
  }
  return text;
}

}  // namespace warpscope::data
