#include "ui/plot/view.h"

#include <algorithm>
#include <cmath>

namespace warpscope::ui::plot {
namespace {

// The right edge counts as being at the newest point if it is this near, in parts of the view.
constexpr double kFollowReach = 0.005;

// Along the axis: equal distances of these take equal room.
double along(const View& view, double x) {
  return view.log_x ? std::log(x) : x;
}
double back(const View& view, double distance) {
  return view.log_x ? std::exp(distance) : distance;
}
double width_of(const View& view) {
  return along(view, view.x1) - along(view, view.x0);
}

bool reaches(const View& view, double last) {
  return along(view, view.x1) >= along(view, last) - kFollowReach * width_of(view);
}

}  // namespace

void fit(View& view) {
  view.fit_x = true;
  view.follow = true;
  view.fit_y = true;
}

void set_log_x(View& view, bool logarithmic) {
  if (view.log_x == logarithmic) return;
  view.log_x = logarithmic;
  fit(view);
}

void link_x(const View& from, View& to) {
  to.fit_x = from.fit_x;
  to.follow = from.follow;
  to.log_x = from.log_x;
  to.x0 = from.x0;
  to.x1 = from.x1;
}

void track_x(View& view, double first, double last) {
  if (view.log_x && view.x0 <= 0) view.fit_x = true;
  if (view.fit_x) {
    view.x0 = first;
    view.x1 = last > first ? last : view.log_x ? 2 * first : first + 1;
  } else if (view.follow) {
    const double width = width_of(view);
    view.x1 = last;
    view.x0 = back(view, along(view, last) - width);
    if (view.x0 >= first) return;
    // A training that went back is shorter than the view, which has its room for what comes.
    view.x0 = first;
    view.x1 = back(view, along(view, first) + width);
  }
}

void track_y(View& view, Extent extent, bool logarithmic) {
  if (logarithmic && view.y0 <= 0) view.fit_y = true;
  if (!view.fit_y || extent.empty()) return;
  double low = static_cast<double>(extent.low), high = static_cast<double>(extent.high);
  if (logarithmic) {
    if (high <= 0) return;
    if (low <= 0) low = std::min(static_cast<double>(extent.least_positive), high * 1e-4);
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
  const double middle = along(view, center), width = width_of(view);
  // Below this the labels could not tell the ticks apart.
  const double narrowest =
      view.log_x ? 1e-6 : std::max(1e-9 * std::max(std::abs(first), std::abs(last)), 1e-7 * (last - first));
  factor = std::max(factor, narrowest / width);
  const double left = middle + (along(view, view.x0) - middle) * factor;
  const double right = middle + (along(view, view.x1) - middle) * factor;
  view.fit_x = left <= along(view, first) && right >= along(view, last);
  view.x0 = back(view, left);
  view.x1 = back(view, right);
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

void pan_x(View& view, double from, double to, double first, double last) {
  const double width = width_of(view), distance = along(view, from) - along(view, to);
  const double begin = along(view, first), end = std::max(begin, along(view, last));
  const double moved = std::clamp(along(view, view.x0) + distance, begin - 0.5 * width, end - 0.5 * width);
  view.fit_x = false;
  view.x0 = back(view, moved);
  view.x1 = back(view, moved + width);
  view.follow = distance > 0 && reaches(view, last);
}

bool is_at(const View& view, double x) {
  return std::abs(along(view, view.x1) - along(view, x)) <= kFollowReach * width_of(view);
}

void show_x(View& view, double xa, double xb, double last) {
  if (xa == xb) return;
  view.fit_x = false;
  view.fit_y = true;
  view.x0 = std::min(xa, xb);
  view.x1 = std::max(xa, xb);
  view.follow = view.x1 >= last;
}

void show_y(View& view, double ya, double yb) {
  if (ya == yb) return;
  view.fit_y = false;
  view.y0 = std::min(ya, yb);
  view.y1 = std::max(ya, yb);
}

}  // namespace warpscope::ui::plot
