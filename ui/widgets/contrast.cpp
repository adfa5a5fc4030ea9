#include "ui/widgets/contrast.h"

#include <algorithm>
#include <cmath>

namespace warpscope::ui {
namespace {

double linear(ImU32 color, int shift) {
  const double value = static_cast<double>((color >> static_cast<unsigned>(shift)) & 255U) / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

}  // namespace

double relative_luminance(ImU32 color) {
  return 0.2126 * linear(color, IM_COL32_R_SHIFT) + 0.7152 * linear(color, IM_COL32_G_SHIFT) +
         0.0722 * linear(color, IM_COL32_B_SHIFT);
}

double contrast(ImU32 a, ImU32 b) {
  const auto [darker, lighter] = std::minmax({relative_luminance(a), relative_luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

ImU32 readable_on(ImU32 back, ImU32 first, ImU32 second) {
  return contrast(first, back) >= contrast(second, back) ? first : second;
}

}  // namespace warpscope::ui
