#pragma once
// IDX files of bytes, as MNIST comes in: big-endian 32-bit numbers (2048 + the number of dimensions, then the
// size of each dimension, the outermost first) and one byte for each value. Source: Y. LeCun, C. Cortes, C.
// Burges, "The MNIST database of handwritten digits", file formats.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gpu/files/file.h"

namespace warpscope::data {

struct Idx {
  std::vector<std::int64_t> sizes;  ///< of each dimension
  std::vector<std::uint8_t> values;
};

/// True if it begins as gzip files do, whatever its name says. Throws core::Error if it cannot be read.
bool is_gzip(const files::InputFile& file);

/// Reads an IDX file with this many dimensions, packed by gzip if it begins so. Throws BadInput
/// that names the file and ends with `remedy` ("fetch it again") if it cannot be opened, is something else
/// than an IDX file of bytes in these dimensions, has a dimension of 0 or more than 10,000,000,000 values, is
/// shorter or longer than its header says, or is damaged gzip (checksum, length, bytes after its end); Error
/// if reading fails half-way.
Idx read_idx(const std::filesystem::path& path, int dimensions, const std::string& remedy);

/// How many dimensions the number tells with which an IDX file of bytes begins; 0 if `path` is no such file or cannot
/// be read.
int idx_dimensions(const std::filesystem::path& path);

/// The sizes that the header of an IDX file of bytes tells; none if `path` is no such file, cannot be read, or
/// has sizes that read_idx() refuses.
std::vector<std::int64_t> peek_idx(const std::filesystem::path& path);

}  // namespace warpscope::data
