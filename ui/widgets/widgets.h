#pragma once
// The pieces panels are made of, so that all of them look and behave alike: panel frames, numbers with units,
// buttons, combos and tool-tips. All sizes follow Frame::scale; lengths given by callers are design pixels
// unless said otherwise.
//
// Names such as "toolbar.pause" identify a widget: they are its ImGui id and its name in the trace (trace.h).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <imgui.h>

#include "ui/frame/frame.h"
#include "ui/frame/trace.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {

/// Indices of the tabs that are seen, in their order: all if they fit into `room` with `gap` between two; else as
/// many of the first as fit beside a button `more` wide for the others, and always the active one. `widths` are not
/// empty.
std::vector<std::size_t> tabs_that_fit(std::span<const float> widths, std::size_t active, float gap,
                                       float more, float room);

/// ImGui::InvisibleButton, which must have a size: here it is a pixel at least, however small the window is.
inline bool hit_area(const char* name, ImVec2 size, ImGuiButtonFlags flags = 0) {
  return ImGui::InvisibleButton(name, ImVec2(std::max(size.x, 1.0f), std::max(size.y, 1.0f)), flags);
}

/// What all windows have that people cannot move, and what those have that lie under all panels.
inline constexpr ImGuiWindowFlags kStillWindow = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                                 ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav;
inline constexpr ImGuiWindowFlags kLowWindow =
    kStillWindow | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoBringToFrontOnFocus;

/// Begins the window of a row of news across the window, tinted in the accent colour, its items in the middle of its
/// height.
void begin_news_row(const Frame& frame, const char* name, float padding, ImGuiWindowFlags more = 0);

/// Width in pixels of a hairline: 1 design pixel, at least one of the window.
float hairline(const Frame& frame);

// Text ----------------------------------------------------------------------------------------------

/// Height in pixels of `font` as the window draws it.
float font_size(const ImFont* font);
/// Width in pixels of `text` in `font`.
float text_width(const ImFont* font, std::string_view text);
/// `text`, cut at the end with "..." so that it is at most `width` pixels wide. A number is left out whole. Where it is
/// drawn, its tool-tip has all of the text.
std::string ellipsize(const ImFont* font, std::string_view text, float width);
/// Draws `text` with its baseline at `baseline`, so that fonts of different sizes can stand on one line.
void draw_text(ImDrawList* list, const ImFont* font, float x, float baseline, ImU32 color,
               std::string_view text);
/// draw_text() that returns the x after the text.
float advance_text(ImDrawList* list, const ImFont* font, float x, float baseline, ImU32 color,
                   std::string_view text);
/// `color` over `background`, with `opacity` from 0 to 1, as an opaque colour.
ImU32 blend(ImU32 color, ImU32 background, float opacity);
/// The baseline of a row whose top is `top` and whose height is a frame's (ImGui::GetFrameHeight()).
float row_baseline(const Frame& frame, float top);

/// Text as an item, one frame high, on the baseline of buttons and combos in the same row.
void row_text(const Frame& frame, const ImFont* font, ImU32 color, std::string_view text);
/// Small muted text as an item: captions, units.
void caption(const Frame& frame, std::string_view text);
/// "412,000 images/s": the value in `numbers`, the unit small and muted; an item one frame high with a
/// tool-tip. `width` reserves room in pixels and aligns the value to its right, so that changing digits move
/// nothing; 0 fits.
void value_with_unit(const Frame& frame, std::string_view value, std::string_view unit, std::string_view tip,
                     float width = 0);
