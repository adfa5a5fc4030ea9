#pragma once
// The layers of a network that is edited: a row each with its name, its kind, the fields that the table of kinds gives
// it (models::LayerRow::fields), and what it makes of its input.

#include <cstddef>
#include <map>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/network/network_editor_rows.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

class LayerForm {
 public:
  /// Draws the rows in the room that is left, where they scroll; with room for a few lines only they are as long as
  /// they are, and the window that they stand in scrolls. `focus` is the layer whose row is lit; a click changes it.
  /// `message` becomes why something that was typed is not taken.
  void draw(const Frame& frame, NetworkDraft& draft, std::size_t& focus, std::string& message);
  /// A field holds a text that was typed and is not taken yet.
  bool typed() const { return holds_text_; }
  /// In the next frame the row in focus is in view, if the rows scroll by themselves.
  void bring_into_view() { scrolls_ = true; }

 private:
  /// Where things stand, in pixels from the left edge of a row.
  struct Places {
    float name = 0, name_width = 0;
    float kind = 0, kind_width = 0;
    float fields = 0, fields_width = 0;
    float sizes = 0;       ///< their right edge
    float parameters = 0;  ///< their right edge; 0: there is no room for them
    bool below = false;    ///< the fields stand in lines of their own
  };
  static Places places_for(const Frame& frame, const NetworkDraft& draft, float width);
  void draw_header(const Frame& frame, const Places& places) const;
  void draw_row(const Frame& frame, NetworkDraft& draft, std::size_t at, const Places& places,
                std::size_t& focus, std::string& message);
  void draw_cells(const Frame& frame, NetworkDraft& draft, std::size_t at, const Places& places, ImVec2 min,
                  std::string& message);
  void draw_name(const Frame& frame, NetworkDraft& draft, std::size_t at, float width, std::string& message);
  void draw_sizes(const Frame& frame, const DraftRow& row, ImVec2 at, const Places& places) const;
  void draw_fields(const Frame& frame, NetworkDraft& draft, std::size_t at, ImVec2 from, float width,
                   std::string& message);
  void draw_field(const Frame& frame, NetworkDraft& draft, std::size_t at, const models::LayerField& field,
                  std::string& message);

  std::map<std::string, ValueField> boxes_;
  std::string typed_;  ///< into the name of layer `typing_`
  std::size_t typing_ = SIZE_MAX;
  bool holds_text_ = false;
  bool scrolls_ = false;
};

}  // namespace warpscope::ui
