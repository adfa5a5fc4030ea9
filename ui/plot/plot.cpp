#include "ui/plot/plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/plot/draw_curve.h"
#include "ui/plot/range_box.h"
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
void read_line(const Frame& frame, const Content& content, const Line& line, const Room& room, const Axis& x,
               const Axis& y, double at, float beside, std::vector<Row>& rows) {
  const std::size_t i = line.series->nearest(at);
  const double value = static_cast<double>(line.series->y(i));
  // A point of a sparse series stands for its surroundings; a lone mark only for itself.
  const bool elsewhere = std::abs(x.to_pixel(line.series->x(i)) - x.to_pixel(at)) > 3 * frame.scale;
  if (line.alone && elsewhere) return;
  const ImVec2 point(x.to_pixel(line.series->x(i)), y.to_pixel(value));
  if (y.shows(value) && room.in_area(point)) draw_read_point(frame, point, line.color);
  const std::string name = ellipsize(frame.fonts.text, line.name, 240 * frame.scale) +
                           (elsewhere ? place_text(content, line.series->x(i)) : "");
  rows.push_back({name, line.color, value_of(value), std::abs(point.y - beside), false});
  if (line.beneath == nullptr || line.beneath->empty()) return;
  const auto raw = static_cast<double>(line.beneath->y(line.beneath->nearest(at)));
  rows.push_back({line.beneath_name, blend(line.color, frame.palette.panel, 0.45f), value_of(raw),
                  std::abs(y.to_pixel(raw) - beside), false});
}

/// The x of the point that is nearest to `wanted`, on the line that has most points; nothing if there is none.
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

/// Draws a hairline at `at`, marks the lines' points there and tells their values under `head`, which may be "". The
/// box stands at the height of `beside`; the value nearest to it is marked.
void draw_read_out(const Frame& frame, const Content& content, const Room& room, const Axis& x, const Axis& y,
                   double at, const std::string& head, float beside) {
  const float pixel = std::floor(x.to_pixel(at));
  if (pixel < room.left || pixel > room.right) return;
  ImGui::GetWindowDrawList()->AddRectFilled(
      ImVec2(pixel, room.top), ImVec2(pixel + hairline(frame), room.bottom), frame.palette.muted);
  std::vector<Row> rows;
  for (const Line& line : content.lines) {
    if (!line.series->empty() && at <= line.end)
      read_line(frame, content, line, room, x, y, at, beside, rows);
  }
  const float row_height = 18 * frame.scale, room_height = (room.bottom - room.top) / row_height;
  const std::size_t least = head.empty() ? 1 : 3;
  limit_rows(rows, std::max(least, static_cast<std::size_t>(std::max(0.0f, room_height - 2))), row_height);
  if (!rows.empty() || !head.empty()) draw_box(frame, room, head, rows, x.to_pixel(at), beside);
}

// A drag is one from here on, in design pixels.
constexpr float kLeastDrag = 4;

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

// Pixels that the labels of y take.
float label_room(const Frame& frame, const Content& content, const View& view, float height) {
  const float s = frame.scale;
  float label = 36 * s;
  const Axis y{view.y0, view.y1, height, 0, content.logarithmic && view.y0 > 0};
  const int wanted = std::max(2, static_cast<int>(height / (36 * s)));
  for (const Tick& tick : ticks(y, wanted, Unit::value))
    label = std::max(label, text_width(frame.fonts.small, tick.label));
  return label;
}

// `view` is the one of the frame before: its labels tell how wide those of this frame will be.
Room arrange(const Frame& frame, ImVec2 min, ImVec2 max, const Content& content, const View& view) {
  const float s = frame.scale;
  Room room{min, max};
  room.right = std::floor(max.x - 8 * s);
  room.top = std::floor(min.y + 8 * s + (content.markers.empty() ? 0 : flag_height(frame) - 4 * s));
  room.bottom = std::floor(max.y - 22 * s);
  const float label = std::max(content.labels, label_room(frame, content, view, room.bottom - room.top));
  room.left = std::floor(min.x + label + 12 * s);
  return room;
}

void zoom_by_wheel(const Content& content, const Room& room, const Span& span, View& view) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseWheel == 0) return;
  const double factor = std::pow(0.8, static_cast<double>(io.MouseWheel));
  if (room.in_area(io.MousePos)) {
    zoom_x(view, x_axis(view, room).to_value(io.MousePos.x), factor, span.low, span.high);
  } else if (room.on_y_axis(io.MousePos)) {
    zoom_y(view, y_axis(view, room, content.logarithmic).to_value(io.MousePos.y), factor,
           content.logarithmic);
  }
}

