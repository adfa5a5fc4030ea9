#pragma once
// Texts that do not fit their place. What ellipsize() has cut is kept for this frame and the next, so that wherever it
// is drawn its tool-tip has all of it; what the edge of a panel cuts without a sign is told to the trace.

#include <string>
#include <string_view>

#include <imgui.h>

namespace warpscope::ui {

/// `shown` stands for `whole`, of which it is the beginning.
void note_cut(std::string_view shown, std::string_view whole);
/// `shown` is drawn between `min` and `max` in the current window. Text that sticks out of what `list` clips to, where
/// nothing scrolls, is traced once: {"event":"clipped","text":..,"x":..,"y":..,"w":..,"h":..}.
void note_drawn(const ImDrawList* list, ImVec2 min, ImVec2 max, std::string_view shown);

struct CutText {
  std::string whole;
  ImVec2 min, max;
};
/// The cut text under the pointer, within the rectangle; nullptr if there is none. Valid in this frame.
const CutText* pointed_cut_text(ImVec2 min, ImVec2 max);

/// `kept`, the beginning of a text that goes on with `rest`, without a number that the cut would make another one:
/// "step " of "step 4" and "48".
std::string_view without_cut_number(std::string_view kept, std::string_view rest);

}  // namespace warpscope::ui
