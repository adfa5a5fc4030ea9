#include "gpu/runs/text.h"

#include <nlohmann/json.hpp>

#include "gpu/files/utf8.h"

namespace warpscope::runs {

std::string valid_utf8(std::string_view text) {
  using nlohmann::json;
  // JSON text is UTF-8, and its library knows how to make it so.
  const std::string quoted = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  return json::parse(quoted).get<std::string>();
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
  for (const char c : files::escaped(text)) {
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
  return result;
}

}  // namespace warpscope::runs
