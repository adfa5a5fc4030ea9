#pragma once
// Tables of the laboratory: a header that stays, rows that scroll, columns that share the room there is.

#include <span>
#include <string_view>
#include <vector>

#include "ui/frame.h"

namespace warpscope::ui {

/// A column, in design pixels.
struct Column {
  const char* label;
  const char* tip;
  float least;         ///< narrowest that can be read
  float most;          ///< widest that helps
  bool right = false;  ///< numbers: aligned to the right
  int rank = 0;        ///< left out where there is no room for all, the highest first; 0: never
};

/// Left and right edge of each column in pixels, relative to the table's left edge.
struct ColumnEdges {
  std::vector<float> left;
  std::vector<float> right;  ///< equal to left: the column is left out
  float width = 0;
};

/// Leaves out columns until the least widths of the others fit, and gives these of the room beyond that a fair part, up to
/// their most. `room` is in pixels.
ColumnEdges column_edges(std::span<const Column> columns, float room, float scale);

/// One table of one frame: construct, draw rows, destroy. It fills the room that is left, and scrolls to the side where
/// that is too narrow.
class Table {
 public:
  Table(const Frame& frame, const char* name, std::span<const Column> columns);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// Begins a row. False if it is out of view: then nothing needs to be drawn.
  bool row();
  /// Text in a column of this row, cut where it does not fit; the whole of it is then in the tool-tip.
  void text(std::size_t column, std::string_view text, ImU32 color, std::string_view tip = {});
  /// The same over the columns from `first` to `last`.
  void span_text(std::size_t first, std::size_t last, std::string_view text, ImU32 color,
                 std::string_view tip = {});
  /// As text(), in the font of numbers.
  void number(std::size_t column, std::string_view text, ImU32 color, std::string_view tip = {});
  /// A cell's corners, for what is drawn by hand.
  ImVec2 cell_min(std::size_t column) const;
  ImVec2 cell_max(std::size_t column) const;

 private:
  void draw_header() const;
  bool shows(std::size_t column) const { return edges_.right[column] > edges_.left[column]; }
  void cell(const ImFont* font, ImVec2 min, ImVec2 max, bool right, std::string_view text, ImU32 color,
            std::string_view tip);

  const Frame& frame_;
  std::span<const Column> columns_;
  ColumnEdges edges_;
  float height_ = 0;
  ImVec2 origin_;  // of this row
  bool first_ = true;
};

}  // namespace warpscope::ui
