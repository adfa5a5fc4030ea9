#include "gpu/files/byte_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "gpu/files/utf8.h"

namespace warpscope::files {
namespace {

bool stays(char c) {
  constexpr std::string_view kOthers = "-._~/:";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != std::string_view::npos;
}

}  // namespace

bool is_utf8(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii)) return true;
  const std::vector<char32_t> points = decode_utf8(text);
  return std::ranges::find(points, kBroken) == points.end();
}

std::string percent_encoded(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text += stays(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      bytes += text[at];
      continue;
    }
    const std::string_view digits = text.substr(at + 1, 2);
    unsigned byte = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || read.ptr != digits.data() + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
    at += 2;
  }
  return bytes;
}

}  // namespace warpscope::files
