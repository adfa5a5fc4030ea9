#pragma once
// Data that people bring in a form that is not read: what it is, and which form to bring.

#include <filesystem>
#include <string>

namespace warpscope::data {

/// A sentence about what is in `folder`, or about `folder` itself where it is a file, for somebody who wants texts or
/// images; "" if nothing known is there. Never throws but for memory.
std::string near_miss(const std::filesystem::path& folder, bool texts);

}  // namespace warpscope::data
