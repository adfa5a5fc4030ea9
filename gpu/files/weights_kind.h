#pragma once
// What somebody brings as weights, told by its first bytes.

#include <string>
#include <string_view>

namespace warpscope::files {

/// So many first bytes tell all that weights_kind() knows.
inline constexpr std::size_t kWeightsKindBytes = 512;

/// What a file is that begins with `bytes`, and what to do where its contents are wanted as safetensors, as a sentence
/// about it goes on: "is a Git LFS pointer; git lfs pull brings the file itself". "" if nobody knows.
std::string weights_kind(std::string_view bytes);

}  // namespace warpscope::files
