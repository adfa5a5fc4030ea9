#include "gpu/data/text_file.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/notices.h"
#include "gpu/files/byte_text.h"
#include "gpu/files/file.h"
#include "gpu/files/file_kind.h"
#include "gpu/files/text.h"
#include "gpu/files/utf8.h"

namespace warpscope::data {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMark = "\xEF\xBB\xBF";

[[noreturn]] void refuse(const std::filesystem::path& path, std::size_t line, std::string_view what) {
  throw core::BadInput(line > 0 ? fmt::format("{}:{}: {}", path.string(), line, what)
                                : fmt::format("{} {}", path.string(), what));
}

/// What follows the mark. A half pair is broken, as in UTF-8.
std::string from_utf16(std::string_view bytes, bool big_endian) {
  std::string text;
  const auto unit = [&](std::size_t at) -> char32_t {
    const auto first = static_cast<unsigned char>(bytes[at]),
               second = static_cast<unsigned char>(bytes[at + 1]);
    return big_endian ? first << 8 | second : second << 8 | first;
  };
  const auto is_high = [](char32_t one) { return one >= 0xD800 && one < 0xDC00; };
  const auto is_low = [](char32_t one) { return one >= 0xDC00 && one < 0xE000; };
  for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) {
    char32_t point = unit(at);
    if (is_high(point) && at + 3 < bytes.size() && is_low(unit(at + 2))) {
      point = 0x10000 + ((point - 0xD800) << 10) + (unit(at + 2) - 0xDC00);
      at += 2;
    } else if (is_high(point) || is_low(point)) {
      point = files::kBroken;
    }
    text += files::encode_utf8(point);
  }
  if (bytes.size() % 2 != 0) text += files::encode_utf8(files::kBroken);
  return text;
}

/// "" where all lines are UTF-8.
std::string tell_broken_lines(const std::filesystem::path& path, std::string_view text) {
  std::size_t broken = 0, first = 0, line = 1;
  for (; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!files::is_utf8(text.substr(0, end)) && broken++ == 0) first = line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (broken == 0) return "";
  return fmt::format(
      "{} of {} lines of {} {} not UTF-8, the first is line {}: such characters count as unknown; save it "
      "as UTF-8",
      files::grouped(broken), files::grouped(line - 1), path.string(), broken == 1 ? "is" : "are", first);
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path, std::string& notice) {
  std::string text = files::read_text(path);
  if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv)) {
    refuse(path, 0, "is text in UTF-32; save it as UTF-8");
  }
  if (const files::FileKind* kind = files::file_kind(text)) {
    refuse(path, 0,
           fmt::format("is no text but {}; {}", kind->name,
                       kind->remedy.empty() ? "name a text" : kind->remedy));
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    text = from_utf16(std::string_view(text).substr(2), text[0] == '\xFE');
  }
  std::size_t marks = 0;
  while (std::string_view(text).substr(marks).starts_with(kMark)) marks += kMark.size();
  text.erase(0, marks);
  const bool has_lf = text.find('\n') != std::string::npos;
  if (!has_lf) std::ranges::replace(text, '\r', '\n');
  const std::size_t zero = text.find('\0');
  if (zero != std::string::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
    refuse(path, static_cast<std::size_t>(line),
           "a zero byte is in this line, so the file is no text, or one in UTF-16 without a mark; save it as "
           "UTF-8");
  }
  add_notice(tell_broken_lines(path, text), notice);
  return text;
}

}  // namespace warpscope::data