/// Goes on behind the last item, `gap` design pixels from it, if `width` pixels are left in the row; else in the next
/// row.
void next_in_row(const Frame& frame, float gap, float width);
/// Tool-tip of the last item, shown while it is hovered (disabled ones too), wrapped at a readable width.
void tooltip(const Frame& frame, std::string_view text);
/// Tool-tip of a rectangle of the current window that is not an item.
void area_tooltip(const Frame& frame, ImVec2 min, ImVec2 max, std::string_view text);
/// At the end of a frame: all of a cut text under the pointer, unless another tool-tip is shown.
void cut_text_tip(const Frame& frame);
/// A tool-tip beside the pointer, at once: for a point of a plot that the caller found under it.
void pointer_tip(const Frame& frame, std::string_view said);
/// Outlines the last item, which is being typed into.
void outline_typed(const Frame& frame);
/// A tool-tip of pictures at `place`, through which nothing shines, until end_picture_tip().
void begin_picture_tip(const Frame& frame, ImVec2 place);
void end_picture_tip();
/// A colour and what it stands for, and a figure of it.
struct ColorKey {
  ImU32 color = 0;
  std::string_view name;
  std::string_view figure = {};
};
/// They as an item, beside each other in as many rows as they need, each 18 design pixels high.
void color_keys(const Frame& frame, std::span<const ColorKey> keys);
/// One muted sentence in the middle of the room that is left: what an empty panel says.
void centered_text(const Frame& frame, std::string_view text);

// Panels --------------------------------------------------------------------------------------------

/// Starts the window of a panel at the position and size that was set for it; `floats`: it can be moved and resized.
/// Items that follow stand in the title row until panel_body(). Always pair with end_panel().
void begin_panel(const Frame& frame, const char* name, bool floats = false);
/// In the title row: the title of a panel that has its place for itself. Nothing where it is a tab of several.
void panel_title(const Frame& frame, const char* title);
/// Tabs of the panel's own, in place of its title; below the title row where the panel itself is a tab. `tabs` name
/// them, `*active` is the index of the chosen one. Tab i is traced as "<name>.<tabs[i]>"; those that do not fit are
/// behind more_tabs(). True when it changed.
bool panel_tabs(const Frame& frame, const char* name, std::span<const char* const> tabs, int* active);
/// One tab: a word, underlined in the accent colour where it is the active one. True when clicked.
bool title_tab(const Frame& frame, const char* name, const char* label, bool active);
/// A button "+3" that opens a list of the tabs that do not fit: `others` are indices into `tabs`. It is traced as
/// "<name>.more", entry i as "<name>.more.<tabs[i]>". The one that was chosen.
std::optional<std::size_t> more_tabs(const Frame& frame, const char* name, std::span<const char* const> tabs,
                                     std::span<const std::size_t> others);
/// The room between tabs: less where they, and a button at the end of the row, would not fit.
float tab_gap(const Frame& frame, std::span<const char* const> tabs);
/// Height in pixels of a title row with its line.
float title_height(const Frame& frame);
/// The x, counted from the window's left edge, up to which a panel may put items into its title row.
float title_end(const Frame& frame);
/// In the title row: moves the cursor so that `width` pixels remain up to title_end() (never left of where it is).
void align_title_right(const Frame& frame, float width);
/// Pixels left in the title row, less the room of one icon button at its end.
float title_room(const Frame& frame);
/// Moves the cursor so that `width` pixels remain to the right edge (never left of where it is).
void align_right(const Frame& frame, float width);
/// Ends the title row and starts the panel's body, a child region that fills what is left and scrolls if
/// `scrolls`.
void panel_body(const Frame& frame, bool scrolls = true);
/// What fills the rest of a body that scrolls: a region that is `least` design pixels high at least, so that the body
/// scrolls where less is left. Always pair with end_rest().
void begin_rest(const Frame& frame, float least);
void end_rest();
void end_panel();

// Controls ------------------------------------------------------------------------------------------

enum class Icon : std::uint8_t {
  play,
  pause,
  step,
  reset,
  close,
  help,
  camera,
  left,
  right,
  up,
  down,
  fit,
  follow,
  enlarge,
  shrink,
  sliders,
  record,
  not_recorded
};