Span dragged(const Axis& x, float from, float to) {
  return {x.to_value(std::clamp(std::min(from, to), x.pixel_low, x.pixel_high)),
          x.to_value(std::clamp(std::max(from, to), x.pixel_low, x.pixel_high))};
}

// What pressing a button begins.
Hold::Kind begun_drag(const Room& room) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool left = ImGui::IsMouseClicked(ImGuiMouseButton_Left);
  const bool other =
      ImGui::IsMouseClicked(ImGuiMouseButton_Right) || ImGui::IsMouseClicked(ImGuiMouseButton_Middle);
  if (left && room.on_y_axis(io.MousePos)) return Hold::Kind::values;
  if (!room.in_area(io.MousePos)) return Hold::Kind::none;
  if (left) return io.KeyShift ? Hold::Kind::measure : Hold::Kind::range;
  return other ? Hold::Kind::pan : Hold::Kind::none;
}

// True while the pointer has not gone far enough for a drag.
bool is_click(const Frame& frame, const Hold& hold) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float least = kLeastDrag * frame.scale;
  return std::abs(mouse.x - hold.start.x) < least && std::abs(mouse.y - hold.start.y) < least;
}

// In slow frames the pointer may have come from far away in the one in which the button goes down: that is no pan.
void pan_by_mouse(const Frame& frame, const Content& content, const Room& room, const Span& span, View& view,
                  Hold& hold) {
  const ImGuiIO& io = ImGui::GetIO();
  ImVec2 delta = io.MouseDelta;
  if (!hold.pans) {
    if (is_click(frame, hold)) return;
    hold.pans = true;
    delta = ImVec2(io.MousePos.x - hold.start.x, io.MousePos.y - hold.start.y);
  }
  const Axis x = x_axis(view, room);
  if (delta.x != 0) pan_x(view, x.to_value(room.left), x.to_value(room.left + delta.x), span.low, span.high);
  if (!view.fit_y && delta.y != 0) {
    const Axis y = y_axis(view, room, content.logarithmic);
    view.y0 = y.to_value(room.bottom - delta.y);
    view.y1 = y.to_value(room.top - delta.y);
  }
}

void end_drag(const Frame& frame, const Content& content, const Room& room, const Span& span, View& view,
              Hold& hold, Reply& reply) {
  const ImVec2 end = ImGui::GetIO().MousePos;
  const Axis x = x_axis(view, room), y = y_axis(view, room, content.logarithmic);
  const bool wide = std::abs(end.x - hold.start.x) >= kLeastDrag * frame.scale;
  const bool high = std::abs(end.y - hold.start.y) >= kLeastDrag * frame.scale;
  if (hold.kind == Hold::Kind::range && wide) {
    const Span range = dragged(x, hold.start.x, end.x);
    show_x(view, range.low, range.high, span.high);
  } else if (hold.kind == Hold::Kind::range && !high) {
    reply.clicked = x.to_value(end.x);
    reply.clicked_cursor = content.cursor && x.shows(*content.cursor) &&
                           std::abs(x.to_pixel(*content.cursor) - end.x) <= kLeastDrag * frame.scale;
  } else if (hold.kind == Hold::Kind::pan && !hold.pans && !wide && !high &&
             ImGui::IsMouseReleased(ImGuiMouseButton_Right)) {
    reply.menu = x.to_value(end.x);
  } else if (hold.kind == Hold::Kind::values && high) {
    show_y(view, y.to_value(hold.start.y), y.to_value(std::clamp(end.y, room.top, room.bottom)));
  } else if (hold.kind == Hold::Kind::measure && !wide) {
    reply.measured_none = true;
  }
  hold.kind = Hold::Kind::none;
}

void handle_mouse(const Frame& frame, const Content& content, const Room& room, const Span& span, View& view,
                  Hold& hold, Reply& reply) {
  const bool hovered = ImGui::IsItemHovered();
  const ImGuiIO& io = ImGui::GetIO();
  if (hovered) zoom_by_wheel(content, room, span, view);
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    fit(view);
    reply.doubled = reply.measured_none = true;
    hold.kind = Hold::Kind::none;
    return;
  }
  if (hovered && hold.kind == Hold::Kind::none) {
    hold.kind = begun_drag(room);
    hold.start = io.MousePos;
    hold.pans = false;
  }
  if (hold.kind == Hold::Kind::none) return;
  if (hold.kind == Hold::Kind::measure && std::abs(io.MousePos.x - hold.start.x) >= kLeastDrag * frame.scale)
    reply.measured = dragged(x_axis(view, room), hold.start.x, io.MousePos.x);
  if (!io.MouseDown[ImGuiMouseButton_Left] && !io.MouseDown[ImGuiMouseButton_Right] &&
      !io.MouseDown[ImGuiMouseButton_Middle]) {
    end_drag(frame, content, room, span, view, hold, reply);
  } else if (hold.kind == Hold::Kind::pan) {
    pan_by_mouse(frame, content, room, span, view, hold);
  }
}

