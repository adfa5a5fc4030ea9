#pragma once
// Truth against prediction as a heat map with counts, sums, recall and precision.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/interop/texture.h"
#include "ui/panels/pictures/confusion_figures.h"
#include "ui/panels/pictures/held_out.h"

namespace warpscope::ui {

/// Above so many classes, nothing is written: colours only.
constexpr int kMostNamedClasses = 30;

/// The room and the sizes of texts, in pixels.
struct MatrixSpace {
  float width = 0;
  float height = 0;
  int classes = 0;
  float longest_name = 0;  ///< of the classes
  float label_width = 0;   ///< of "precision", which stands left of the lines below
  float sum_width = 0;     ///< of the widest sum
  float rate_width = 0;    ///< of "100.0 %"
  float line = 0;          ///< height of a line of text
  float scale = 1;         ///< pixels per design pixel
  float finest = 1;        ///< smallest length on the screen: one framebuffer pixel
};

struct MatrixLayout {
  float left = 0;  ///< of the cells, relative to the matrix's top left corner
  float top = 0;
  float cell_width = 0;
  float cell_height = 0;
  float name_width = 0;     ///< of the names at the left; 0: none
  float name_height = 0;    ///< of the names above; 0: none
  bool turned = false;      ///< the names above stand upright
  float sum_right = 0;      ///< right edge of the sums of the rows; 0: none
  float recall_right = 0;   ///< right edge of the recalls; 0: none
  float sum_top = 0;        ///< top of the sums of the columns; 0: none
  float precision_top = 0;  ///< top of the precisions; 0: none
  float width = 0;          ///< of everything
  float height = 0;

  float cells_right(int classes) const { return left + cell_width * static_cast<float>(classes); }
  float cells_bottom(int classes) const { return top + cell_height * static_cast<float>(classes); }
};

MatrixLayout arrange_matrix(const MatrixSpace& space);

/// A cell, a row (predicted < 0) or a column (truth < 0) of the matrix.
struct MatrixHit {
  int truth = -1;
  int predicted = -1;
};

/// What lies under a point relative to the matrix's top left corner: a cell, or the row or column whose name
/// or figures stand there.
std::optional<MatrixHit> hit_matrix(const MatrixLayout& layout, int classes, float x, float y);

class ConfusionMatrix {
 public:
  /// The panel's body, of only the selected images if some are. A click moves the cursor to a class; the cell that was
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
