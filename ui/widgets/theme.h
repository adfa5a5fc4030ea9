#pragma once
// The look: colours, spacing and rounding.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <imgui.h>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// Those that are colour-blind safe differ in more than hue, so that nothing is lost with any kind of colour blindness.
enum class Theme : std::uint8_t { dark, light, dark_safe, light_safe };

struct ThemeRow {
  const char* id;     ///< "dark": in the settings file
  const char* title;  ///< "Dark": in menus
  Palette palette;
};

/// In the order of Theme. Data series are the palette of M. Okabe and K. Ito, "Color Universal Design" (2008),
/// darker on white. In all of them text has a contrast of at least 4.5 to 1 with what it stands on, and lines at
/// least 3 to 1.
std::span<const ThemeRow> themes();

const ThemeRow& facts_of(Theme theme);
/// Nothing if no theme is called so.
std::optional<Theme> theme_called(std::string_view id);

/// Sets ImGui's colours, and its sizes for `scale` pixels per design pixel.
void apply_theme(const Palette& palette, float scale);

/// Relative luminance of an opaque sRGB colour, from 0 (black) to 1 (white): W3C, "Web Content Accessibility
/// Guidelines 2.1", definition "relative luminance".
double relative_luminance(ImU32 color);

/// (L1 + 0.05) / (L2 + 0.05) of the luminances, the lighter one first: from 1 (the same) to 21 (black on white).
/// The same guidelines ask for 4.5 of text and for 3 of lines and marks.
double contrast(ImU32 a, ImU32 b);

/// The one of `first` and `second` that can be read better on `back`.
ImU32 readable_on(ImU32 back, ImU32 first, ImU32 second);

}  // namespace warpscope::ui
