#pragma once
// Files of texts as people's programs write them.

#include <filesystem>
#include <string>

namespace warpscope::data {

/// All of a file in UTF-8, with LF as line ends, without a byte order mark: UTF-16 that begins with its mark is
/// converted, and lines that end with only CR, throughout, end with LF.
///
/// `notice` gets a sentence about lines that are not UTF-8, which stay as they are. Throws core::BadInput that names
/// the file if it cannot be read or is no text: by its first bytes something else, in UTF-32, or with zero bytes.
std::string read_text_file(const std::filesystem::path& path, std::string& notice);

}  // namespace warpscope::data
