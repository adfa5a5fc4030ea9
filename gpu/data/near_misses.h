#pragma once
// Data that people bring in a form that is not read: what it is, and which form to bring.

#include <filesystem>
#include <string>

namespace warpscope::data {

/// A sentence about what is in `folder`, or about `folder` itself where it is a file, for somebody who wants texts or
/// images; "" if nothing known is there. Never throws but for memory.
std::string near_miss(const std::filesystem::path& folder, bool texts);

/// That it is "a JSON file" and what to do, of a file of texts by its ending; "" of one that is read.
std::string told_as_table(const std::filesystem::path& file);

}  // namespace warpscope::data
