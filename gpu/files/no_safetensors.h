#pragma once
// What else is brought where safetensors are wanted.

#include <string>
#include <string_view>

namespace warpscope::files {

/// What a file is that begins with `bytes` (kKindBytes of them), and what to do, as a sentence about it goes on: "is a
/// Git
/// LFS pointer in place of the file; bring the file itself by git lfs pull". "" if nobody knows.
std::string told_instead_of_safetensors(std::string_view bytes);

}  // namespace warpscope::files
