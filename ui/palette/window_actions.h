#pragma once
// What the window offers of itself: which panels are seen and how everything looks. Its menu and the palette list it.

#include <vector>

#include "ui/palette/actions.h"

namespace warpscope::ui {

/// In groups: "Panels", "Theme", "Size".
std::vector<Action> window_actions(const ActionScene& scene);

}  // namespace warpscope::ui
