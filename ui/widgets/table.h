#pragma once
// Dear ImGui's tables in the style of this window: a header that stays in view, columns that share the width
// of the panel and can be resized, numbers aligned to the right, tool-tips for headers and cells.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/frame.h"

namespace warpscope::ui {

struct Column {
  enum class Sort : unsigned char { none, ascending, descending };

  const char* label;
  const char* tip;     ///< what the column holds and how it was measured
  float width;         ///< the least that can be read, in design pixels; wider tables keep these proportions
  bool right = false;  ///< numbers: aligned to the right
  int rank = 0;        ///< left out where there is no room for all, the highest first; 0: never
  bool fixed = false;  ///< keeps its width
  float share = 0;     ///< stands in those proportions for `width`, larger where texts are long; 0: none does
  Sort sort = Sort::none;  ///< a click on the header sorts by it; the first such column is the default
};

/// A column of numbers, which are aligned to the right.
constexpr Column number_column(const char* label, const char* tip, float width, int rank = 0,
                               Column::Sort sort = Column::Sort::none) {
  return {.label = label, .tip = tip, .width = width, .right = true, .rank = rank, .sort = sort};
}
constexpr Column text_column(const char* label, const char* tip, float width, int rank = 0,
                             Column::Sort sort = Column::Sort::none) {
  return {.label = label, .tip = tip, .width = width, .rank = rank, .sort = sort};
}

/// The tool-tip of a column's header: the sentence of the term that its label stands for (ui/text/terms.h), then its
/// `tip`.
std::string heading_tip(const Column& column);

/// Which columns are shown: of those with a rank the highest are left out until the others fit into `room`
/// design pixels.
std::vector<bool> columns_that_fit(std::span<const Column> columns, float room);

/// One table of one frame: construct, draw rows, destroy. It scrolls sideways where not even the columns
/// without a rank fit.
class Table {
 public:
  /// Draws a header cell in place of the label and returns true, or returns false.
  using HeaderCell = std::function<bool(const Table& table, std::size_t column)>;

  /// `size` as in ImGui::BeginTable(): 0 is the room that is left. `header_rows`: how many rows stay in view.
  Table(const Frame& frame, const char* name, std::span<const Column> columns, ImVec2 size = {0, 0},
        int header_rows = 1, const HeaderCell& header_cell = nullptr);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// The column that was chosen to sort by, in the frame in which that happened; -1 in all others.
  int newly_sorted() const;

  /// Begins a row. False if it is out of view: then nothing needs to be drawn.
  bool row();
  /// Draws `count` rows: calls `draw(i)` for those in view.
  void rows(int count, const std::function<void(int)>& draw);

  /// Text in a column of this row, cut where it does not fit; the tool-tip then shows all of it.
  void text(std::size_t column, std::string_view text, ImU32 color, std::string_view tip = {});
  /// Text across the columns from `first` to `last`.
  void span_text(std::size_t first, std::size_t last, std::string_view text, ImU32 color,
                 std::string_view tip = {});
  /// A number, and behind it its unit, small and grey; nothing where there is no number.
  void number(std::size_t column, std::string_view text, ImU32 color, std::string_view tip = {},
              std::string_view unit = {});
  /// "1.20 GiB": a number and its unit, which stands after the last space.
  void quantity(std::size_t column, std::string_view text, ImU32 color, std::string_view tip = {});

  /// Draws across the columns from `first` to `last`: between the corners that `draw` gets.
  void span(std::size_t first, std::size_t last, const std::function<void(ImVec2 min, ImVec2 max)>& draw);

  /// Tints this row in the accent colour, `opacity` from 0 to 1.
  void mark(float opacity) const;
  /// Scrolls so that this row, seen or not, stands in the middle, unless all of it is in view.
  void bring_into_view() const;

  bool shows(std::size_t column) const { return shown_[column]; }
  /// What is drawn next, by hand or as an item, belongs to this column of the row and is clipped to it.
  void enter(std::size_t column);
  /// Corners of a cell of this row in pixels of the window.
  ImVec2 cell_min(std::size_t column) const { return {left_[column], top_}; }
  ImVec2 cell_max(std::size_t column) const { return {right_[column], top_ + height_}; }
  /// Where text in this row stands.
  float baseline() const;

 private:
  void set_up_columns(int header_rows) const;
  void draw_header(const HeaderCell& header_cell);
  void draw_label(std::size_t i);
  /// Enters the column and makes an item as wide as its content.
  void begin_cell(std::size_t column, float content_width);
  void draw_cell(const ImFont* font, ImVec2 min, ImVec2 max, bool right, std::string_view text, ImU32 color,
                 std::string_view tip);

  const Frame& frame_;
  std::span<const Column> columns_;
  std::vector<bool> shown_;
  std::vector<float> left_, right_;  // of the columns, pixels of the window
  float height_ = 0;
  bool open_ = false;
  float top_ = 0;  // of this row
};

}  // namespace warpscope::ui
