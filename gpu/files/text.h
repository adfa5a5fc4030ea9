#pragma once
// What reading texts that people write has in common.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace warpscope::files {

/// All of a file. Throws core::BadInput that names it, also if it has more than `most` bytes; no more are read.
std::string read_text(const std::filesystem::path& file, std::size_t most = SIZE_MAX);

/// With small letters in place of the capital ones of ASCII.
std::string lower_case(std::string_view text);

/// All of `text` as a number; nothing if it is none that T holds.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

/// True if a key of the TOML has more than a hundred parts ("a.b.c" has three): as deep would the tables nest that a
/// parser makes of it, and end the program.
bool has_deep_key(std::string_view toml);

/// The same without line breaks and runs of blanks, its first letter small, without a point at the end.
std::string one_sentence(std::string_view text);

/// A sentence for a person, whatever names and contents of files stand in it: escaped(), in one line. The middle
/// is left out of a word, or part of a path, of more than 260 bytes, which no file has as its name, and of the whole
/// if it has more than 4,000.
std::string sayable(std::string_view text);

/// Insertions, deletions and replacements of characters that make `a` into `b`.
/// Source: V. Levenshtein, "Binary codes capable of correcting deletions, insertions and reversals" (1966).
int edit_distance(std::string_view a, std::string_view b);

}  // namespace warpscope::files
