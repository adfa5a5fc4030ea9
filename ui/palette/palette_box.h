#pragma once
// The command palette: a text field over the panels and the actions that match what is typed, best first.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/palette/actions.h"

namespace warpscope::ui {

struct FuzzyMatch {
  int score = 0;                    ///< the higher, the better
  std::vector<std::size_t> places;  ///< the bytes of the title that were matched, in order
};

/// Where the letters of `query` stand in `title`, in the placing that scores best; nothing if they are not all
/// there. Case and blanks of the query do not count. Letters at starts of words, letters that follow each
/// other and a match from the title's first letter on score high; letters that are skipped cost.
std::optional<FuzzyMatch> fuzzy_match(std::string_view query, std::string_view title);

struct FuzzyHit {
  std::size_t index = 0;  ///< of the title
  FuzzyMatch match;
};

/// The titles that match, best first; equal ones stay in their order. All of them for an empty query.
std::vector<FuzzyHit> fuzzy_sort(std::string_view query, const std::vector<std::string>& titles);

class PaletteBox {
 public:
  using ListActions = std::function<std::vector<Action>()>;
  using TypedActions = std::function<std::vector<Action>(const std::string&)>;

  static constexpr int kMostRows = 12;  ///< of the list that are seen at once

  bool is_open() const { return open_; }
  void open();
  void close();
  /// Draws the box while it is open; `list` gives all actions and `typed` those that the query itself means, which
  /// stand first. Enter or a click closes the box and does the action, which may send, open and close as it likes; one
  /// that is refused stays, with its reason under the list. The list is made anew when the query changes, four times
  /// a second, and when something in it is done: actions are good for the frame that they are made in.
  void draw(const Frame& frame, const ListActions& list, const TypedActions& typed);

 private:
  struct Row {
    Action action;
    FuzzyMatch match;
  };

  void find(const ListActions& list, const TypedActions& typed);
  void move(int rows);
  /// True if Enter was pressed.
  bool draw_field(const Frame& frame);
  /// The row that was clicked on, or -1.
  int draw_rows(const Frame& frame);
  void draw_row(const Frame& frame, const Row& row, int place, bool chosen) const;
  void draw_title(const Frame& frame, const Row& row, float left, float right, float baseline) const;
  void draw_footer(const Frame& frame) const;
  void take(int row, const ListActions& list, const TypedActions& typed);
  void trace();

  bool open_ = false;
  bool wants_keys_ = false;     ///< the field takes the keyboard in the next frame
  bool replaces_text_ = false;  ///< the field's text is to become query_
  std::string query_, found_for_;
  double stale_at_ = 0;  ///< on ImGui's clock: then the list is made anew
  std::vector<Row> rows_;
  int chosen_ = 0, first_ = 0;  ///< of rows_: what Enter takes, and the uppermost that is seen
  std::string traced_;
};

}  // namespace warpscope::ui
