#pragma once
// Where the images, or texts as bytes, come from that a network is asked about, a batch at a time: any number of
// picture files, a file of texts, or the test images of a data set.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/data/dataset.h"
#include "gpu/data/known_data.h"
#include "gpu/data/requirements.h"
#include "gpu/models/model.h"

namespace warpscope::inference {

/// What is known of an image before a network sees it.
struct ImageName {
  std::int64_t index = 0;  ///< among the images of a data set, the files, or the texts of a file
  std::string file;        ///< without its folder; "" of a data set's image
  int label = -1;          ///< one of the network's classes; -1 where nobody knows it
  std::string text = {};   ///< of a text: as it was given
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
  /// The names of the network's classes, or those of the data that stand for them where it has none; none if nobody
  /// knows any.
  virtual std::vector<std::string> classes() const { return {}; }
  /// A sentence for each image that could not be read so far.
  virtual std::vector<std::string> refused() const { return {}; }
};

/// The pictures right in the folder `data`, by name, or the picture of that name, cut and resized as
/// data::read_own_images() tells; a batch is decoded by several threads. For a model that takes texts, those in the
/// file of that name, as read_texts() tells. Else the test images of the data set that data::find_data() finds for "data";
/// `notice` is then as there. `classes`: the names of the network's, as far as they are known; by match_classes()
/// labels become theirs, and `notice` tells of those that do not. Throws core::BadInput where there are neither.
/// `known`: what the network's run tells of its data, of which `notice` then tells whether they are others now.
std::unique_ptr<ImageSource> open_images(const std::string& data, const data::Requirements& wanted,
                                         const std::vector<std::string>& classes, std::string& notice,
                                         const data::KnownData& known = {});

/// Texts of a file. Of one that ends in .csv
/// (data/csv.h) each row is a text: its only field, or all but the first, joined by blanks; the first is then the name
/// of a class. A first row that says "text", or "label" and "text", is left out. Of other files each line is a text.
/// Throws core::BadInput if the file cannot be read, is a picture or no CSV.
struct Texts {
  data::ImageSet set;                ///< without labels
  std::vector<int> labels;           ///< one a text: a place in `classes`, or -1
  std::vector<std::string> classes;  ///< as they come
};
Texts read_texts(const std::string& file, const data::Requirements& model);

/// One text as `model` takes it: 1 x length x 1 bytes (data/text_encoding.h). `model` takes texts.
data::ImageSet encode_text(const models::Model& model, std::string text);

/// The test images of a set in memory, of a network whose classes are the set's.
std::unique_ptr<ImageSource> test_images_of(std::shared_ptr<const data::DataSet> data);

}  // namespace warpscope::inference
