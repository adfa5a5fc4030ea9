#include "gpu/runs/text.h"

#include <nlohmann/json.hpp>

namespace warpscope::runs {
namespace {

using nlohmann::json;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::string valid_utf8(std::string_view text) {
  // JSON text is UTF-8, and its library knows how to make it so.
  const std::string quoted = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  return json::parse(quoted).get<std::string>();
}

std::string printable(std::string_view text) {
  std::string result = valid_utf8(text);
  for (char& c : result) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7F) c = ' ';
  }
  return result;
}

std::string shortened(const std::string& text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0u) == 0x80u) continue;
    if (characters++ == most) return text.substr(0, i) + "\xE2\x80\xA6";
  }
  return text;
}

std::string xml_text(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&apos;";
        break;
      default:
        result += c;
    }
  }
  // XML has no place for these two, which UTF-8 can hold.
  for (const std::string_view bad : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = result.find(bad); at != std::string::npos; at = result.find(bad, at)) {
      result.replace(at, bad.size(), kReplacement);
    }
  }
  return result;
}

}  // namespace warpscope::runs
