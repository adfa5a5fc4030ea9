#pragma once
// What a file is, told by its first bytes: its name may say something else.

#include <cstddef>
#include <string_view>

namespace warpscope::files {

/// A kind of file that people bring, as a sentence goes on: "it is NAME", "REMEDY".
struct FileKind {
  std::string_view name;    ///< "a GIF picture"
  std::string_view remedy;  ///< what to do where it is of no use: "unpack it"
};

/// How many bytes file_kind() looks at.
inline constexpr std::size_t kKindBytes = 512;

/// For a file that begins with these bytes; nullptr for what is not known, as texts are.
const FileKind* file_kind(std::string_view bytes);

}  // namespace warpscope::files
