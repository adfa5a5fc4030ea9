// What compilers write, read line by line: "FILE:LINE:COLUMN: error: MESSAGE" of GCC and Clang, "FILE(LINE): error:
// MESSAGE" of NVRTC.

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "gpu/files/text.h"
#include "gpu/files/utf8.h"
#include "gpu/user_kernels/compiler.h"

namespace warpscope::user_kernels {
namespace {

constexpr std::size_t kMostErrors = 20;
constexpr std::size_t kLongLine = 2000;

/// The line of a text, from 1 on; "" where there is none.
std::string line_of(const std::string& text, int line) {
  std::istringstream lines(text);
  std::string found;
  for (int i = 0; i < line; ++i) {
    if (!std::getline(lines, found)) return "";
  }
  return found.substr(0, kLongLine);
}

/// Takes ":12" off the end of `text`.
std::optional<int> take_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = files::number_in<int>(text.substr(colon + 1));
  if (number) text.remove_suffix(text.size() - colon);
  return number;
}

/// "FILE:12:9", "FILE:12" or "FILE(12)"
Diagnostic placed(std::string_view where) {
  Diagnostic found;
  if (where.ends_with(')') && where.find('(') != std::string_view::npos) {
    const std::size_t open = where.rfind('(');
    found.line = files::number_in<int>(where.substr(open + 1, where.size() - open - 2)).value_or(0);
    where = where.substr(0, open);
  } else if (const auto last = take_number(where)) {
    const auto before = take_number(where);
    found.line = before.value_or(*last);
    found.column = before ? *last : 0;
  }
  found.file = where;
  return found;
}

/// What drivers of compilers say beside what the linker has said already.
bool only_repeats(std::string_view line) {
  return line.starts_with("collect2:") ||
         line.find(": error: linker command failed") != std::string_view::npos;
}

/// What a person can do about messages that speak of what the program adds to a kernel's file.
std::string in_words(std::string message) {
  static const std::regex shared(R"(uses too much shared data \(0x([0-9a-f]+) bytes, 0x([0-9a-f]+) max\))");
  if (message.find("\"warpscope_threads\" is undefined") != std::string::npos)
    return "WARPSCOPE_LAUNCH(call, THREADS, BLOCKS) has to stand before WARPSCOPE_KERNEL";
  std::smatch found;
  if (!std::regex_search(message, found, shared)) return message;
  const auto number = [&](std::size_t i) { return std::strtoull(found[i].str().c_str(), nullptr, 16); };
  return fmt::format("a block uses {} bytes of shared memory, and may use {}", number(1), number(2));
}

/// An error that stands in a line of output; what the linker lacks, and what the compiler itself does, has no place.
std::optional<Diagnostic> error_in(std::string_view line) {
  if (only_repeats(line)) return std::nullopt;
  if (const std::size_t at = line.find("undefined reference to"); at != std::string_view::npos)
    return Diagnostic{std::string(kShownFile), 0, 0, std::string(line.substr(at)), ""};
  if (line.starts_with("ptxas error") || line.starts_with("ptxas fatal")) {
    const std::size_t at = line.find(": ");
    return Diagnostic{std::string(kShownFile), 0, 0,
                      in_words(std::string(at == std::string_view::npos ? line : line.substr(at + 2))), ""};
  }
  for (const std::string_view word : {": error: ", ": fatal error: ", ": catastrophic error: "}) {
    const std::size_t at = line.find(word);
    if (at == std::string_view::npos) continue;
    Diagnostic found = placed(line.substr(0, at));
    found.message = in_words(std::string(line.substr(at + word.size())));
    if (found.line == 0) found.file = kShownFile;
    return found;
  }
  return std::nullopt;
}

/// "FILE:12:9:   required from here": where the kernel's file asks for what is wrong elsewhere.
std::optional<Diagnostic> asked_for(std::string_view line) {
  const std::size_t at = line.find(":   required from");
  if (at == std::string_view::npos || !line.starts_with(kShownFile)) return std::nullopt;
  return placed(line.substr(0, at));
}

}  // namespace

std::vector<Diagnostic> diagnostics_in(std::string_view output, const Source& source) {
  std::vector<Diagnostic> errors;
  std::optional<Diagnostic> asked;
  std::string last;
  std::istringstream lines{std::string(output)};
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, kLongLine);
    if (!line.empty() && !only_repeats(line)) last = line;
    if (auto here = asked_for(line)) asked = here;
    std::optional<Diagnostic> error = error_in(line);
    if (!error || errors.size() >= kMostErrors) continue;
    if (error->file != kShownFile && asked) {
      asked->message = error->message;
      error = asked;
    }
    asked.reset();
    if (error->file == kShownFile) {
      error->file = source.file.filename().string();
      if (error->line > 0) error->text = line_of(source.text, error->line);
    }
    errors.push_back(std::move(*error));
  }
  if (errors.empty()) {
    errors.push_back(
        {source.file.filename().string(), 0, 0, last.empty() ? "the compiler failed" : last, ""});
  }
  return errors;
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = files::sayable(diagnostic.file);
  if (diagnostic.line > 0) text += fmt::format(":{}", diagnostic.line);
  if (diagnostic.column > 0) text += fmt::format(":{}", diagnostic.column);
  text += ": " + files::sayable(diagnostic.message);
  if (diagnostic.text.empty()) return text;
  text += "\n    " + files::escaped(diagnostic.text);
  const auto before = diagnostic.text.substr(0, static_cast<std::size_t>(std::max(0, diagnostic.column - 1)));
  if (diagnostic.column > 0) text += "\n    " + std::string(files::escaped(before).size(), ' ') + "^";
  return text;
}

}  // namespace warpscope::user_kernels
