#include "ui/plot/range_box.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ui/widgets/widgets.h"

namespace warpscope::ui::plot {
namespace {

// Points that are taken in a frame at most, in a few milliseconds.
constexpr std::size_t kMostPoints = std::size_t{1} << 16;

constexpr std::size_t kFigures = 4;
// The table, in design pixels.
constexpr float kRowHeight = 18, kPad = 8, kFigureGap = 12, kSwatch = 16;
constexpr std::array<const char*, kFigures> kHeads{"mean", "min", "max", "fit"};

struct Row {
  const Line* line;
  std::array<std::string, kFigures> figures;
  Fit fit;
};

std::string length_text(double length, Unit unit, const char* x_label) {
  if (unit == Unit::seconds) return value_text(length, unit);
  return fmt::format("{} {}s", length >= 100 ? with_thousands(length) : compact_number(length, 3), x_label);
}

std::string figure(double value) {
  return std::abs(value) >= 1000 && std::abs(value) < 1e9 ? with_thousands(value) : compact_number(value, 4);
}

// The rows of lines that have points in the range; nothing while points are still taken in.
std::vector<Row> rows_of(const Frame& frame, const Content& content, const Span& range, Axes axes,
                         std::vector<RangeSums>& sums) {
  std::vector<Row> rows;
  sums.resize(content.lines.size());
  for (std::size_t i = 0; i < content.lines.size(); ++i) {
    const Line& line = content.lines[i];
    if (line.alone || line.faint) continue;
    const Series& series = line.beneath != nullptr ? *line.beneath : *line.series;
    if (!sums[i].follow(series, axes, kMostPoints)) {
      redraw_at(frame, ImGui::GetTime());
      continue;
    }
    std::size_t last = series.lower_bound(range.high);
    while (last < series.size() && series.x(last) == range.high) ++last;
    const RangeFigures of = sums[i].figures(series, series.lower_bound(range.low), last);
    if (of.points == 0) continue;
    rows.push_back({&line,
                    {figure(of.mean), figure(of.low), figure(of.high),
                     fit_text(of.fit, content.x_unit, content.x_label)},
                    of.fit});
  }
  return rows;
}

// On the plot's axes the line is straight, so that its ends are all of it.
void draw_fit(ImDrawList* list, const Fit& fit, const Axis& x, const Axis& y, const Span& range, ImU32 color,
              float thickness) {
  if (!fit.valid) return;
  const double low = std::max(range.low, x.low), high = std::min(range.high, x.high);
  if (low >= high) return;
  list->AddLine(ImVec2(x.to_pixel(low), y.to_pixel(fit.at(low))),
                ImVec2(x.to_pixel(high), y.to_pixel(fit.at(high))), color, thickness);
}

// What of the table has room in the plot, and how wide it is.
struct TableShape {
  std::size_t rows = 0;
  std::vector<std::size_t> figures;  // columns, of kHeads
  std::array<float, kFigures> widths{};
  float name = 0;
  float width = 0;
};

// The extremes are left out first, then the mean; rows from the end.
TableShape shape_of(const Frame& frame, const Room& room, const std::vector<Row>& rows,
                    const std::string& head) {
  const float s = frame.scale, most = room.right - room.left - 8 * s;
  TableShape shape;
  const float row_room = (room.bottom - room.top - 16 * s) / (kRowHeight * s) - 2;
  shape.rows = std::min(rows.size(), static_cast<std::size_t>(std::max(1.0f, row_room)));
  shape.name = text_width(frame.fonts.small, head);
  for (std::size_t r = 0; r < shape.rows; ++r) {
    const float name = std::min(160 * s, text_width(frame.fonts.text, rows[r].line->name));
    shape.name = std::max(shape.name, kSwatch * s + std::ceil(name) + s);
    for (std::size_t i = 0; i < kFigures; ++i) {
      shape.widths[i] = std::max({shape.widths[i], text_width(frame.fonts.numbers, rows[r].figures[i]),
                                  text_width(frame.fonts.small, kHeads[i])});
    }
  }
  for (const std::vector<std::size_t>& figures :
       {std::vector<std::size_t>{0, 1, 2, 3}, std::vector<std::size_t>{0, 3}, std::vector<std::size_t>{3}}) {
    shape.figures = figures;
    shape.width = shape.name + 2 * kPad * s;
    for (const std::size_t i : figures) shape.width += kFigureGap * s + shape.widths[i];
    if (shape.width <= most) break;
  }
  return shape;
}

void draw_table(const Frame& frame, const Room& room, const std::vector<Row>& rows, const std::string& head,
                float center) {
  const float s = frame.scale, row_height = kRowHeight * s, pad = kPad * s;
  const TableShape shape = shape_of(frame, room, rows, head);
  const float height = row_height * static_cast<float>(shape.rows + 1) + 2 * pad - 4 * s;
  const float left =
      std::max(room.left + 4 * s, std::min(center - shape.width / 2, room.right - shape.width - 4 * s));
  const ImVec2 min(left, room.top + 4 * s), max(left + shape.width, room.top + 4 * s + height);
  auto* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(min, max, ImGui::GetColorU32(ImGuiCol_PopupBg), 4 * s);
  list->AddRect(min, max, ImGui::GetColorU32(ImGuiCol_Border), 4 * s);
  float baseline = min.y + pad + 10 * s;
  const auto draw_figures = [&](const ImFont* font, ImU32 color, const auto& text_of) {
    float right = min.x + pad + shape.name;
    for (const std::size_t i : shape.figures) {
      right += kFigureGap * s + shape.widths[i];
      const std::string text = text_of(i);
      draw_text(list, font, right - text_width(font, text), baseline, color, text);
    }
  };
  draw_text(list, frame.fonts.small, min.x + pad, baseline, frame.palette.muted, head);
  draw_figures(frame.fonts.small, frame.palette.muted, [](std::size_t i) { return kHeads[i]; });
  for (std::size_t r = 0; r < shape.rows; ++r) {
    baseline += row_height;
    const float middle = std::floor(baseline - 5 * s);
    list->AddRectFilled(ImVec2(min.x + pad, middle), ImVec2(min.x + pad + 10 * s, middle + 2 * s),
                        rows[r].line->color);
    draw_text(list, frame.fonts.text, min.x + pad + kSwatch * s, baseline, frame.palette.text,
              ellipsize(frame.fonts.text, rows[r].line->name, shape.name - kSwatch * s));
    draw_figures(frame.fonts.numbers, frame.palette.text, [&](std::size_t i) { return rows[r].figures[i]; });
  }
}

}  // namespace

std::string fit_text(const Fit& fit, Unit unit, const char* x_label) {
  if (!fit.valid) return "-";
  const char* const one = unit == Unit::seconds ? "second" : x_label;
  if (fit.axes.log_x && fit.axes.log_y) return fmt::format("~ {}^{:.3f}", x_label, fit.slope);
  if (fit.axes.log_x) return fmt::format("{:+.3g} a factor of 10", fit.slope * std::log(10.0));
  if (!fit.axes.log_y) return fmt::format("{:+.3g} a {}", fit.slope, one);
  if (fit.slope == 0) return "constant";
  return fmt::format("{} in {}", fit.slope < 0 ? "halves" : "doubles",
                     length_text(std::log(2.0) / std::abs(fit.slope), unit, x_label));
}

void draw_range(const Frame& frame, const Content& content, const Room& room, const Axis& x, const Axis& y,
                const Span& range, std::vector<RangeSums>& sums) {
  const float left = std::clamp(x.to_pixel(range.low), room.left, room.right);
  const float right = std::clamp(x.to_pixel(range.high), room.left, room.right);
  auto* const list = ImGui::GetWindowDrawList();
  const float line = hairline(frame);
  list->AddRectFilled(ImVec2(left, room.top), ImVec2(right, room.bottom),
                      (frame.palette.accent & 0x00FFFFFF) | 0x20000000);
  for (const float edge : {left, right - line}) {
    list->AddRectFilled(ImVec2(edge, room.top), ImVec2(edge + line, room.bottom), frame.palette.accent);
  }
  const auto rows = rows_of(frame, content, range, {x.logarithmic, y.logarithmic}, sums);
  list->PushClipRect(ImVec2(room.left, room.top), ImVec2(room.right, room.bottom), true);
  for (const Row& row : rows) draw_fit(list, row.fit, x, y, range, frame.palette.text, 3 * frame.scale);
  for (const Row& row : rows) draw_fit(list, row.fit, x, y, range, row.line->color, 1.6f * frame.scale);
  list->PopClipRect();
  if (rows.empty()) return;
  const std::string head =
      fmt::format("{} to {}", value_text(range.low, content.x_unit), value_text(range.high, content.x_unit));
  draw_table(frame, room, rows, head, (left + right) / 2);
}

}  // namespace warpscope::ui::plot
