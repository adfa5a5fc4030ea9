#pragma once
// NumPy's .npy files, format 1.0 (a header of text, then the numbers, row after row, little-endian).
// Source: NumPy's documentation, "numpy.lib.format".

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace warpscope::features {

/// Writes numbers of `type` ("<f4", "<i4"), whole or not at all. Throws core::Error.
void write_npy(const std::filesystem::path& path, std::string_view type,
               const std::vector<std::int64_t>& shape, const void* data, std::size_t bytes);

struct NpyArray {
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
};

/// Throws core::BadInput that names the file if it is not there, no .npy file, of another type or order, or not whole.
NpyArray read_npy(const std::filesystem::path& path, std::string_view type);

}  // namespace warpscope::features
