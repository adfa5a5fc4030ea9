#pragma once
// Images of a run as one PNG: a grid of rows without gaps, whose last row may not be full.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/messages/image_exchange.h"

namespace warpscope::training {

/// A PNG file of `height` lines of `width` pixels of `channels` bytes. Throws core::Error if it cannot be made,
/// std::bad_alloc without memory.
std::string encode_png(std::span<const std::uint8_t> pixels, int width, int height, int channels);

/// `images` is (count, height, width, channels) bytes, all of `shape` at least 1. Returns the PNG of a grid
/// with so many `columns`; places of the last row without an image are black. Throws core::Error if it cannot
/// be encoded.
std::string encode_grid(std::span<const std::uint8_t> images, const ImageShape& shape, int columns);

/// The images of such a PNG, (count, height, width, channels) bytes. Throws core::BadInput that calls it
/// `name` unless it is a PNG of exactly this size; nothing is allocated for what a damaged one says of
/// itself.
std::vector<std::uint8_t> decode_grid(std::string_view png, const ImageShape& shape, int columns,
                                      std::string_view name);

/// All of a file. Throws core::BadInput if it is not there, is no regular file or has more than `most` bytes.
std::string read_image_file(const std::filesystem::path& path, std::uintmax_t most);

/// Makes the folder images/ of a run ready for its one writer: it is there, and without what a killed one has
/// left. Throws core::Error.
void open_image_folder(const std::filesystem::path& folder);

}  // namespace warpscope::training
