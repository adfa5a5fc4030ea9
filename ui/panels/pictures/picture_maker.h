#pragma once
// What the Images panel shows of values in host memory: the colours of their pages, their figures and their difference,
// made by a thread of its own, so that no frame waits for them. What is made of values of one step comes all at once.

#include <array>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/messages/comparison.h"
#include "ui/images/conversion.h"
#include "ui/interop/texture.h"
#include "ui/panels/pictures/picture_figures.h"
#include "ui/panels/pictures/picture_rows.h"

namespace warpscope::ui {

/// What is there to be shown.
struct PictureSource {
  struct Row {
    SharedValues values;                ///< (count, height, width, channels); nullptr: none
    std::optional<std::uint64_t> step;  ///< the training step that they belong to; nothing of files
    std::string name;                   ///< row_name()
    bool paged = false;                 ///< its colours are needed

    bool operator==(const Row&) const = default;
  };

  training::ImageShape shape;
  std::array<Row, kPictureRows> rows;  ///< that of the difference has no values
  PictureRow minuend = PictureRow::now, subtrahend = PictureRow::original;
  images::Conversion conversion;  ///< of the difference
  bool automatic_range = false;   ///< of the difference: follows the pictures
  interop::PageShape page;
  std::shared_ptr<const training::Comparison> comparison;  ///< that values are of; nullptr: of none

  bool operator==(const PictureSource&) const = default;
};

/// (PageShape::rows * height, PageShape::columns * width)
using SharedPixels = std::shared_ptr<const std::vector<images::Rgba>>;

/// What is made of it.
struct MadePictures {
  PictureSource of;
  std::array<SharedPixels, kPictureRows> pixels;  ///< of the rows whose colours are needed
  /// Against the original, without SSIM; nullptr of rows without values and where there is no original.
  std::array<std::shared_ptr<const PictureFigures>, kPictureRows> figures;
  std::optional<DifferenceFigures> difference;  ///< if both of its rows have values
  std::vector<double> changes;                  ///< the mean absolute difference of each image, then
  images::Conversion conversion;                ///< of the difference, with the range that is shown
};
/// Pixels whose values are those of `before` are taken from there; nullptr: all are made.
MadePictures make_pictures(PictureSource of, const std::shared_ptr<const MadePictures>& before);

/// Has pictures made, one source at a time; what was made before stays until the next is there.
class PictureMaker {
 public:
  /// Has this made, if it is neither there nor under way; while another one is, the next call asks again. Rows that
  /// have no values in it are seen no more.
  void want(const PictureSource& source);
  /// Takes what has been made. True if a thread has come to its end since the last call. Never waits.
  bool advance();
  /// nullptr before the first.
  const std::shared_ptr<const MadePictures>& newest() const { return newest_; }

 private:
  void lose(std::size_t row);

  std::shared_ptr<const MadePictures> newest_;
  std::array<bool, kPictureRows> lost_{};  ///< of what is under way
  std::future<MadePictures> job_;
};

}  // namespace warpscope::ui
