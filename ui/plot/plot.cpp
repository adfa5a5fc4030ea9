#include "ui/plot/plot.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "ui/plot/draw_curve.h"
#include "ui/widgets.h"

namespace warpscope::ui::plot {
namespace {

struct Span {
  double first = 0;
  double last = 0;
};

// The room of the plot: the whole item, and the area of the curves within it.
struct Room {
  ImVec2 min, max;
  float left = 0, right = 0, top = 0, bottom = 0;

  bool in_area(ImVec2 p) const { return p.x >= left && p.x < right && p.y >= top && p.y < bottom; }
  bool on_y_axis(ImVec2 p) const { return p.x >= min.x && p.x < left && p.y >= top && p.y < bottom; }
};

std::optional<Span> span_of(const Content& content) {
  std::optional<Span> span;
  for (const Line& line : content.lines) {
    if (line.series->empty()) continue;
    const double first = line.series->x(0), last = line.series->x(line.series->size() - 1);
    if (!span) span = Span{first, last};
    span->first = std::min(span->first, first);
    span->last = std::max(span->last, last);
  }
  // What was changed before the first step belongs to the picture too.
  if (span && !content.markers.empty()) span->first = std::min(span->first, content.markers.front().x);
  return span;
}

Extent visible_extent(const Content& content, const View& view) {
  Extent extent;
  const auto include = [&](const Series& series) {
    const std::size_t first = series.lower_bound(view.x0), last = series.lower_bound(view.x1);
    extent.include(series.extent(first, std::min(series.size(), last + 1)));
  };
  for (const Line& line : content.lines) {
    include(*line.series);
    if (line.beneath != nullptr) include(*line.beneath);
  }
  return extent;
}

int wanted_y_ticks(const Frame& frame, const Room& room) {
  return std::max(2, static_cast<int>((room.bottom - room.top) / (36 * frame.scale)));
}

// `view` is the one of the frame before: its labels tell how wide those of this frame will be.
Room arrange(const Frame& frame, ImVec2 min, ImVec2 max, const Content& content, const View& view) {
  const float s = frame.scale;
  Room room{min, max};
  room.right = std::floor(max.x - 8 * s);
  room.top = std::floor(min.y + 8 * s + (content.markers.empty() ? 0 : flag_height(frame) - 4 * s));
  room.bottom = std::floor(max.y - 22 * s);
  float label = 36 * s;
  const Axis y{view.y0, view.y1, room.bottom, room.top, content.logarithmic && view.y0 > 0};
  for (const Tick& tick : ticks(y, wanted_y_ticks(frame, room), Unit::value)) {
    label = std::max(label, text_width(frame.fonts.small, tick.label));
  }
  room.left = std::floor(min.x + label + 12 * s);
  return room;
}

Axis x_axis(const View& view, const Room& room) {
  return {view.x0, view.x1, room.left, room.right, false};
}

Axis y_axis(const View& view, const Room& room, bool logarithmic) {
  return {view.y0, view.y1, room.bottom, room.top, logarithmic};
}

void zoom_by_wheel(const Content& content, const Room& room, const Span& span, View& view) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseWheel == 0) return;
  const double factor = std::pow(0.8, static_cast<double>(io.MouseWheel));
  if (room.in_area(io.MousePos)) {
    zoom_x(view, x_axis(view, room).to_value(io.MousePos.x), factor, span.first, span.last);
  } else if (room.on_y_axis(io.MousePos)) {
    zoom_y(view, y_axis(view, room, content.logarithmic).to_value(io.MousePos.y), factor,
           content.logarithmic);
  }
}

void pan_by_mouse(const Content& content, const Room& room, const Span& span, View& view) {
  const ImVec2 delta = ImGui::GetIO().MouseDelta;
  const Axis x = x_axis(view, room);
  if (delta.x != 0)
    pan_x(view, x.to_value(room.left) - x.to_value(room.left + delta.x), span.first, span.last);
  if (!view.fit_y && delta.y != 0) {
    const Axis y = y_axis(view, room, content.logarithmic);
    view.y0 = y.to_value(room.bottom - delta.y);
    view.y1 = y.to_value(room.top - delta.y);
  }
}

