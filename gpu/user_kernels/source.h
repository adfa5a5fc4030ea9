#pragma once
// The file of a kernel that a person wrote: which op it is of and how its variant is called, before anything of it
// runs.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ops/op.h"
#include "gpu/user_kernels/templates.h"

namespace warpscope::user_kernels {

struct Source {
  std::filesystem::path file;
  std::string text;
  ops::Op op{};         ///< of the header <warpscope/OP.h> or <warpscope/OP+OP.h> that it includes
  std::string variant;  ///< "user:my_conv"
  Language language = Language::cpp;
  std::vector<ops::Link> chain = {};  ///< where the header is of several ops: these, `op` the first

  Task task() const { return {op, chain}; }
};

/// "user:my_conv" of "a/My conv.cpp": of the file's name without its end, in small letters, with _ for what names of
/// variants do not have. "my_conv.2.cpp", as runs keep a second version, is the same variant.
std::string variant_name_of(std::string_view file);

/// That which the end of the file's name tells: .cpp, .cc and .cxx, or .cu. Throws core::BadInput.
Language language_of(const std::filesystem::path& file);

/// Reads a file. Throws core::BadInput if it cannot be read, has more than 4 MiB, another ending, or includes no header
/// of an op or those of several.
Source read_source(const std::filesystem::path& file);

/// The same of a text that stands in `file`, or is about to.
Source source_of(const std::filesystem::path& file, std::string text);

}  // namespace warpscope::user_kernels
