#include "ui/plot/read_out.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ui/widgets/widgets.h"

namespace warpscope::ui::plot {
namespace {

struct Row {
  std::string name;
  ImU32 color;
  std::string value;
  float distance = 0;    // of the point from `beside`, in pixels
  bool nearest = false;  // of all, and near
};

// Large numbers with thousands, as everywhere.
std::string value_of(double value) {
  return std::abs(value) >= 1000 && std::abs(value) < 1e9 ? with_thousands(value)
                                                          : value_text(value, Unit::value);
}

// No more rows than the plot has room for: those nearest to the pointer, in their order. Marks the nearest.
void limit_rows(std::vector<Row>& rows, std::size_t most, float reach) {
  std::vector<float> distances;
  for (const Row& row : rows) distances.push_back(row.distance);
  std::sort(distances.begin(), distances.end());
  if (rows.size() > 2 && distances.front() < reach) {
    for (Row& row : rows) row.nearest = row.distance == distances.front();
  }
  if (rows.size() <= most) return;
  const float limit = distances[most - 1];
  std::erase_if(rows, [limit](const Row& row) { return row.distance > limit; });
  rows.resize(std::min(rows.size(), most));
}

struct BoxSize {
  float width = 0, height = 0;
};

BoxSize box_size(const Frame& frame, const std::string& head, const std::vector<Row>& rows) {
  const float s = frame.scale;
  float name = 0, value = 0;
  for (const Row& row : rows) {
    name = std::max(name, text_width(frame.fonts.text, row.name));
    value = std::max(value, text_width(frame.fonts.numbers, row.value));
  }
  const float heads = head.empty() ? 0 : 1;
  return {std::max(text_width(frame.fonts.small, head), 16 * s + name + 16 * s + value) + 16 * s,
          18 * s * (static_cast<float>(rows.size()) + heads) + 12 * s};
}

void draw_box(const Frame& frame, const Room& room, const std::string& head, const std::vector<Row>& rows,
              float at, float beside) {
  const float s = frame.scale, row_height = 18 * s, pad = 8 * s;
  const BoxSize size = box_size(frame, head, rows);
  float left = at + 12 * s;
  if (left + size.width > room.right) left = at - 12 * s - size.width;
  left = std::max(left, room.left);
  const float top =
      std::clamp(beside - size.height - 8 * s, room.top, std::max(room.top, room.bottom - size.height));
  const ImVec2 min(left, top), max(left + size.width, top + size.height);
  auto* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(min, max, ImGui::GetColorU32(ImGuiCol_PopupBg), 4 * s);
  list->AddRect(min, max, ImGui::GetColorU32(ImGuiCol_Border), 4 * s);
  float baseline = top + pad - row_height + 10 * s;
  if (!head.empty()) {
    baseline += row_height;
    draw_text(list, frame.fonts.small, left + pad, baseline, frame.palette.muted, head);
  }
  for (const Row& row : rows) {
    baseline += row_height;
    const float middle = std::floor(baseline - 5 * s);
    if (row.nearest) {
      list->AddRectFilled(ImVec2(left + pad / 2, middle - row_height / 2 + s),
                          ImVec2(max.x - pad / 2, middle + row_height / 2 + s),
                          ImGui::GetColorU32(ImGuiCol_HeaderHovered), 3 * s);
    }
    list->AddRectFilled(ImVec2(left + pad, middle), ImVec2(left + pad + 10 * s, middle + 2 * s), row.color);
    draw_text(list, frame.fonts.text, left + pad + 16 * s, baseline, frame.palette.text, row.name);
    draw_text(list, frame.fonts.numbers, max.x - pad - text_width(frame.fonts.numbers, row.value), baseline,
              frame.palette.text, row.value);
  }
}

// Marks the line's point at `at` and adds what it reads there.
void read_line(const Frame& frame, const Line& line, const Room& room, const Axis& x, const Axis& y,
               double at, float beside, std::vector<Row>& rows) {
  auto* const list = ImGui::GetWindowDrawList();
  const std::size_t i = line.series->nearest(at);
  const double value = static_cast<double>(line.series->y(i));
  // A point of a sparse series stands for its surroundings; a lone mark only for itself.
  if (line.alone && std::abs(x.to_pixel(line.series->x(i)) - x.to_pixel(at)) > 3 * frame.scale) return;
  const ImVec2 point(x.to_pixel(line.series->x(i)), y.to_pixel(value));
  if (y.shows(value) && room.in_area(point)) {
    list->AddCircleFilled(point, 4 * frame.scale, frame.palette.panel, 16);
    list->AddCircleFilled(point, 3 * frame.scale, line.color, 16);
  }
  const std::string name = ellipsize(frame.fonts.text, line.name, 240 * frame.scale);
  rows.push_back({name, line.color, value_of(value), std::abs(point.y - beside), false});
  if (line.beneath == nullptr || line.beneath->empty()) return;
  const auto raw = static_cast<double>(line.beneath->y(line.beneath->nearest(at)));
  rows.push_back({line.beneath_name, blend(line.color, frame.palette.panel, 0.45f), value_of(raw),
                  std::abs(y.to_pixel(raw) - beside), false});
}

}  // namespace

std::optional<double> nearest_point(const Content& content, double wanted) {
  const Line* densest = nullptr;
  for (const bool thin : {false, true}) {
    // Earlier runs lead only where nothing else is.
    if (thin && densest != nullptr && wanted <= content.newest) break;
    for (const Line& line : content.lines) {
      if (line.series->empty() || line.thin != thin || line.alone) continue;
      if (densest == nullptr || line.series->size() > densest->series->size()) densest = &line;
    }
  }
  if (densest == nullptr) return {};
  return densest->series->x(densest->series->nearest(wanted));
}

void draw_read_out(const Frame& frame, const Content& content, const Room& room, const Axis& x, const Axis& y,
                   double at, const std::string& head, float beside) {
  const float pixel = std::floor(x.to_pixel(at));
  if (pixel < room.left || pixel > room.right) return;
  ImGui::GetWindowDrawList()->AddRectFilled(
      ImVec2(pixel, room.top), ImVec2(pixel + hairline(frame), room.bottom), frame.palette.muted);
  std::vector<Row> rows;
  for (const Line& line : content.lines) {
    if (!line.series->empty() && at <= line.end) read_line(frame, line, room, x, y, at, beside, rows);
  }
  const float row_height = 18 * frame.scale, room_height = (room.bottom - room.top) / row_height;
  const std::size_t least = head.empty() ? 1 : 3;
  limit_rows(rows, std::max(least, static_cast<std::size_t>(std::max(0.0f, room_height - 2))), row_height);
  if (!rows.empty() || !head.empty()) draw_box(frame, room, head, rows, x.to_pixel(at), beside);
}

}  // namespace warpscope::ui::plot
