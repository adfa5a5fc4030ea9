#include "ui/plot/roofline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "ui/plot/draw_curve.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui::plot {
namespace {

constexpr double kAir = 1.8;  // a factor

struct Planes {
  Axis x, y;  // of FLOP/byte and FLOP/s
  LabelBox area;
};

Planes arrange(const Frame& frame, ImVec2 min, ImVec2 max, const Roofline& roofline) {
  const float s = frame.scale;
  const RooflineRange range = roofline_range(roofline);
  const LabelBox area{ImVec2(std::floor(min.x + 52 * s), std::floor(min.y + 22 * s)),
                      ImVec2(std::floor(max.x - 8 * s), std::floor(max.y - 22 * s))};
  return {{range.low_intensity, range.high_intensity, area.min.x, area.max.x, true},
          // Above the highest ceiling stands its name.
          {range.low_rate, range.high_rate, area.max.y, std::floor(area.min.y + 12 * s), true},
          area};
}

void draw_axes(const Frame& frame, const Roofline& roofline, const Planes& planes) {
  const float s = frame.scale;
  auto* const list = ImGui::GetWindowDrawList();
  const ImFont* const font = frame.fonts.small;
  const LabelBox& area = planes.area;
  Axis y = planes.y;
  y.low /= roofline.unit_rate;
  y.high /= roofline.unit_rate;
  const int rows = std::max(2, static_cast<int>((area.max.y - area.min.y) / (44 * s)));
  draw_y_grid(frame, ticks(y, rows, Unit::value), y, area.min.x, area.max.x, 8 * s);
  const float name = text_width(font, "FLOP/byte");
  const int columns = std::max(2, static_cast<int>((area.max.x - area.min.x) / (56 * s)));
  for (const Tick& tick : ticks(planes.x, columns, Unit::value)) {
    const float pixel = std::floor(planes.x.to_pixel(tick.value)), width = text_width(font, tick.label);
    list->AddRectFilled(ImVec2(pixel, area.min.y), ImVec2(pixel + hairline(frame), area.max.y),
                        frame.palette.grid);
    if (pixel + width / 2 > area.max.x - name - 8 * s) continue;  // the axis's name stands there
    draw_text(list, font, pixel - width / 2, area.max.y + 16 * s, frame.palette.muted, tick.label);
  }
  draw_text(list, font, area.max.x - name, area.max.y + 16 * s, frame.palette.muted, "FLOP/byte");
  draw_text(list, font, area.min.x - 44 * s, area.min.y - 10 * s, frame.palette.muted, roofline.unit);
}

std::string rate_text(double rate) {
  return with_thousands(rate, rate < 10 ? 2 : rate < 100 ? 1 : 0);
}

// Moves a name to the left along its ceiling, which begins at `bend`, until it covers none of the points; where there
// is no such place it stays.
LabelBox beside_points(const LabelBox& name, float bend, std::span<const ImVec2> points, float radius) {
  const auto covers = [&](const LabelBox& box) {
    return std::any_of(points.begin(), points.end(), [&](ImVec2 at) {
      return box.meets({ImVec2(at.x - radius, at.y - radius), ImVec2(at.x + radius, at.y + radius)});
    });
  };
  LabelBox box = name;
  while (covers(box) && box.min.x - radius >= bend) {
    box.min.x -= radius;
    box.max.x -= radius;
  }
  return covers(box) ? name : box;
}

// The names of ceilings above the highest of each set that lies close together. Returns where they stand.
std::vector<LabelBox> name_ceilings(const Frame& frame, const Roofline& roofline, const Planes& planes,
                                    std::span<const ImVec2> points, float radius) {
  const float s = frame.scale;
  std::vector<float> pixels;
  for (const Ceiling& ceiling : roofline.ceilings) pixels.push_back(planes.y.to_pixel(ceiling.rate));
  std::vector<LabelBox> occupied;
  for (const auto& group : group_ceilings(pixels, 15 * s)) {
    std::string text;
    for (const std::size_t i : group) {
      const Ceiling& ceiling = roofline.ceilings[i];
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", ceiling.label,
                          rate_text(ceiling.rate / roofline.unit_rate));
    }
    const float y = pixels[group.front()];
    const double highest = roofline.ceilings[group.front()].rate;
    const double bend = roofline.bytes > 0 ? highest / roofline.bytes : planes.x.low;
    const LabelBox at_end{ImVec2(planes.area.max.x - text_width(frame.fonts.small, text) - 4 * s, y - 16 * s),
                          ImVec2(planes.area.max.x - 2 * s, y - s)};
    const float left = std::max(planes.area.min.x, planes.x.to_pixel(bend));
    const LabelBox box = beside_points(at_end, left, points, radius);
    draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, box.min.x, y - 4 * s, frame.palette.text, text);
    occupied.push_back(box);
  }
  return occupied;
}

