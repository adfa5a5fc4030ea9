#pragma once
// Truth against prediction as a heat map with counts, sums, recall and precision.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/interop/tile_page.h"
#include "ui/panels/confusion_figures.h"
#include "ui/panels/confusion_layout.h"
#include "ui/panels/held_out.h"

namespace warpscope::ui {

class ConfusionMatrix {
 public:
  /// The panel's body, of the selected images alone if some are. A click moves the cursor to a class; the cell that was
  /// clicked.
  std::optional<MatrixHit> draw(const Frame& frame, const HeldOut& held_out);
  /// Frees the texture; called before the context goes.
  void shutdown() { page_.reset(); }

 private:
  void refresh(const Frame& frame, const HeldOut& held_out);
  MatrixSpace measure(const Frame& frame, const HeldOut& held_out, ImVec2 room) const;
  void draw_cells(const Frame& frame, ImVec2 origin, const MatrixLayout& layout);
  void draw_names(const Frame& frame, const HeldOut& held_out, ImVec2 origin, const MatrixLayout& layout,
                  const MatrixHit& hit) const;
  void draw_figures(const Frame& frame, ImVec2 origin, const MatrixLayout& layout) const;
  void draw_column_figures(const Frame& frame, ImVec2 origin, const MatrixLayout& layout) const;
  void describe(const Frame& frame, const HeldOut& held_out, const MatrixHit& hit) const;
  void draw_footer(const Frame& frame, const HeldOut& held_out) const;

  void trace();
  void draw_pointed(const Frame& frame, ImVec2 origin, const MatrixLayout& layout) const;

  std::shared_ptr<const training::Evaluation> evaluation_;  ///< what `figures_` was made from
  std::vector<std::int64_t> selected_;                      ///< the same: Cursor::images
  std::string traced_;
  ConfusionFigures figures_;
  double scale_ = 1;  ///< error_scale()
  /// The cells as pixels, where there are too many to draw one by one.
  std::unique_ptr<interop::TilePage> page_;
};

}  // namespace warpscope::ui
