#pragma once
// What reading texts that people write has in common.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace warpscope::files {

/// All of a file. Throws core::BadInput that names it, also if it has more than `most` bytes; no more are read.
std::string read_text(const std::filesystem::path& file, std::size_t most = SIZE_MAX);

/// True if a key of the TOML has more than a hundred parts ("a.b.c" has three): as deep would the tables nest that a
/// parser makes of it, and end the program.
bool has_deep_key(std::string_view toml);

/// The same without line breaks and runs of blanks, its first letter small, without a point at the end.
std::string one_sentence(std::string_view text);

/// A sentence for a person, whatever names and contents of files stand in it: escaped(), in one line. Of a word, or
/// part of a path, of more than 260 bytes, which no file has as its name, the middle is left out, and that of all if
/// it has more than 4,000.
std::string sayable(std::string_view text);

/// Insertions, deletions and replacements of characters that make `a` into `b`.
/// Source: V. Levenshtein, "Binary codes capable of correcting deletions, insertions and reversals" (1966).
int edit_distance(std::string_view a, std::string_view b);

}  // namespace warpscope::files
