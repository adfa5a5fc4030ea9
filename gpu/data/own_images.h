#pragma once
// A person's own pictures as images that a network takes.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "gpu/data/dataset.h"
#include "gpu/data/picture.h"

namespace warpscope::data {

/// How many pictures are taken at once, at the most.
inline constexpr std::size_t kMostOwnImages = 256;

/// Pictures from files, in the order of the list, those of a folder by name.
struct OwnImages {
  ImageSet set;                      ///< without labels
  std::vector<std::string> names;    ///< of the files, one an image
  std::vector<std::string> refused;  ///< a sentence for each file or folder of which nothing was taken
  std::string left_out;              ///< sentences about those that are told by their number; "" for none
  std::string turned;                ///< tell_turned()
};

/// Files that are to be read as pictures.
struct PictureList {
  std::vector<std::filesystem::path> files;
  OtherFiles others;                 ///< in folders
  std::size_t folders = 0;           ///< within folders, which are not looked at
  std::vector<std::string> refused;  ///< a sentence for each folder that holds no pictures or cannot be read
};

/// What of all that was left out; "" if nothing was.
std::string tell_left_out(const PictureList& list);

/// The files that `paths` name, in that order; of a folder the pictures right in it (is_picture()), by name, but for
/// names that begin with a point.
PictureList list_pictures(std::span<const std::filesystem::path> paths);

/// Reads what list_pictures() finds by read_picture(): cut to the middle that has the shape's ratio of width to height,
/// and made as small or large as `shape` by the mean over the area that a pixel of the result covers (fit_image()).
/// Never throws for a bad file: it is refused and the good ones stay. Pictures beyond kMostOwnImages are refused too.
OwnImages read_own_images(std::span<const std::filesystem::path> paths, const ImageShape& shape);

/// The middle of an image of `from`, cut and resized to `to`: pixel (y, x) of the result is the mean of the
/// source over the rectangle that it covers, where a source pixel counts with the part of its area that lies
/// within. `pixels` are (height, width, channels) bytes of `from`; both have the same channels.
std::vector<std::uint8_t> fit_image(std::span<const std::uint8_t> pixels, const ImageShape& from,
                                    const ImageShape& to);

}  // namespace warpscope::data