void finish_box(const Content& content, const Room& room, const Span& span, ImVec2 start, View& view) {
  const ImVec2 end = ImGui::GetIO().MousePos;
  if (std::abs(end.x - start.x) < 4 || std::abs(end.y - start.y) < 4) return;
  const Axis x = x_axis(view, room), y = y_axis(view, room, content.logarithmic);
  show_box(view, x.to_value(start.x), x.to_value(end.x), y.to_value(start.y), y.to_value(end.y), span.last);
}

void handle_mouse(const Content& content, const Room& room, const Span& span, View& view, Drag& drag) {
  const bool hovered = ImGui::IsItemHovered();
  const ImGuiIO& io = ImGui::GetIO();
  if (hovered) zoom_by_wheel(content, room, span, view);
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    fit(view);
    drag.kind = Drag::Kind::none;
    return;
  }
  if (hovered && room.in_area(io.MousePos) && drag.kind == Drag::Kind::none) {
    const bool left = ImGui::IsMouseClicked(ImGuiMouseButton_Left),
               right = ImGui::IsMouseClicked(ImGuiMouseButton_Right);
    if (right || (left && io.KeyShift)) {
      drag = {Drag::Kind::box, io.MousePos};
    } else if (left) {
      drag = {Drag::Kind::pan, io.MousePos};
    }
  }
  const bool down = ImGui::IsMouseDown(ImGuiMouseButton_Left) || ImGui::IsMouseDown(ImGuiMouseButton_Right);
  if (drag.kind == Drag::Kind::pan && down) pan_by_mouse(content, room, span, view);
  if (!down) {
    if (drag.kind == Drag::Kind::box) finish_box(content, room, span, drag.start, view);
    drag.kind = Drag::Kind::none;
  }
}

void draw_axes(const Frame& frame, const Content& content, const Room& room, const Axis& x, const Axis& y) {
  const float s = frame.scale;
  auto* const list = ImGui::GetWindowDrawList();
  const ImFont* const font = frame.fonts.small;
  for (const Tick& tick : ticks(y, wanted_y_ticks(frame, room), Unit::value)) {
    const float pixel = std::floor(y.to_pixel(tick.value));
    list->AddRectFilled(ImVec2(room.left, pixel), ImVec2(room.right, pixel + hairline(frame)),
                        frame.palette.grid);
    const float width = text_width(font, tick.label);
    draw_text(list, font, room.left - 8 * s - width, pixel + 4 * s, frame.palette.muted, tick.label);
  }
  const int x_wanted = std::max(2, static_cast<int>((room.right - room.left) / (60 * s)));
  const float label_width = text_width(font, content.x_label);
  for (const Tick& tick : ticks(x, x_wanted, content.x_unit)) {
    const float pixel = std::floor(x.to_pixel(tick.value));
    list->AddRectFilled(ImVec2(pixel, room.top), ImVec2(pixel + hairline(frame), room.bottom),
                        frame.palette.grid);
    const float width = text_width(font, tick.label);
    const float at = std::clamp(pixel - width / 2, room.left - 8 * s, room.right - width);
    if (at + width > room.right - label_width - 8 * s) continue;  // the axis's name stands there
    draw_text(list, font, at, room.bottom + 16 * s, frame.palette.muted, tick.label);
  }
  draw_text(list, font, room.right - label_width, room.bottom + 16 * s, frame.palette.muted, content.x_label);
}

void draw_lines(const Frame& frame, const Content& content, const Room& room, const Axis& x, const Axis& y) {
  auto* const list = ImGui::GetWindowDrawList();
  const float thick = 1.6f * frame.scale, thin = std::max(1.0f, frame.scale), column = hairline(frame);
  // A little beyond the end, so that the dot of the newest point is a whole one.
  const float beyond = 3 * frame.scale;
  list->PushClipRect(ImVec2(room.left, room.top), ImVec2(room.right + beyond, room.bottom), true);
  for (const Line& line : content.lines) {
    if (line.beneath != nullptr) {
      draw_curve(list, *line.beneath, x, y, blend(line.color, frame.palette.panel, 0.32f), thin, column);
    }
  }
  for (const Line& line : content.lines) {
    const ImU32 color = line.faint ? blend(line.color, frame.palette.panel, 0.45f) : line.color;
    if (!line.alone)
      draw_curve(list, *line.series, x, y, color, line.faint || line.thin ? thin : thick, column);
    if (line.dots) draw_dots(list, *line.series, x, y, color, 2.6f * frame.scale);
    if (line.alone) draw_crosses(list, *line.series, x, y, color, 4 * frame.scale);
  }
  list->PopClipRect();
}

