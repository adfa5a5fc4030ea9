#include "gpu/files/text.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/utf8.h"

namespace warpscope::files {
namespace {

/// Its first and last bytes, as whole characters, with dots between them.
std::string without_middle(std::string_view text, std::size_t first, std::size_t last) {
  const auto goes_on = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u;
  };
  while (first > 0 && goes_on(first)) --first;
  std::size_t end = text.size() - last;
  while (end < text.size() && goes_on(end)) ++end;
  return fmt::format("{}...{}", text.substr(0, first), text.substr(end));
}

}  // namespace

std::string read_text(const std::filesystem::path& file, std::size_t most) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    throw core::BadInput(fmt::format("{} is a folder; name a file", file.string()));
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  std::vector<char> piece(1 << 16);
  while (stream && text.size() <= most) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (text.size() > most) {
    throw core::BadInput(
        fmt::format("{} has more than {} bytes, too many for what it is to be", file.string(), most));
  }
  if (!stream.eof()) {
    throw core::BadInput(fmt::format("cannot read {}: {}", file.string(), std::strerror(errno)));
  }
  return text;
}

bool has_deep_key(std::string_view toml) {
  constexpr int kMostDots = 99;
  char quote = 0;  // of the string that goes on
  bool remark = false;
  int dots = 0;
  for (std::size_t i = 0; i < toml.size(); ++i) {
    const char c = toml[i];
    if (remark) {
      remark = c != '\n';
    } else if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      remark = true;
    } else if (c == '.') {
      if (++dots > kMostDots) return true;
    } else if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) {
      dots = 0;
    }
  }
  return false;
}

std::string lower_case(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return small;
}

std::string one_sentence(std::string_view text) {
  std::string sentence;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank) {
      sentence += c;
    } else if (!sentence.empty() && sentence.back() != ' ') {
      sentence += ' ';
    }
  }
  while (sentence.ends_with(' ') || sentence.ends_with('.')) sentence.pop_back();
  if (!sentence.empty()) {
    sentence[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(sentence[0])));
  }
  return sentence;
}

std::string sayable(std::string_view text) {
  constexpr std::size_t kMostOfWord = 260, kMostOfAll = 4000;
  const std::string all = escaped(text);
  std::string result;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find_first_of(" /", begin), all.size() - 1) + 1;
    const std::string_view word = std::string_view(all).substr(begin, end - begin);
    result += word.size() > kMostOfWord ? without_middle(word, 120, 60) : std::string(word);
    begin = end;
  }
  return result.size() > kMostOfAll ? without_middle(result, 3000, 800) : result;
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);  // of the beginning of `a` so far, to each beginning of `b`
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace warpscope::files
