#include "gpu/files/read_json.h"

namespace warpscope::files {
namespace {

constexpr int kMostJsonDepth = 64;

}  // namespace

bool is_deep_json(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (!in_text && (c == '[' || c == '{')) {
      if (++depth > kMostJsonDepth) return true;
    } else if (!in_text && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

nlohmann::json read_json(std::string_view text) {
  using nlohmann::json;
  return is_deep_json(text) ? json(json::value_t::discarded) : json::parse(text, nullptr, false);
}

}  // namespace warpscope::files
