#pragma once
// What the parts of the images panel share: what a person has chosen, and what is on the screen in this frame.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ui/panels/picture_desk.h"
#include "ui/panels/picture_figures.h"
#include "ui/panels/picture_rows.h"

namespace warpscope::ui {

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
  bool past = false;               ///< `now` is an earlier step, which the slider has chosen
  std::vector<PictureRow> rows;    ///< from above
  std::vector<int> images;         ///< in their order
  std::vector<std::string> names;  ///< of a person's own images; empty of others
  std::uint64_t newest_step = 0;   ///< of the training

  /// The training step after which the reconstructions in the row `now` were made.
  std::uint64_t step() const;
  /// "now", "newest" where the training has gone on since, "bf16", "step 1,200": what stands before a row.
  std::string name(PictureRow row) const;
  std::vector<PictureRow> measured;  ///< those of `rows` that have figures; `now` if there are none
  /// Of each row, in the metric that is chosen: one number an image; empty while they are not known.
  std::array<std::vector<double>, kPictureRows> figures;

  /// "image 5", or the name of its file.
  std::string image_name(int image) const;
};

/// The scene of a frame in which the desk is up to date; without `images`, whose order may follow from the figures.
PictureScene make_scene(PictureSettings& settings, const PictureDesk& desk, interop::ImageView& view,
                        bool past, std::vector<std::string> names);

}  // namespace warpscope::ui