// The slope of the memory up to the highest ceiling, and each ceiling from where it meets the slope.
void draw_roofs(const Frame& frame, const Roofline& roofline, const Planes& planes) {
  auto* const list = ImGui::GetWindowDrawList();
  const ImU32 color = blend(frame.palette.text, frame.palette.panel, 0.6f);
  const float thick = std::max(1.0f, 1.4f * frame.scale);
  double highest = 0;
  list->PushClipRect(planes.area.min, planes.area.max, true);
  for (const Ceiling& ceiling : roofline.ceilings) {
    highest = std::max(highest, ceiling.rate);
    const double bend = roofline.bytes > 0 ? ceiling.rate / roofline.bytes : planes.x.low;
    const float y = planes.y.to_pixel(ceiling.rate);
    list->AddLine(ImVec2(std::max(planes.area.min.x, planes.x.to_pixel(bend)), y),
                  ImVec2(planes.area.max.x, y), color, thick);
  }
  if (roofline.bytes > 0 && highest > 0) {
    const double bend = highest / roofline.bytes;
    list->AddLine(ImVec2(planes.x.to_pixel(planes.x.low), planes.y.to_pixel(planes.x.low * roofline.bytes)),
                  ImVec2(planes.x.to_pixel(bend), planes.y.to_pixel(highest)), color, thick);
  }
  list->PopClipRect();
}

// The point nearest to the pointer if it is under it; -1 otherwise.
int point_under(ImVec2 pointer, std::span<const ImVec2> points, float reach) {
  int found = -1;
  float best = reach * reach;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const float dx = points[i].x - pointer.x, dy = points[i].y - pointer.y;
    if (dx * dx + dy * dy > best) continue;
    best = dx * dx + dy * dy;
    found = static_cast<int>(i);
  }
  return found;
}

void draw_labels(const Frame& frame, const Roofline& roofline, std::span<const ImVec2> points, float radius,
                 const Planes& planes, std::vector<LabelBox> occupied) {
  std::vector<ImVec2> sizes;
  for (const RooflinePoint& point : roofline.points) {
    sizes.emplace_back(text_width(frame.fonts.small, point.label), std::floor(15 * frame.scale));
  }
  const auto boxes = place_labels(points, sizes, radius + 3 * frame.scale, planes.area, std::move(occupied));
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (boxes[i].empty()) continue;
    draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, boxes[i].min.x, boxes[i].max.y - 4 * frame.scale,
              blend(frame.palette.text, frame.palette.panel, 0.8f), roofline.points[i].label);
  }
}

}  // namespace

void draw_point(const Frame& frame, ImVec2 at, ImU32 color, PointShape shape, float radius) {
  auto* const list = ImGui::GetWindowDrawList();
  const ImU32 rim = frame.palette.panel;
  const float r = radius, rim_width = std::max(1.0f, frame.scale);
  switch (shape) {
    case PointShape::circle:
      list->AddCircleFilled(at, r, color, 16);
      list->AddCircle(at, r + rim_width / 2, rim, 16, rim_width);
      break;
    case PointShape::diamond: {
      const float d = 1.25f * r;
      list->AddQuadFilled(ImVec2(at.x, at.y - d), ImVec2(at.x + d, at.y), ImVec2(at.x, at.y + d),
                          ImVec2(at.x - d, at.y), color);
      list->AddQuad(ImVec2(at.x, at.y - d), ImVec2(at.x + d, at.y), ImVec2(at.x, at.y + d),
                    ImVec2(at.x - d, at.y), rim, rim_width);
      break;
    }
    case PointShape::triangle: {
      const ImVec2 a(at.x, at.y - 1.2f * r), b(at.x + 1.1f * r, at.y + 0.8f * r),
          c(at.x - 1.1f * r, at.y + 0.8f * r);
      list->AddTriangleFilled(a, b, c, color);
      list->AddTriangle(a, b, c, rim, rim_width);
      break;
    }
    case PointShape::square: {
      const float q = 0.9f * r;
      const ImVec2 a(at.x - q, at.y - q), b(at.x + q, at.y + q);
      list->AddRectFilled(a, b, color);
      list->AddRect(a, b, rim, 0, 0, rim_width);
      break;
    }
  }
}

