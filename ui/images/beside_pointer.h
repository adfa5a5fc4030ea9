#pragma once
// Where large tool-tips stand.

#include <imgui.h>

namespace warpscope::ui::images {

/// The top left corner at which a tool-tip of this size neither leaves the window nor, if there is any room
/// for that, covers the pointer. `scale` is Frame::scale.
ImVec2 beside_pointer(ImVec2 size, float scale);

}  // namespace warpscope::ui::images
