#pragma once
// The tool-tip over an image: all its rows enlarged, and their values under the pointer.

#include "ui/frame/frame.h"
#include "ui/images/grid_layout.h"
#include "ui/panels/pictures/picture_desk.h"

namespace warpscope::ui {

/// Seconds: the magnifier covers much, so it waits until the pointer stays, and then follows it at once.
inline constexpr double kMagnifierDelay = 0.3;

/// Shows the tool-tip for the pixel `hit` of an image of the batch.
void picture_magnifier(const Frame& frame, const PictureScene& scene, const images::GridHit& hit);

/// Shows only the values, beside the pictures between `min` and `max`, which are enlarged already.
void picture_values(const Frame& frame, const PictureScene& scene, const images::GridHit& hit, ImVec2 min,
                    ImVec2 max);

}  // namespace warpscope::ui
