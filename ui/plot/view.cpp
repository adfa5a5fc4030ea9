#include "ui/plot/view.h"

#include <algorithm>
#include <cmath>

namespace warpscope::ui::plot {
namespace {

// The right edge counts as being at the newest point if it is this near, in parts of the view.
constexpr double kFollowReach = 0.005;

bool reaches(const View& view, double last) {
  return view.x1 >= last - kFollowReach * (view.x1 - view.x0);
}

}  // namespace

void fit(View& view) {
  view.fit_x = true;
  view.follow = true;
  view.fit_y = true;
}

void track_x(View& view, double first, double last) {
  if (view.fit_x) {
    view.x0 = first;
    view.x1 = last > first ? last : first + 1;
  } else if (view.follow) {
    const double width = view.x1 - view.x0;
    view.x1 = last;
    view.x0 = last - width;
  }
}

void track_y(View& view, Extent extent, bool logarithmic) {
  if (logarithmic && view.y0 <= 0) view.fit_y = true;
  if (!view.fit_y || extent.empty()) return;
  double low = static_cast<double>(extent.low), high = static_cast<double>(extent.high);
  if (logarithmic) {
    if (high <= 0) return;
    if (low <= 0) low = high * 1e-4;
    const double air = high > low ? std::pow(high / low, 0.06) : 1.2;
    view.y0 = low / air;
    view.y1 = high * air;
    return;
  }
  const double air = high > low ? 0.06 * (high - low) : std::max(0.1 * std::abs(high), 1e-6);
  view.y0 = low - air;
  view.y1 = high + air;
}

void zoom_x(View& view, double center, double factor, double first, double last) {
  const double width = view.x1 - view.x0;
  // Below this the labels could not tell the ticks apart.
  const double narrowest = std::max(1e-9 * std::max(std::abs(first), std::abs(last)), 1e-7 * (last - first));
  factor = std::max(factor, narrowest / width);
  view.x0 = center + (view.x0 - center) * factor;
  view.x1 = center + (view.x1 - center) * factor;
  view.fit_x = view.x0 <= first && view.x1 >= last;
  view.follow = view.fit_x || reaches(view, last);
}

void zoom_y(View& view, double center, double factor, bool logarithmic) {
  view.fit_y = false;
  if (logarithmic) {
    view.y0 = center * std::pow(view.y0 / center, factor);
    view.y1 = center * std::pow(view.y1 / center, factor);
  } else {
    view.y0 = center + (view.y0 - center) * factor;
    view.y1 = center + (view.y1 - center) * factor;
  }
}

void pan_x(View& view, double distance, double first, double last) {
  const double width = view.x1 - view.x0;
  const double moved =
      std::clamp(view.x0 + distance, first - 0.5 * width, std::max(first, last) - 0.5 * width);
  view.fit_x = false;
  view.x0 = moved;
  view.x1 = moved + width;
  view.follow = distance > 0 && reaches(view, last);
}

bool is_at(const View& view, double x) {
  return std::abs(view.x1 - x) <= kFollowReach * (view.x1 - view.x0);
}

void show_box(View& view, double xa, double xb, double ya, double yb, double last) {
  if (xa == xb || ya == yb) return;
  view.fit_x = false;
  view.fit_y = false;
  view.x0 = std::min(xa, xb);
  view.x1 = std::max(xa, xb);
  view.y0 = std::min(ya, yb);
  view.y1 = std::max(ya, yb);
  view.follow = view.x1 >= last;
}

}  // namespace warpscope::ui::plot
