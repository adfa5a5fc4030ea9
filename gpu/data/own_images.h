#pragma once
// A person's own pictures as images that a network takes.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/data/dataset.h"

namespace warpscope::data {

/// How many pictures are taken at once, at the most.
inline constexpr std::size_t kMostOwnImages = 256;

/// Pictures from files, in the order of the list, those of a folder by name.
struct OwnImages {
  ImageSet set;                      ///< without labels
  std::vector<std::string> names;    ///< of the files, one an image
  std::vector<std::string> refused;  ///< a sentence for each file that was not taken
};

/// True for names that end in .png, .jpg or .jpeg, in small or capital letters.
bool is_picture(const std::filesystem::path& path);

/// True for what PNG and JPEG files begin with.
bool begins_like_picture(std::string_view bytes);

/// The files that `paths` name, in that order; of a folder the PNG and JPEG files right in it, by name, but for names
/// that begin with a point. A folder that holds none or cannot be read adds a sentence to `refused`.
std::vector<std::filesystem::path> list_pictures(std::span<const std::filesystem::path> paths,
                                                 std::vector<std::string>& refused);

/// The pixels of one PNG or JPEG file at the size of `shape`, by fit_image(). One channel is luminance, three are
/// RGB. Throws core::BadInput that names the file if it cannot be read, is something else, has more than 64 MiB or
/// more than 100 million pixels. May be called from several threads.
std::vector<std::uint8_t> read_picture(const std::filesystem::path& path, const ImageShape& shape);

/// Reads PNG and JPEG files; of a folder those right in it that end in .png, .jpg or .jpeg. Each is cut to the
/// middle of it that has the shape's ratio of width to height, and made as small or large as `shape` by the mean
/// over the area that a pixel of the result covers (fit_image()). One channel is luminance, three are RGB; an
/// alpha channel is left out. Never throws for a bad file: it is refused and the good ones stay. Pictures beyond
/// kMostOwnImages, of more than 64 MiB or of more than 100 million pixels are refused too.
OwnImages read_own_images(std::span<const std::filesystem::path> paths, const ImageShape& shape);

/// The middle of an image of `from`, cut and resized to `to`: pixel (y, x) of the result is the mean of the
/// source over the rectangle that it covers, where a source pixel counts with the part of its area that lies
/// within. `pixels` are (height, width, channels) bytes of `from`; both have the same channels.
std::vector<std::uint8_t> fit_image(std::span<const std::uint8_t> pixels, const ImageShape& from,
                                    const ImageShape& to);

}  // namespace warpscope::data
