#pragma once
// What the window offers of itself: which panels are seen and how everything looks. Its menu and the palette list it.

#include <string_view>
#include <vector>

#include "ui/palette/actions.h"

namespace warpscope::ui {

/// In groups: "Training", "Layout", "Theme", "Size", "Panels", "Help".
std::vector<Action> window_actions(const ActionScene& scene);

/// What else can be done with panels and layouts: close, float, save, delete.
std::vector<Action> arranging_actions(const ActionScene& scene);

/// Explains each term (ui/text/terms.h).
std::vector<Action> term_actions(const ActionScene& scene);

/// "save layout NAME"; nothing if `query` is something else.
std::vector<Action> typed_layout(std::string_view query, const ActionScene& scene);

}  // namespace warpscope::ui
