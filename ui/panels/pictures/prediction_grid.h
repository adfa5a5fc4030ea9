#pragma once
// The held-out images of a classifying network, with truth and prediction, worst first.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/images/grid_layout.h"
#include "ui/panels/pictures/held_out.h"
#include "ui/panels/pictures/tiled_images.h"

namespace warpscope::ui {

/// The held-out texts, a row each, their characters tinted by their shares in the prediction.
class PredictionTexts {
 public:
  /// Draws the `order` as rows that fill the width and scrolls in them; `scroll_to_start`: from the first on. Returns
  /// the image whose row the pointer is on, which shows the whole text in a tool-tip.
  std::optional<int> draw(const Frame& frame, const HeldOut& held_out, std::span<const int> order,
                          bool scroll_to_start);

 private:
  struct RowPlace {
    ImVec2 min, max;
  };
  std::optional<std::size_t> draw_row(const Frame& frame, const HeldOut& held_out, int image,
                                      const RowPlace& place) const;
  void ask(const Frame& frame, const HeldOut& held_out, std::span<const int> rows);
  void trace(const Frame& frame);

  training::HeldOutTexts on_screen_, asked_;
  double since_ = 0;  ///< ImGui time at which `on_screen_` came there
  std::uint64_t traced_ = 0;
};

class PredictionGrid {
 public:
  /// The zoom's buttons, at the right end of the title row. Left out where there is no room.
  void draw_zoom(const Frame& frame);
  /// The panel's body. `held`: a newer evaluation waits until the pointer leaves. A click on an image moves the cursor.
  void draw(const Frame& frame, const HeldOut& held_out, bool held);
  /// True while the pointer is over the images: what is looked at must not move.
  bool looked_at() const { return looked_at_; }
  void left_alone() { looked_at_ = false; }
  /// Shows the images of `truth` that were taken for `predicted`.
  void show_pair(int truth, int predicted);
  /// True once images are on the screen.
  bool has_images() const { return tiles_.page() != nullptr; }
  /// Frees the texture; called before the context goes.
  void shutdown() { tiles_.shutdown(); }

 private:
  void refresh(const Frame& frame, const HeldOut& held_out);
  void draw_choices(const Frame& frame, const HeldOut& held_out, bool held);
  void draw_order(const Frame& frame);
  void draw_classes(const Frame& frame, const HeldOut& held_out);
  void draw_chip(const Frame& frame, const HeldOut& held_out);
  void draw_cells(const Frame& frame, const HeldOut& held_out);
  void draw_texts(const Frame& frame, const HeldOut& held_out);
  images::CellGrid lay_out(const Frame& frame, const HeldOut& held_out, ImVec2 room) const;
  /// Scrolls and zooms; the cell under the pointer.
  std::optional<int> handle_pointer(const images::CellGrid& grid, ImVec2 origin);
  void draw_cell(const Frame& frame, const HeldOut& held_out, const images::CellGrid& grid, ImVec2 origin,
                 int cell, bool hovered);
  void follow_image(const Frame& frame, const HeldOut& held_out, const images::CellGrid& grid, float height);
  void point_at(const Frame& frame, const HeldOut& held_out, int image);
  void trace(const Frame& frame, const HeldOut& held_out);

  PredictionTexts texts_;
  PredictionChoice choice_;
  HeldOut arranged_;  ///< what `order_` was made from
  PredictionChoice arranged_as_;
  std::vector<int> order_;
  TiledImages tiles_;
  int zoom_ = 0;  ///< framebuffer pixels per image pixel; 0: fit
  int shown_zoom_ = 1;
  bool looked_at_ = false;
  bool scroll_to_start_ = false;
  std::int64_t pointed_ = 0;  ///< Cursor::image when it was last followed
  double hovered_since_ = 0;  ///< ImGui time at which the pointer came to the images
  std::string traced_;
};

}  // namespace warpscope::ui