void draw_x_ticks(const Frame& frame, const Content& content, const Room& room, const Axis& x) {
  const float s = frame.scale;
  auto* const list = ImGui::GetWindowDrawList();
  const ImFont* const font = frame.fonts.small;
  const auto wanted = std::max(2, static_cast<int>((room.right - room.left) / (60 * s)));
  const std::vector<Tick> all = ticks(x, wanted, content.x_unit);
  std::vector<float> widths;
  for (const Tick& tick : all) widths.push_back(text_width(font, tick.label));
  const std::vector<bool> written = labels_that_fit(x, all, widths, 8 * s);
  const float name_width = text_width(font, content.x_label);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const float pixel = std::floor(x.to_pixel(all[i].value));
    list->AddRectFilled(ImVec2(pixel, room.top), ImVec2(pixel + hairline(frame), room.bottom),
                        frame.palette.grid);
    const float at = std::clamp(pixel - widths[i] / 2, room.left - 8 * s, room.right - widths[i]);
    if (!written[i] || at + widths[i] > room.right - name_width - 8 * s)
      continue;  // the axis's name stands there
    draw_text(list, font, at, room.bottom + 16 * s, frame.palette.muted, all[i].label);
  }
  draw_text(list, font, room.right - name_width, room.bottom + 16 * s, frame.palette.muted, content.x_label);
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
      draw_curve(list, *line.series, x, y, color, line.faint || line.thin ? thin : thick, column,
                 dash_pattern(line.dash, frame.scale));
    if (line.dots) draw_dots(list, *line.series, x, y, color, 2.6f * frame.scale);
    if (line.alone) draw_crosses(list, *line.series, x, y, color, 4 * frame.scale);
  }
  list->PopClipRect();
}

// With a foot, so that it is not taken for the line under the pointer.
void draw_cursor(const Frame& frame, const Room& room, const Axis& x, double at) {
  if (!x.shows(at)) return;
  const float s = frame.scale, pixel = std::floor(x.to_pixel(at));
  if (pixel < room.left || pixel > room.right) return;
  auto* const list = ImGui::GetWindowDrawList();
  const float half = std::max(1.0f, s) / 2;
  list->AddRectFilled(ImVec2(pixel - half, room.top), ImVec2(pixel + half, room.bottom),
                      frame.palette.accent);
  list->AddTriangleFilled(ImVec2(pixel, room.bottom - 2 * s), ImVec2(pixel + 5 * s, room.bottom + 5 * s),
                          ImVec2(pixel - 5 * s, room.bottom + 5 * s), frame.palette.accent);
}

void draw_empty(const Frame& frame, const Content& content, const Room& room) {
  const ImFont* const font = frame.fonts.text;
  const std::string text = ellipsize(font, content.empty_text, room.max.x - room.min.x - 16 * frame.scale);
  const float x = (room.min.x + room.max.x - text_width(font, text)) / 2;
  draw_text(ImGui::GetWindowDrawList(), font, x, (room.min.y + room.max.y) / 2, frame.palette.muted, text);
}

// Everything but what answers the mouse. The flag under the pointer, if there is one.
std::optional<FlagGroup> draw_picture(const Frame& frame, const Content& content, const Room& room,
                                      const Axis& x, const Axis& y) {
  draw_y_grid(frame, ticks(y, wanted_y_ticks(frame, room), Unit::value), y, room.left, room.right,
              8 * frame.scale);
  draw_x_ticks(frame, content, room, x);
  draw_lines(frame, content, room, x, y);
  return draw_flags(frame, content.markers, x, content.x_unit, room.top, room.bottom);
}

// The part of the plot that a drag would show.
void draw_dragged(const Frame& frame, const Room& room, const Hold& hold) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  ImVec2 min(room.left, room.top), max(room.right, room.bottom);
  if (hold.kind == Hold::Kind::range) {
    min.x = std::max(room.left, std::min(hold.start.x, mouse.x));
    max.x = std::min(room.right, std::max(hold.start.x, mouse.x));
  } else {
    min.y = std::max(room.top, std::min(hold.start.y, mouse.y));
    max.y = std::min(room.bottom, std::max(hold.start.y, mouse.y));
  }
  auto* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(min, max, (frame.palette.accent & 0x00FFFFFF) | 0x30000000);
  list->AddRect(min, max, frame.palette.accent);
}