struct ReadOutRow {
  std::string name;
  ImU32 color;
  std::string value;
  float distance = 0;    // of the point from the pointer, in pixels
  bool nearest = false;  // of all, and near
};

// Large numbers with thousands, as everywhere.
std::string read_out_text(double value) {
  return std::abs(value) >= 1000 && std::abs(value) < 1e9 ? with_thousands(value)
                                                          : value_text(value, Unit::value);
}

// No more rows than the plot has room for: those nearest to the pointer, in their order. Marks the nearest.
void limit_rows(std::vector<ReadOutRow>& rows, std::size_t most, float reach) {
  std::vector<float> distances;
  for (const ReadOutRow& row : rows) distances.push_back(row.distance);
  std::sort(distances.begin(), distances.end());
  if (rows.size() > 2 && distances.front() < reach) {
    for (ReadOutRow& row : rows) row.nearest = row.distance == distances.front();
  }
  if (rows.size() <= most) return;
  const float limit = distances[most - 1];
  std::erase_if(rows, [limit](const ReadOutRow& row) { return row.distance > limit; });
  rows.resize(std::min(rows.size(), most));
}

void draw_read_out_box(const Frame& frame, const Room& room, const std::string& head,
                       const std::vector<ReadOutRow>& rows, float at) {
  const float s = frame.scale, row = 18 * s, pad = 8 * s, swatch = 16 * s;
  float name_width = 0, value_width = 0;
  for (const ReadOutRow& r : rows) {
    name_width = std::max(name_width, text_width(frame.fonts.text, r.name));
    value_width = std::max(value_width, text_width(frame.fonts.numbers, r.value));
  }
  const float width =
      std::max(text_width(frame.fonts.small, head), swatch + name_width + 16 * s + value_width) + 2 * pad;
  const float height = row * static_cast<float>(rows.size() + 1) + 2 * pad - 4 * s;
  float left = at + 12 * s;
  if (left + width > room.right) left = at - 12 * s - width;
  left = std::max(left, room.left);
  const float top = std::clamp(ImGui::GetIO().MousePos.y - height - 8 * s, room.top,
                               std::max(room.top, room.bottom - height));
  auto* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(ImVec2(left, top), ImVec2(left + width, top + height),
                      ImGui::GetColorU32(ImGuiCol_PopupBg), 4 * s);
  list->AddRect(ImVec2(left, top), ImVec2(left + width, top + height), ImGui::GetColorU32(ImGuiCol_Border),
                4 * s);
  float baseline = top + pad + 10 * s;
  draw_text(list, frame.fonts.small, left + pad, baseline, frame.palette.muted, head);
  for (const ReadOutRow& r : rows) {
    baseline += row;
    const float middle = std::floor(baseline - 5 * s);
    if (r.nearest) {
      list->AddRectFilled(ImVec2(left + pad / 2, middle - row / 2 + s),
                          ImVec2(left + width - pad / 2, middle + row / 2 + s),
                          ImGui::GetColorU32(ImGuiCol_HeaderHovered), 3 * s);
    }
    list->AddRectFilled(ImVec2(left + pad, middle), ImVec2(left + pad + 10 * s, middle + 2 * s), r.color);
    draw_text(list, frame.fonts.text, left + pad + swatch, baseline, frame.palette.text, r.name);
    draw_text(list, frame.fonts.numbers, left + width - pad - text_width(frame.fonts.numbers, r.value),
              baseline, frame.palette.text, r.value);
  }
}

// Marks the line's point at `at` and adds what it reads there.
void read_line(const Frame& frame, const Line& line, const Room& room, const Axis& x, const Axis& y,
               double at, std::vector<ReadOutRow>& rows) {
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
  rows.push_back(
      {name, line.color, read_out_text(value), std::abs(point.y - ImGui::GetIO().MousePos.y), false});
  if (line.beneath == nullptr || line.beneath->empty()) return;
  const auto raw = static_cast<double>(line.beneath->y(line.beneath->nearest(at)));
  rows.push_back({line.beneath_name, blend(line.color, frame.palette.panel, 0.45f), read_out_text(raw),
                  std::abs(y.to_pixel(raw) - ImGui::GetIO().MousePos.y), false});
}

