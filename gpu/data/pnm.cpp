#include "gpu/data/pnm.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

namespace warpscope::data {
namespace {

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

}  // namespace

bool begins_like_pnm(std::string_view bytes) {
  constexpr std::string_view kForms = "2356";
  return bytes.size() > 3 && bytes[0] == 'P' && kForms.find(bytes[1]) != std::string_view::npos &&
         is_blank(bytes[2]) && (is_digit(bytes[3]) || bytes[3] == '#' || is_blank(bytes[3]));
}

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

}  // namespace warpscope::data
