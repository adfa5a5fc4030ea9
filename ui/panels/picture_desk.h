#pragma once
// The pictures of all rows: their values in host memory where those are needed, their figures, and the textures that
// they are drawn from. Originals, reconstructions of now and their difference are drawn from the view of the
// training's images (interop/image_view.h) and cross to the host only if somebody needs their values.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/frame.h"
#include "ui/interop/image_view.h"
#include "ui/interop/tile_page.h"
#include "ui/panels/picture_figures.h"
#include "ui/panels/picture_rows.h"

namespace warpscope::ui {

/// What is looked at in this frame.
struct PictureLook {
  PictureChoices choices;
  images::Conversion conversion;  ///< of the difference
  bool automatic_range = false;   ///< of the difference: follows the pictures
  bool with_ssim = false;
  bool values_of_now = false;  ///< somebody needs them in host memory
  std::shared_ptr<const data::OwnImages> own;
};

class PictureDesk {
 public:
  /// Once a frame in which the panel is drawn: asks the training for what is missing, takes what has come.
  /// `view` shows the images of now, or of the step that the cursor points at.
  void update(const Frame& frame, const PictureLook& look, const interop::ImageView& view);
  /// Between frames: true if figures have come that were not there. Never waits.
  bool advance() { return figures_.advance(); }
  /// Frees the textures; called before the context goes.
  void shutdown();

  const training::ImageShape& shape() const { return shape_; }
  /// nullptr where they are not in host memory.
  SharedValues values(PictureRow row) const { return rows_[index_of(row)].values; }
  /// Why the row has no pictures yet, or cannot have any, in one sentence; "" if it has.
  const std::string& why_not(PictureRow row) const { return rows_[index_of(row)].why_not; }
  /// The training step that the row's pictures belong to; nothing of files.
  std::optional<std::uint64_t> step(PictureRow row) const { return rows_[index_of(row)].step; }
  const RowFigures& figures() const { return figures_; }
  /// Between the rows of the difference, once both are in host memory.
  const std::optional<DifferenceFigures>& difference() const { return difference_; }
  /// The mean absolute difference of each image; empty before that.
  const std::vector<double>& changes() const { return changes_; }
  /// With the range that is shown.
  const images::Conversion& conversion() const { return conversion_; }

  /// Draws the pixels of an image from `from` up to but not including `to`; false, and nothing, if the row has no
  /// pictures. With `at_once` rows are drawn from values of one and the same step where there are any.
  bool draw(ImDrawList* list, PictureRow row, int image, images::Point from, images::Point to, ImVec2 min,
            ImVec2 max, bool at_once = false) const;
  /// The channels of a pixel, three at the most; nothing if they are not in host memory.
  std::vector<float> pixel(PictureRow row, int image, int y, int x) const;

 private:
  struct Row {
    SharedValues values;
    std::optional<std::uint64_t> step;
    std::string why_not;
    std::unique_ptr<interop::TilePage> page;
    SharedValues uploaded;  ///< that the page was made of
  };
  struct Moment {
    std::uint64_t step = 0, version = 0;
    std::shared_ptr<const training::ShownImages> images;
  };

  Row& at(PictureRow row) { return rows_[index_of(row)]; }
  const Row& at(PictureRow row) const { return rows_[index_of(row)]; }
  void ask(const Frame& frame, const PictureLook& look);
  void take(const Frame& frame, const PictureLook& look);
  void take_comparison(const Frame& frame);
  void take_moment(const Frame& frame, PictureRow row, std::uint64_t step);
  void explain(const Frame& frame, const PictureLook& look);
  void subtract(const PictureLook& look);
  void upload(const Frame& frame, const PictureLook& look);
  interop::TilePage& page_of(const Frame& frame, PictureRow row);
  void upload_values(const Frame& frame, PictureRow row);
  void upload_difference(const Frame& frame, const PictureLook& look);
  bool is_of_view(PictureRow row) const;

  training::ImageShape shape_;
  std::array<Row, kPictureRows> rows_;
  PictureRequest asked_;
  std::array<Moment, 2> moments_;  ///< of `now` and `earlier`
  RowFigures figures_;
  std::optional<DifferenceFigures> difference_;
  std::vector<double> changes_;
  SharedValues minuend_, subtrahend_;  ///< that the difference is made of
  SharedValues uploaded_subtrahend_;   ///< that its texture was made of
  images::Conversion conversion_, uploaded_as_;
  const interop::ImageView* view_ = nullptr;  ///< of this frame
  bool plain_difference_ = true;
  bool own_ = false;
};

}  // namespace warpscope::ui
