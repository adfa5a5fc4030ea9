#pragma once
// The tool-tip over an image: original, reconstruction and difference enlarged, and the values under the
// pointer.

#include "ui/frame.h"
#include "ui/images/grid_layout.h"
#include "ui/interop/image_view.h"

namespace warpscope::ui::images {

/// Shows the tool-tip for the image pixel `hit`. `density` is framebuffer pixels per pixel of the window.
void magnifier(const Frame& frame, interop::ImageView& view, const GridHit& hit, const Conversion& conversion,
               float density);

}  // namespace warpscope::ui::images
