#pragma once
// The plane of latents in the window: test images as thumbnails or points, with zoom, lasso and what is under the
// pointer. Its work in a frame grows with the images and no faster: what has not changed is not made anew, and all
// images are one call of the renderer.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/interop/texture.h"
#include "ui/panels/network/latent_rows.h"

namespace warpscope::ui {

/// What the decoder is asked for, as the map marks it.
struct LatentMarks {
  std::int64_t from = training::LatentRecipe::kMean;
  std::int64_t to = training::LatentRecipe::kMean;  ///< joined to `from` by a line
  std::vector<float> place;  ///< scores of the place whose picture is large; or nothing
};

class LatentPlane {
 public:
  /// Draws `points` over the room `size`. A click on an image writes Cursor::image, a lasso Cursor::images; an image
  /// that is clicked with the right button is returned.
  std::optional<std::int64_t> draw(const Frame& frame, const std::shared_ptr<const PlanePoints>& points,
                                   const LatentMarks& marks, ImVec2 size);
  /// Pixels from the top of the plane, as it was drawn last, to the lower end of its legend; 0 if it has none.
  float legend_height(const Frame& frame) const;
  /// True while a button is held on the plane: what is shown must not move.
  bool held() const { return held_; }
  /// Frees the textures; called before the context goes.
  void shutdown();

  bool thumbnails = true;  ///< texts are points all the same
  bool lasso = false;      ///< dragging draws a lasso instead of moving the plane
  void fit() { view_.fit = true; }

 private:
  void place_images(ImVec2 min, ImVec2 max);
  void refresh(const Frame& frame);
  void upload_some(const Frame& frame);
  void refresh_disc(const Frame& frame, int side);
  void handle_pointer(const Frame& frame);
  void handle_drag(const Frame& frame);
  void draw_images(const Frame& frame);
  void draw_image(const Frame& frame, std::size_t image, float side, bool dimmed);
  void draw_marks(const Frame& frame, const LatentMarks& marks);
  void draw_lasso(const Frame& frame) const;
  void draw_axes(const Frame& frame) const;
  std::vector<ImVec2> legend_places(const Frame& frame) const;
  void draw_legend(const Frame& frame) const;
  float side(const Frame& frame) const;
  bool draws_texts() const { return points_->data->test.texts; }
  bool draws_pictures() const { return thumbnails && !draws_texts(); }
  ImU32 colour_of(const Frame& frame, std::size_t image) const;

  std::shared_ptr<const PlanePoints> points_;
  PlaneView view_;
  ImVec2 min_, max_;
  std::vector<ImVec2> places_;                 ///< of the images, on the screen
  std::shared_ptr<const PlanePoints> placed_;  ///< what they are places of,
  PlaneView placed_view_;                      ///< and where that was seen
  std::optional<std::size_t> hovered_;         ///< the image under the pointer
  std::vector<ImVec2> drawn_;                  ///< corners of the lasso
  bool held_ = false;
  bool moved_ = false;  ///< since the button went down
  double fitting_ = 1;  ///< the scale at which everything is seen
  std::shared_ptr<const training::DataView> uploaded_;
  int pictures_ = 0;                         ///< tiles that hold one; the last tile of the page is white
  std::unique_ptr<interop::TilePage> page_;  ///< pictures
  std::unique_ptr<interop::TilePage> disc_;  ///< one, as large as a point is now
};

/// The colour of a class: those of data series for the first eight.
ImU32 class_colour(const Palette& palette, std::size_t index);

}  // namespace warpscope::ui
