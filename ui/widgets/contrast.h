#pragma once
// How well one colour can be told from another that it stands on.

#include <imgui.h>

namespace warpscope::ui {

/// Relative luminance of an opaque sRGB colour, from 0 (black) to 1 (white): W3C, "Web Content Accessibility
/// Guidelines 2.1", definition "relative luminance".
double relative_luminance(ImU32 color);

/// (L1 + 0.05) / (L2 + 0.05) of the luminances, the lighter one first: from 1 (the same) to 21 (black on white).
/// The same guidelines ask for 4.5 of text and for 3 of lines and marks.
double contrast(ImU32 a, ImU32 b);

/// The one of `first` and `second` that can be read better on `back`.
ImU32 readable_on(ImU32 back, ImU32 first, ImU32 second);

}  // namespace warpscope::ui