// What stands over the curves: the cursor, the measured range, the values under the pointer.
void draw_over(const Frame& frame, const Content& content, const Room& room, const View& view, bool on_flag,
               Hold& hold, Reply& reply) {
  const Axis x = x_axis(view, room), y = y_axis(view, room, content.logarithmic);
  if (content.cursor) draw_cursor(frame, room, x, *content.cursor);
  const std::optional<Span> measured = reply.measured ? reply.measured : content.measured;
  if (measured && !reply.measured_none) draw_range(frame, content, room, x, y, *measured, hold.sums);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  // A press that may become a click still points.
  const bool waits = hold.kind == Hold::Kind::range && is_click(frame, hold);
  if (!waits && (hold.kind == Hold::Kind::range || hold.kind == Hold::Kind::values)) {
    draw_dragged(frame, room, hold);
  } else if ((waits || hold.kind == Hold::Kind::none) && !on_flag && ImGui::IsItemHovered() &&
             room.in_area(mouse)) {
    const std::optional<double> at = nearest_point(content, x.to_value(mouse.x));
    if (!at || !x.shows(*at) || *at < view.x0 || *at > view.x1) return;
    reply.pointer = at;
    const std::string head = content.describe ? content.describe(*at) : value_text(*at, content.x_unit);
    draw_read_out(frame, content, room, x, y, *at, head, mouse.y);
  } else if (content.pointer && x.shows(*content.pointer)) {
    draw_read_out(frame, content, room, x, y, *content.pointer, "", room.top);
  }
}

}  // namespace

std::string place_text(const Content& content, double x) {
  const std::string where = value_text(x, content.x_unit);
  return content.x_unit == Unit::seconds ? fmt::format(", at {}", where)
                                         : fmt::format(", {} {}", content.x_label, where);
}

std::optional<Span> span_of(const Content& content, bool log_x) {
  std::optional<Span> span;
  const auto include = [&](double low, double high) {
    if (!span) span = Span{low, high};
    span->low = std::min(span->low, low);
    span->high = std::max(span->high, high);
  };
  for (const Line& line : content.lines) {
    std::size_t first = 0;
    while (log_x && first < line.series->size() && line.series->x(first) <= 0) ++first;
    if (first < line.series->size()) include(line.series->x(first), line.series->x(line.series->size() - 1));
  }
  // What was changed before the first step belongs to the picture too.
  if (span && !content.markers.empty() && !(log_x && content.markers.front().x <= 0))
    span->low = std::min(span->low, content.markers.front().x);
  return span;
}

void paint(const Frame& frame, ImVec2 min, ImVec2 max, const Content& content, const View& view) {
  const Room room = arrange(frame, min, max, content, view);
  if (span_of(content, view.log_x)) {
    draw_picture(frame, content, room, x_axis(view, room), y_axis(view, room, content.logarithmic));
  } else {
    draw_empty(frame, content, room);
  }
}

Reply draw(const Frame& frame, const char* name, ImVec2 size, const Content& content, View& view,
           Hold& hold) {
  Reply reply;
  size = ImVec2(std::max(size.x, 64.0f), std::max(size.y, 48.0f));
  const ImVec2 min = ImGui::GetCursorScreenPos();
  hit_area(name, size,
           ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight |
               ImGuiButtonFlags_MouseButtonMiddle);
  trace_item(name);
  const Room room = arrange(frame, min, ImVec2(min.x + size.x, min.y + size.y), content, view);
  const std::optional<Span> own = span_of(content, view.log_x);
  reply.labels = own ? label_room(frame, content, view, room.bottom - room.top) : 0;
  if (!own) {
    draw_empty(frame, content, room);
    return reply;
  }
  const Span span = content.span.value_or(*own);
  const double newest = std::min(content.newest, span.high);
  track_x(view, span.low, view.fit_x ? span.high : newest);
  const double left = view.x0, right = view.x1;
  handle_mouse(frame, content, room, span, view, hold, reply);
  // Where other lines go on beyond the newest point, their end is not what is followed.
  if (newest < span.high && !view.fit_x && (view.x0 != left || view.x1 != right))
    view.follow = is_at(view, newest);
  track_x(view, span.low, view.fit_x ? span.high : newest);
  track_y(view, visible_extent(content, view), content.logarithmic);
  const Axis x = x_axis(view, room), y = y_axis(view, room, content.logarithmic);
  const std::optional<FlagGroup> flag = draw_picture(frame, content, room, x, y);
  if (flag && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) reply.clicked_flag = flag;
  draw_over(frame, content, room, view, flag.has_value(), hold, reply);
  return reply;
}

}  // namespace warpscope::ui::plot
