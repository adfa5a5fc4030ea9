#pragma once
// The pictures of all rows: their values in host memory where those are needed, their figures, and the textures that
// they are drawn from. Originals, reconstructions of now and their difference are drawn from the view of the
// training's images (interop/image_view.h) and cross to the host only if somebody needs their values. Where others are
// made of the reconstructions of now, those too are drawn from values, so that what stands together is of one step.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/interop/image_view.h"
#include "ui/interop/texture.h"
#include "ui/panels/pictures/picture_figures.h"
#include "ui/panels/pictures/picture_maker.h"
#include "ui/panels/pictures/picture_rows.h"

namespace warpscope::ui {

/// What is looked at in this frame.
struct PictureLook {
  PictureChoices choices;
  images::Conversion conversion;  ///< of the difference
  bool automatic_range = false;   ///< of the difference: follows the pictures
  bool with_ssim = false;
  bool values_of_now = false;  ///< somebody needs them in host memory
  bool choosing = false;       ///< the menu that offers A/B is open
  bool together = false;       ///< all rows are to be of one and the same step, where there are values of one
  std::shared_ptr<const data::OwnImages> own;
  std::optional<std::uint64_t> past;  ///< past_step()
};

class PictureDesk {
 public:
  /// Once a frame in which the panel is drawn: asks the training for what is missing, takes what has come.
  /// `view` shows the images of now, or of PictureLook::past.
  void update(const Frame& frame, const PictureLook& look, const interop::ImageView& view);
  /// Between frames: true if pictures or figures have been made that were not there. Never waits.
  bool advance();
  /// Frees the textures; called before the context goes.
  void shutdown();

  const training::ImageShape& shape() const { return shape_; }
  /// nullptr where they are not in host memory.
  SharedValues values(PictureRow row) const {
    return is_made(row) ? made_->of.rows[index_of(row)].values : nullptr;
  }
  /// Why the row has no pictures yet, or cannot have any, in one sentence; "" if it has.
  const std::string& why_not(PictureRow row) const { return rows_[index_of(row)].why_not; }
  /// The training step that the row's values belong to; nothing of files, and where there are no values.
  std::optional<std::uint64_t> step(PictureRow row) const;
  /// True if the row is drawn from its values, not from the view.
  bool draws_values(PictureRow row) const;
  /// Figures of the row's values; nullptr while there are none.
  const PictureFigures* figures(PictureRow row) const;
  /// Between the rows of the difference, once both are in host memory.
  std::optional<DifferenceFigures> difference() const;
  /// The mean absolute difference of each image; empty before that.
  std::vector<double> changes() const;
  /// With the range that is shown.
  const images::Conversion& conversion() const { return conversion_; }
  /// That values on the screen are of; nullptr before the first.
  std::shared_ptr<const training::Comparison> comparison() const {
    return made_ ? made_->of.comparison : nullptr;
  }

  /// Draws the pixels of an image from `from` up to but not including `to`; false, and nothing, if the row has no
  /// pictures.
  bool draw(ImDrawList* list, PictureRow row, int image, images::Point from, images::Point to, ImVec2 min,
            ImVec2 max) const;
  /// The channels of a pixel, three at the most; nothing if they are not in host memory.
  std::vector<float> pixel(PictureRow row, int image, int y, int x) const;

 private:
  struct Row {
    std::string why_not;
    std::unique_ptr<interop::TilePage> page;
    SharedPixels uploaded;  ///< that are on the page
  };

  Row& at(PictureRow row) { return rows_[index_of(row)]; }
  PictureSource::Row& source(PictureRow row) { return source_.rows[index_of(row)]; }
  void ask(const Frame& frame, const PictureLook& look);
  void take(const Frame& frame, const PictureLook& look);
  void take_comparison(const Frame& frame);
  void take_moment(const Frame& frame, PictureRow row, std::uint64_t step);
  void choose_pages(const PictureLook& look);
  void measure_similarity(const PictureLook& look);
  void explain(const Frame& frame, const PictureLook& look);
  void upload(const Frame& frame, const PictureLook& look);
  bool is_of_view(PictureRow row) const;
  bool is_made(PictureRow row) const;
  bool difference_is_made() const;

  training::ImageShape shape_;
  std::array<Row, kPictureRows> rows_;
  PictureRequest asked_;
  PictureSource source_;  ///< what there is in this frame
  PictureMaker maker_;
  std::shared_ptr<const MadePictures> made_;  ///< what is shown of it
  RowFigures similarity_;
  images::Conversion conversion_;
  const interop::ImageView* view_ = nullptr;  ///< of this frame
  bool plain_difference_ = true;
  bool with_ssim_ = false;
  bool own_ = false;
};

/// What a person has chosen, so that it can be remembered.
struct PictureSettings {
  int zoom = 0;  ///< framebuffer pixels per image pixel; 0: fit
  images::Conversion conversion;
  bool automatic_range = false;            ///< of the colours of now - original
  bool automatic_comparison_range = true;  ///< of any other difference, which a fixed one may show as white
  PictureChoices choices;
  PictureMetric metric = PictureMetric::psnr;
  PictureOrder order = PictureOrder::stored;
  int wanted_class = kAllClasses;
  bool curve = false;  ///< the metric over the steps, below the pictures

  /// The one of the difference that is chosen.
  bool& follows_pictures() {
    return is_plain_difference(choices) ? automatic_range : automatic_comparison_range;
  }
};

struct PictureScene {
  PictureSettings& settings;
  const PictureDesk& desk;
  interop::ImageView& view;
  bool past = false;  ///< `now` is an earlier step, which the slider has chosen; never of own images
  std::vector<PictureRow> rows;    ///< from above
  std::vector<int> images;         ///< in their order
  std::vector<std::string> names;  ///< of a person's own images; empty of others
  std::uint64_t newest_step = 0;   ///< of the training

  /// The training step after which the reconstructions in the row `now` were made; nothing while it has none.
  std::optional<std::uint64_t> step() const;
  /// "1,200"; "-" while there is none.
  std::string step_text() const;
  /// "now", "newest" where the training has gone on since, "bf16", "step 1,200": what stands before a row.
  std::string name(PictureRow row) const;
  std::vector<PictureRow> measured;  ///< those of `rows` that have figures; `now` if there are none
  /// Each row's, in the metric that is chosen: one number an image; empty while they are not known.
  std::array<std::vector<double>, kPictureRows> figures;

  /// "image 5", or the name of its file.
  std::string image_name(int image) const;
};

/// The scene of a frame in which the desk is up to date; without `images`, whose order may follow from the figures.
PictureScene make_scene(PictureSettings& settings, const PictureDesk& desk, interop::ImageView& view,
                        bool past, std::vector<std::string> names);

}  // namespace warpscope::ui
