#pragma once
// Data sets of images, or of texts as bytes, as plain data in host memory.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace warpscope::data {

/// How many classes a set may have: labels are bytes.
inline constexpr std::size_t kMostClasses = 256;

/// The size of an image.
struct ImageShape {
  int height = 0;
  int width = 0;
  int channels = 0;

  bool operator==(const ImageShape&) const = default;
};

/// Labelled images, or texts as images of 1 x length x 1. Image i is the `height` x `width` x `channels` bytes
/// (NHWC, 0 to 255) from i * image_bytes().
struct ImageSet {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::int64_t count = 0;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;  ///< one for each image: an index into DataSet::classes
  std::vector<std::string> texts =
      {};  ///< of a set of texts: what the bytes stand for (text_encoding.h), for people

  ImageShape shape() const { return {height, width, channels}; }
  std::int64_t image_bytes() const { return std::int64_t{height} * width * channels; }
};

/// Room for `count` images and their labels.
inline ImageSet make_image_set(const ImageShape& shape, std::int64_t count) {
  ImageSet set{shape.height, shape.width, shape.channels, count, {}, {}};
  set.pixels.resize(static_cast<std::size_t>(count * set.image_bytes()));
  set.labels.resize(static_cast<std::size_t>(count));
  return set;
}

/// A training set and a test set with the same classes and image size, and a validation set if one was split
/// off (split.h): with the same image size too, or no images and no size.
struct DataSet {
  std::string name;    ///< for people: "CIFAR-10", "built-in scenes"
  std::string source;  ///< what --data takes to load it again: a folder, NAME:FOLDER or "builtin"
  std::vector<std::string> classes;
  ImageSet train;
  ImageSet validation;
  ImageSet test;
  std::string notice = {};  ///< what people should know of how it was made, in one sentence, else ""
};

}  // namespace warpscope::data
