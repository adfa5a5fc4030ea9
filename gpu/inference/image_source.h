#pragma once
// Where the images come from that a network is asked about, a batch at a time: any number of picture files, or the test
// images of a data set.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/data/dataset.h"

namespace warpscope::inference {

/// What is known of an image before a network sees it.
struct ImageName {
  std::int64_t index = 0;  ///< among the images of a data set, or the files
  std::string file;        ///< without its folder; "" of a data set's image
  int label = -1;          ///< an index into ImageSource::classes(); -1 where nobody knows it
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  /// The next images, `most` of them unless fewer are left; none at the end. Their bytes, (H, W, C) each, go one
  /// after the other to `pixels`, which has room for `most`.
  virtual std::vector<ImageName> read(int most, std::uint8_t* pixels) = 0;
  /// Images there are, with those that cannot be read.
  virtual std::int64_t count() const = 0;
  /// For people: "built-in digits, test images", "pictures in FOLDER".
  virtual std::string title() const = 0;
  /// The names of the classes; none where the images have no labels.
  virtual std::vector<std::string> classes() const { return {}; }
  /// A sentence for each image that could not be read so far.
  virtual std::vector<std::string> refused() const { return {}; }
};

/// The pictures right in the folder `data`, by name, or the picture of that name, cut and resized as
/// data::read_own_images() tells; a batch is decoded by several threads. Else the test images of the data set that
/// data::load() finds for "data"; `notice` is then as there. `classes`: as in data::Requirements. Throws core::BadInput
/// where there are neither.
std::unique_ptr<ImageSource> open_images(const std::string& data, const data::ImageShape& shape, int classes,
                                         std::string& notice);

/// The test images of a set in memory.
std::unique_ptr<ImageSource> test_images_of(std::shared_ptr<const data::DataSet> data);

}  // namespace warpscope::inference