/// Draws an icon centred in the rectangle.
void draw_icon(ImDrawList* list, Icon icon, ImVec2 min, ImVec2 max, ImU32 color);
/// A square button, one frame high. True when clicked.
bool icon_button(const Frame& frame, const char* name, Icon icon, std::string_view tip, bool enabled = true);
/// The tool-tip of the button that rewinds the training to a pinned step.
inline constexpr const char* kRewindTip =
    "Moves the training itself back to this step, weights and all, where it pauses: the step is computed "
    "again from the moment before it, and all views show it. What came after is kept as a branch, in Runs; "
    "Ctrl Z returns to it.";

/// The same of the button that computes it aside.
inline constexpr const char* kAsideTip =
    "Computes this step again from the moment before it, beside the training, which goes on: this view shows "
    "it, as do the other views of the network's inside. Esc lets it go.";

/// Width in pixels of a text_button().
float text_button_width(const Frame& frame, std::string_view label);
/// A button with a word.
bool text_button(const Frame& frame, const char* name, const char* label, std::string_view tip,
                 bool enabled = true);
/// Width in pixels of a toggle().
float toggle_width(const Frame& frame, std::string_view label);
/// A button that stays down: accented while `*value`. True when it changed.
bool toggle(const Frame& frame, const char* name, const char* label, bool* value, std::string_view tip);
/// Width in pixels of segmented() in one row.
float segmented_width(const Frame& frame, std::span<const char* const> labels);
/// Choices side by side, one of them active: "steps | time". Choice i is traced as "<name>.<labels[i]>". If it
/// `wraps`, those that the row has no room for stand in the next. True when `*value` changed.
bool segmented(const Frame& frame, const char* name, std::span<const char* const> labels, int* value,
               std::string_view tip, bool wraps = false);
/// next_in_row() and segmented() that wraps.
bool segmented_in_row(const Frame& frame, float gap, const char* name, std::span<const char* const> labels,
                      int* value, std::string_view tip);
/// Closes the list, menu or page that was opened last: of a list in a menu only the list. False if none is open.
bool close_last_popup();
/// A combo `width` pixels wide. True while it is open: then draw combo_item()s and call end_combo().
bool begin_combo(const Frame& frame, const char* name, const std::string& preview, float width,
                 std::string_view tip);
/// One choice, traced as `name`. `note` stands behind it, small and muted. A choice with a `refusal` (why it
/// cannot be taken) is disabled and shows the reason as its tool-tip. True when chosen.
bool combo_item(const Frame& frame, const char* name, const char* label, bool selected,
                std::string_view note = {}, std::string_view refusal = {});
void end_combo();
/// A bar `width` pixels wide, of which `part` (from 0 to 1) is done, as an item one frame high.
void progress_bar(const Frame& frame, const char* name, float width, float part);
/// A slider `width` pixels wide, with `text` (the value) at its right end, in the room of `widest`. True when it
/// changed.
bool slider(const Frame& frame, const char* name, float* value, float minimum, float maximum,
            const char* text, float width, std::string_view tip, bool logarithmic = false,
            std::string_view widest = "0.000");

/// What the trainer says in lower case, as a sentence: "the loss fell" becomes "The loss fell." A name at its
/// beginning keeps its letters: "relu.forward", "mine.cpp".
std::string sentence(std::string text);

/// From one line of a text of several lines to the next, in pixels.
float line_height(const ImFont* font);

/// `text` in lines at most `width` pixels wide; a word that is wider has a line of its own.
std::vector<std::string> wrap(const ImFont* font, std::string_view text, float width);

/// `text` with a break between two words wherever a line would be wider than `width` pixels; its own breaks stay. Dear
/// ImGui breaks behind commas and points as well, and so within "3,358".
std::string wrapped(const ImFont* font, std::string_view text, float width);

/// Height in pixels of the item that paragraph() makes of `text` where `width` pixels are left.
float paragraph_height(const ImFont* font, std::string_view text, float width);

/// The text as an item that takes the width that is left.
void paragraph(const ImFont* font, ImU32 color, std::string_view text);

}  // namespace warpscope::ui