double roof(double intensity, double peak, double bytes) {
  return bytes > 0 ? std::min(peak, intensity * bytes) : peak;
}

RooflineRange roofline_range(const Roofline& roofline) {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  const auto include = [](double value, double& low, double& high) {
    low = low > 0 ? std::min(low, value) : value;
    high = std::max(high, value);
  };
  for (const RooflinePoint& point : roofline.points) {
    include(point.intensity, x0, x1);
    include(point.rate, y0, y1);
  }
  for (const Ceiling& ceiling : roofline.ceilings) {
    include(ceiling.rate, y0, y1);
    if (roofline.bytes > 0) include(ceiling.rate / roofline.bytes, x0, x1);
  }
  if (!(x1 > 0) || !(y1 > 0)) return {};
  return {x0 / kAir, x1 * kAir, y0 / kAir, y1 * kAir};
}

std::vector<LabelBox> place_labels(std::span<const ImVec2> points, std::span<const ImVec2> sizes,
                                   float radius, const LabelBox& room, std::vector<LabelBox> occupied) {
  std::vector<LabelBox> placed(points.size());
  for (const ImVec2& point : points) {
    occupied.push_back(
        {ImVec2(point.x - radius, point.y - radius), ImVec2(point.x + radius, point.y + radius)});
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ImVec2 at = points[i], size = sizes[i];
    const ImVec2 corners[] = {
        ImVec2(at.x + radius, at.y - size.y / 2), ImVec2(at.x - radius - size.x, at.y - size.y / 2),
        ImVec2(at.x - size.x / 2, at.y - radius - size.y), ImVec2(at.x - size.x / 2, at.y + radius)};
    for (const ImVec2& corner : corners) {
      const LabelBox box{corner, ImVec2(corner.x + size.x, corner.y + size.y)};
      const bool inside = box.min.x >= room.min.x && box.max.x <= room.max.x && box.min.y >= room.min.y &&
                          box.max.y <= room.max.y;
      const bool free = std::none_of(occupied.begin(), occupied.end(),
                                     [&](const LabelBox& other) { return other.meets(box); });
      if (!inside || !free) continue;
      placed[i] = box;
      occupied.push_back(box);
      break;
    }
  }
  return placed;
}

std::vector<std::vector<std::size_t>> group_ceilings(std::span<const float> pixels, float reach) {
  std::vector<std::size_t> order(pixels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pixels[a] < pixels[b]; });
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t i : order) {
    // A set's name stands above its highest ceiling, so the next set must leave that much room below the one
    // before.
    if (groups.empty() || pixels[i] - pixels[groups.back().back()] >= reach) groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

void draw(const Frame& frame, const char* name, ImVec2 size, const Roofline& roofline) {
  size = ImVec2(std::max(size.x, 64.0f), std::max(size.y, 48.0f));
  const ImVec2 min = ImGui::GetCursorScreenPos();
  hit_area(name, size);
  trace_item(name);
  const bool hovered = ImGui::IsItemHovered();
  if (roofline.points.empty() && roofline.ceilings.empty()) {
    ImGui::SetCursorScreenPos(min);
    centered_text(frame, roofline.empty_text);
    return;
  }
  const Planes planes = arrange(frame, min, ImVec2(min.x + size.x, min.y + size.y), roofline);
  draw_axes(frame, roofline, planes);
  draw_roofs(frame, roofline, planes);
  const float radius = 4.5f * frame.scale;
  std::vector<ImVec2> points;
  for (const RooflinePoint& point : roofline.points) {
    points.emplace_back(planes.x.to_pixel(point.intensity), planes.y.to_pixel(point.rate));
  }
  draw_labels(frame, roofline, points, radius, planes,
              name_ceilings(frame, roofline, planes, points, radius));
  for (std::size_t i = 0; i < points.size(); ++i)
    draw_point(frame, points[i], roofline.points[i].color, roofline.points[i].shape, radius);
  const int under = hovered ? point_under(ImGui::GetIO().MousePos, points, 2.5f * radius) : -1;
  if (under < 0) return;
  const auto index = static_cast<std::size_t>(under);
  draw_point(frame, points[index], roofline.points[index].color, roofline.points[index].shape, 1.5f * radius);
  pointer_tip(frame, roofline.points[index].tip);
}

}  // namespace warpscope::ui::plot