void draw_read_out(const Frame& frame, const Content& content, const Room& room, const Axis& x,
                   const Axis& y) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsItemHovered() || !room.in_area(mouse)) return;
  // The nearest point of the line that has most points decides where the hairline stands.
  const double wanted = x.to_value(mouse.x);
  const Line* densest = nullptr;
  for (const bool thin : {false, true}) {
    // Earlier runs lead only where nothing else is.
    if (thin && densest != nullptr && wanted <= content.newest) break;
    for (const Line& line : content.lines) {
      if (line.series->empty() || line.thin != thin || line.alone) continue;
      if (densest == nullptr || line.series->size() > densest->series->size()) densest = &line;
    }
  }
  if (densest == nullptr) return;
  const double at = densest->series->x(densest->series->nearest(wanted));
  const float pixel = std::floor(x.to_pixel(at));
  if (pixel < room.left || pixel >= room.right) return;
  auto* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(ImVec2(pixel, room.top), ImVec2(pixel + hairline(frame), room.bottom),
                      frame.palette.muted);
  std::vector<ReadOutRow> rows;
  for (const Line& line : content.lines) {
    if (!line.series->empty() && at <= line.end) read_line(frame, line, room, x, y, at, rows);
  }
  const float row_height = 18 * frame.scale;
  limit_rows(rows, static_cast<std::size_t>(std::max(3.0f, (room.bottom - room.top) / row_height - 2)),
             row_height);
  draw_read_out_box(frame, room, content.describe ? content.describe(at) : value_text(at, content.x_unit),
                    rows, x.to_pixel(at));
}

void draw_empty(const Frame& frame, const Content& content, const Room& room) {
  const ImFont* const font = frame.fonts.text;
  const float x = (room.min.x + room.max.x - text_width(font, content.empty_text)) / 2;
  draw_text(ImGui::GetWindowDrawList(), font, x, (room.min.y + room.max.y) / 2, frame.palette.muted,
            content.empty_text);
}

// Everything but what answers the mouse. True if a flag is under the pointer.
bool draw_picture(const Frame& frame, const Content& content, const Room& room, const Axis& x,
                  const Axis& y) {
  draw_axes(frame, content, room, x, y);
  draw_lines(frame, content, room, x, y);
  return draw_flags(frame, content.markers, x, content.x_unit, room.top, room.bottom);
}

}  // namespace

void paint(const Frame& frame, ImVec2 min, ImVec2 max, const Content& content, const View& view) {
  const Room room = arrange(frame, min, max, content, view);
  if (span_of(content)) {
    draw_picture(frame, content, room, x_axis(view, room), y_axis(view, room, content.logarithmic));
  } else {
    draw_empty(frame, content, room);
  }
}

void draw(const Frame& frame, const char* name, ImVec2 size, const Content& content, View& view, Drag& drag) {
  size = ImVec2(std::max(size.x, 64.0f), std::max(size.y, 48.0f));
  const ImVec2 min = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton(name, size, ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight);
  trace_item(name);
  const Room room = arrange(frame, min, ImVec2(min.x + size.x, min.y + size.y), content, view);
  const auto span = span_of(content);
  if (!span) {
    draw_empty(frame, content, room);
    return;
  }
  const double newest = std::min(content.newest, span->last);
  track_x(view, span->first, view.fit_x ? span->last : newest);
  const double left = view.x0, right = view.x1;
  handle_mouse(content, room, *span, view, drag);
  // Where other lines go on beyond the newest point, their end is not what is followed.
  if (newest < span->last && !view.fit_x && (view.x0 != left || view.x1 != right))
    view.follow = is_at(view, newest);
  track_x(view, span->first, view.fit_x ? span->last : newest);
  track_y(view, visible_extent(content, view), content.logarithmic);
  const Axis x = x_axis(view, room), y = y_axis(view, room, content.logarithmic);
  const bool on_flag = draw_picture(frame, content, room, x, y);
  if (drag.kind == Drag::Kind::box) {
    auto* const list = ImGui::GetWindowDrawList();
    list->AddRectFilled(drag.start, ImGui::GetIO().MousePos,
                        (frame.palette.accent & 0x00FFFFFF) | 0x30000000);
    list->AddRect(drag.start, ImGui::GetIO().MousePos, frame.palette.accent);
  } else if (!on_flag && drag.kind == Drag::Kind::none) {
    draw_read_out(frame, content, room, x, y);
  }
}

}  // namespace warpscope::ui::plot
