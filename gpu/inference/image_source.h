#pragma once
// Where the images, or texts as bytes, come from that a network is asked about, a batch at a time: any number of
// picture files, a file of texts, or the test images of a data set.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
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
  std::size_t line = 0;    ///< of a file of texts: on which it begins, from 1 on; 0: not known
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  /// Those of the next `most` images that can be read, or where none of these can, of the `most` behind them; none at
  /// the end. Their bytes, (H, W, C) each, go one after the other to `pixels`, which has room for `most`.
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
  /// Pictures that were turned so far, as their EXIF orientation says.
  virtual std::size_t turned() const { return 0; }
};

/// A source that can be read in parts, in whatever processes.
class DividedSource : public ImageSource {
 public:
  /// From now on read() gives those of images `begin` to `end` - 1 of all, numbered as before, and refused() and
  /// turned() count anew.
  virtual void take_part(std::int64_t begin, std::int64_t end) = 0;
  /// What is known of image `index` of all. From any thread.
  virtual ImageName name(std::int64_t index) const = 0;
  /// What open_images() finds it by.
  virtual std::string option() const = 0;
  /// The same of sources that hold the same images in the same order, wherever they were opened.
  virtual std::string fingerprint() const = 0;
};

/// The pictures right in the folder `data`, by name (`notice` tells of other files there), or the picture of that name,
/// cut and resized as data::read_own_images() tells; a batch is decoded by several threads. For a model that takes
/// texts, those in the file of that name, as read_texts() tells. Else the test images of the data set that
/// data::find_data() finds for "data"; `notice` is then as there. `classes`: the names of the network's, as far as they
/// are known; by match_classes() labels become theirs, and `notice` tells of those that do not. `known`: what the
/// network's run tells of its data, of which `notice` then tells whether they are others now. Throws core::BadInput
/// where there are neither.
std::unique_ptr<DividedSource> open_images(const std::string& data, const data::Requirements& wanted,
                                           const std::vector<std::string>& classes, std::string& notice,
                                           const data::KnownData& known = {});

/// Texts of a file. In one that ends in .csv each row is a text, as data::read_text_table() tells; titles are left out
/// (data::drop_strange_titles(), with the `known` classes). In other files each line is a text. Throws core::BadInput
/// if the file cannot be read, is a picture, no text or no CSV.
struct Texts {
  data::ImageSet set;                ///< without labels
  std::vector<int> labels;           ///< one a text: a place in `classes`, or -1
  std::vector<std::size_t> lines;    ///< one a text: on which it begins, from 1 on
  std::vector<std::string> classes;  ///< as they come
  std::string notice;                ///< what was left out, and what else is to be known; or ""
};
Texts read_texts(const std::string& file, const data::Requirements& model,
                 const std::set<std::string>& known = {});

/// The test images of a set in memory, of a network whose classes are the set's.
std::unique_ptr<DividedSource> test_images_of(std::shared_ptr<const data::DataSet> data);

// The one rule by which labels of data are held against a network's classes, whatever the data come from.

/// What is known of the names of some data's classes.
enum class Naming : std::uint8_t {
  of_a_set,     ///< all its classes, in their order: a place in it says something
  as_they_come  ///< those that stand beside some texts, in no order
};

/// For each class in `data` the place of its name in `network`; -1 where that is no name of the network's, or that of
/// several. Names are compared as run.json keeps them (files::legible_utf8()).
///
/// Classes of a set keep their own places instead where names cannot tell: the network has none; both have the same;
/// the names of one side are numbers and those of the other are not, and the set's are 0, 1, 2, ... as IDX files have
/// them, or both sides have as many.
std::vector<int> match_classes(const std::vector<std::string>& data, const std::vector<std::string>& network,
                               Naming naming);

/// A sentence about the labels, each a place in `data` or -1 for none, whose class matches no class of the network:
/// how many there are and what they are called. "" if there are none. `matches`: of match_classes().
std::string tell_unknown(std::span<const int> labels, const std::vector<std::string>& data,
                         const std::vector<int>& matches);

}  // namespace warpscope::inference
