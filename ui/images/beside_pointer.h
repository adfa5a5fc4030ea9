#pragma once
// Where large tool-tips stand.

#include <imgui.h>

namespace warpscope::ui::images {

/// The top left corner at which a tool-tip of this size neither leaves the window nor, if there is any room
/// for that, covers the pointer. `scale` is Frame::scale.
ImVec2 beside_pointer(ImVec2 size, float scale);

/// The same, at which it does not cover what lies between `min` and `max`: below it, above it or beside it, near the
/// pointer. Where there is no room for that, beside_pointer().
ImVec2 beside_area(ImVec2 size, ImVec2 min, ImVec2 max, float scale);

}  // namespace warpscope::ui::images
