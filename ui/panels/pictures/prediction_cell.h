#pragma once
// One image of the prediction grid: its caption, its outline, and the tool-tip that enlarges it.

#include "ui/frame/frame.h"
#include "ui/interop/texture.h"
#include "ui/panels/pictures/held_out.h"

namespace warpscope::ui {

/// Height in pixels of what draw_prediction() writes.
float prediction_height(const Frame& frame);
/// Width in pixels that it needs to be read, whatever the names.
float prediction_least_width(const Frame& frame);

/// Writes truth and loss, and below them the prediction with a sign that says whether it is right, `width`
/// pixels wide. Right ones are quiet.
void draw_prediction(const Frame& frame, const HeldOut& held_out, int image, ImVec2 at, float width);

/// Shows the tool-tip of an image, enlarged from `tile` of the page, with everything that is known of it.
/// `density` is framebuffer pixels per pixel of the window.
void magnify_prediction(const Frame& frame, const HeldOut& held_out, int image, const interop::TilePage& page,
                        int tile);

}  // namespace warpscope::ui
