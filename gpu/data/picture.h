#pragma once
// One picture from a file, as an image that a network takes.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/data/dataset.h"

namespace warpscope::data {

/// The kinds of pictures that are read, for people.
inline constexpr std::string_view kPictureKinds = "PNG, JPEG, WebP, BMP, PPM or PGM";

/// For `count` pixels of RGB, in their place; the same as stb's.
void to_luminance(std::uint8_t* pixels, std::size_t count);

/// True for what files of these kinds begin with.
bool begins_like_picture(std::string_view bytes);

/// True for names with one of the endings that such files have, in small or capital letters, and for files that begin
/// like one.
bool is_picture(const std::filesystem::path& path);

/// Files that are none, by the endings of their names.
class OtherFiles {
 public:
  void add(const std::filesystem::path& path);
  void add(const OtherFiles& others);
  std::size_t count() const;
  /// "600 of 620 files were left out: .gif (400), .tif (200) are not read"; "" if there are none. `files`: with
  /// those that are read.
  std::string tell(std::size_t files) const;

 private:
  std::map<std::string, std::size_t> endings_;
};

/// "12 pictures were turned as their EXIF orientation says"; "" for none.
std::string tell_turned(std::size_t pictures);

struct FittedPicture {
  std::vector<std::uint8_t> pixels;
  bool turned = false;  ///< as its EXIF orientation said
};

/// One file at the size of `shape`, by fit_image(); what kind it is its first bytes tell. One channel is luminance,
/// three are RGB; an alpha channel is left out. May be called from several threads.
///
/// Throws core::BadInput that names the file if it cannot be read, is something else, is damaged (also by the
/// checksums of PNG), is animated, has more than 64 MiB or more than 100 million pixels.
FittedPicture read_picture(const std::filesystem::path& path, const ImageShape& shape);

}  // namespace warpscope::data
