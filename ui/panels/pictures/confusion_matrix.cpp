#include "ui/panels/pictures/confusion_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ui/images/colour_bar.h"
#include "ui/input/cursor.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/selection_chip.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr const char* kPrecisionInPercent = "precision, %";
constexpr float kFooterFrom = 240;  // design pixels of the body: below, the matrix has all of it

ImU32 colour(images::Rgba rgba) {
  return IM_COL32(rgba.r, rgba.g, rgba.b, rgba.a);
}

float ascent(const ImFont* font) {
  return font->Ascent * ImGui::GetIO().FontGlobalScale;
}

// The baseline of a line of small text in the middle of a row.
float middle_baseline(const Frame& frame, float top, float height) {
  return std::floor(top + (height - font_size(frame.fonts.small)) / 2 + ascent(frame.fonts.small) + 0.5f);
}

void right_aligned(const Frame& frame, float right, float baseline, ImU32 color, std::string_view text) {
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, right - text_width(frame.fonts.small, text),
            baseline, color, text);
}

// Text from the bottom to the top. It is written where it is surely not clipped, and then turned.
void draw_upright(const Frame& frame, ImVec2 bottom_left, ImU32 color, std::string_view text) {
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ImVec2 clip = list->GetClipRectMin();
  const ImVec2 from(std::floor(clip.x), std::floor(clip.y)),
      to(std::floor(bottom_left.x), std::floor(bottom_left.y));
  const int first = list->VtxBuffer.Size;
  draw_text(list, frame.fonts.small, from.x, from.y + ascent(frame.fonts.small), color, text);
  for (int i = first; i < list->VtxBuffer.Size; ++i) {
    ImVec2& at = list->VtxBuffer[i].pos;
    at = ImVec2(to.x + at.y - from.y, to.y - (at.x - from.x));
  }
}

// Design pixels.
constexpr float kGap = 8, kLeastCellWidth = 14, kLeastCellHeight = 13, kMostWidth = 88, kMostHeight = 48;
constexpr float kMostName = 112, kShortName = 64, kMostTurned = 88, kShortTurned = 44;

// Rounds down to framebuffer pixels, so that all cells are equally large.
float floor_to_pixel(float length, const MatrixSpace& space) {
  return std::max(space.finest, std::floor(length / space.finest) * space.finest);
}

// What stands beside the cells along one axis, in pixels.
struct Margins {
  float before = 0;  // names
  float after = 0;   // sums and rates
};

float cell_size(float room, const Margins& margins, int classes) {
  return (room - margins.before - margins.after) / static_cast<float>(classes);
}

MatrixLayout colours_only(const MatrixSpace& space) {
  MatrixLayout layout;
  const float s = space.scale, most = 24 * s;
  layout.left = layout.top = std::floor(space.line + kGap / 2 * s);  // "truth" and "predicted"
  layout.cell_width =
      floor_to_pixel(std::min(most, cell_size(space.width, {layout.left, 0}, space.classes)), space);
  layout.cell_height =
      floor_to_pixel(std::min(most, cell_size(space.height, {layout.top, 0}, space.classes)), space);
  layout.width = layout.cells_right(space.classes);
  layout.height = layout.cells_bottom(space.classes);
  return layout;
}

// The first arrangement that leaves room for cells of the least size, or else the last.
Margins choose(const std::array<Margins, 4>& ways, float room, int classes, float least) {
  const auto fits = [&](const Margins& way) { return cell_size(room, way, classes) >= least; };
  const auto found = std::find_if(ways.begin(), ways.end(), fits);
  return found == ways.end() ? ways.back() : *found;
}

void arrange_columns(const MatrixSpace& space, MatrixLayout& layout) {
  const float s = space.scale, gap = kGap * s, least = kLeastCellWidth * s;
  const float full = std::max(std::min(space.longest_name, kMostName * s), space.label_width) + gap;
  const float cut = std::min(space.longest_name, kShortName * s) + gap;
  const float figures = space.sum_width + space.rate_width + 2 * gap;
  const Margins way =
      choose({{{full, figures}, {cut, figures}, {full, 0}, {cut, 0}}}, space.width, space.classes, least);
  layout.cell_width =
      floor_to_pixel(std::clamp(cell_size(space.width, way, space.classes), least, kMostWidth * s), space);
  layout.left = std::ceil(way.before);
  layout.name_width = layout.left - gap;
  layout.width = layout.cells_right(space.classes);
  if (way.after == 0) return;
  layout.sum_right = layout.width + gap + space.sum_width;
  layout.recall_right = layout.width = layout.sum_right + gap + space.rate_width;
}

void arrange_rows(const MatrixSpace& space, MatrixLayout& layout) {
  const float s = space.scale, gap = kGap / 2 * s, least = kLeastCellHeight * s;
  layout.turned = space.longest_name + gap > layout.cell_width;
  // Upright names take at least two lines, since the titles of the sides are written beside them.
  const auto names = [&](float most) {
    const float length = layout.turned ? std::min(space.longest_name, most) : 0;
    return std::ceil(std::max(length, 2 * space.line) + gap);
  };
  const float full = names(kMostTurned * s), cut = names(kShortTurned * s);
  const float figures = layout.name_width >= space.label_width ? 2 * space.line + gap : 0;
  const Margins way =
      choose({{{full, figures}, {cut, figures}, {full, 0}, {cut, 0}}}, space.height, space.classes, least);
  layout.cell_height =
      floor_to_pixel(std::clamp(cell_size(space.height, way, space.classes), least, kMostHeight * s), space);
  layout.top = way.before;
  layout.name_height = layout.turned ? layout.top - gap : space.line;
  layout.height = layout.cells_bottom(space.classes);
  if (way.after == 0) return;
  layout.sum_top = layout.height + gap;
  layout.precision_top = layout.sum_top + space.line;
  layout.height = layout.precision_top + space.line;
}

}  // namespace

MatrixLayout arrange_matrix(const MatrixSpace& space) {
  if (space.classes > kMostNamedClasses) return colours_only(space);
  MatrixLayout layout;
  arrange_columns(space, layout);
  arrange_rows(space, layout);
  return layout;
}

std::optional<MatrixHit> hit_matrix(const MatrixLayout& layout, int classes, float x, float y) {
  if (x < 0 || y < 0 || x >= layout.width || y >= layout.height) return std::nullopt;
  const auto index = [classes](float offset, float size) {
    const int at = static_cast<int>(std::floor(offset / size));
    return at >= 0 && at < classes ? at : -1;
  };
  const MatrixHit hit{index(y - layout.top, layout.cell_height), index(x - layout.left, layout.cell_width)};
  return hit.truth < 0 && hit.predicted < 0 ? std::nullopt : std::optional<MatrixHit>(hit);
}

void ConfusionMatrix::refresh(const Frame& frame, const HeldOut& held_out) {
  const std::vector<std::int64_t> selected =
      frame.cursor == nullptr ? std::vector<std::int64_t>{} : frame.cursor->images;
  if (evaluation_ == held_out.evaluation && selected_ == selected) return;
  evaluation_ = held_out.evaluation;
  selected_ = selected;
  figures_ = confusion_figures(held_out, selected_);
  scale_ = error_scale(figures_);
  if (figures_.classes <= kMostNamedClasses) return;
  const interop::PageShape shape{figures_.classes, figures_.classes, 1, 1};
  if (!page_ || page_->shape() != shape) page_ = std::make_unique<interop::TilePage>(shape, frame.textures);
  std::vector<images::Rgba> pixels;
  pixels.reserve(figures_.counts.size());
  for (int truth = 0; truth < figures_.classes; ++truth) {
    for (int predicted = 0; predicted < figures_.classes; ++predicted) {
      pixels.push_back(cell_colour(figures_, scale_, truth, predicted));
    }
  }
  page_->upload(0, pixels.data());
}

MatrixSpace ConfusionMatrix::measure(const Frame& frame, const HeldOut& held_out, ImVec2 room) const {
  const ImFont* const font = frame.fonts.small;
  MatrixSpace space;
  space.width = room.x;
  space.height = room.y;
  space.classes = figures_.classes;
  space.label_width = text_width(font, kPrecisionInPercent);
  if (space.classes <= kMostNamedClasses) {
    for (int i = 0; i < space.classes; ++i) {
      space.longest_name = std::max(space.longest_name, text_width(font, held_out.class_name(i)));
    }
  }
  space.sum_width = std::max(text_width(font, fmt::format("{}s", held_out.thing())),
                             text_width(font, with_thousands(figures_.total)));
  space.rate_width = text_width(font, "100.0 %");
  space.line = std::floor(17 * frame.scale);
  space.scale = frame.scale;
  space.finest = 1 / std::max(0.01f, ImGui::GetIO().DisplayFramebufferScale.x);
  return space;
}

std::optional<MatrixHit> ConfusionMatrix::draw(const Frame& frame, const HeldOut& held_out) {
  refresh(frame, held_out);
  trace();
  const float s = frame.scale, above = std::floor(6 * s);
  if (!selected_.empty()) {
    ImGui::Dummy(ImVec2(1, std::floor(3 * s)));
    selection_chip(frame, "confusion.selection", figures_.total, held_out.evaluated(),
                   ImGui::GetContentRegionAvail().x);
    if (figures_.total == 0) {
      centered_text(frame, none_selected_text(selected_.size(), held_out.evaluated()));
      return std::nullopt;
    }
  }
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool footer = room.y >= kFooterFrom * s;
  const float height = room.y - above - (footer ? ImGui::GetFrameHeight() + 8 * s : above);
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + above);
  ImGui::BeginChild("confusion.matrix", ImVec2(room.x, std::max(1.0f, height)), false,
                    ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoNav);
  const MatrixLayout layout =
      arrange_matrix(measure(frame, held_out, ImVec2(room.x - ImGui::GetStyle().ScrollbarSize, height)));
  const ImVec2 cursor = ImGui::GetCursorScreenPos(), origin(std::floor(cursor.x), std::floor(cursor.y));
  const bool clicked = hit_area("confusion.area", ImVec2(layout.width, layout.height));
  trace_item("confusion.area");
  std::optional<MatrixHit> hit;
  if (ImGui::IsItemHovered()) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    hit = hit_matrix(layout, figures_.classes, mouse.x - origin.x, mouse.y - origin.y);
  }
  draw_cells(frame, origin, layout);
  draw_names(frame, held_out, origin, layout, hit.value_or(MatrixHit{}));
  draw_figures(frame, origin, layout);
  const bool on_cell = hit && hit->truth >= 0 && hit->predicted >= 0;
  if (on_cell) {
    const ImVec2 min(origin.x + layout.left + layout.cell_width * static_cast<float>(hit->predicted),
                     origin.y + layout.top + layout.cell_height * static_cast<float>(hit->truth));
    const ImVec2 max(min.x + layout.cell_width, min.y + layout.cell_height);
    const float line = hairline(frame);
    ImDrawList* const list = ImGui::GetWindowDrawList();
    list->AddRect(ImVec2(min.x - line, min.y - line), ImVec2(max.x + line, max.y + line), frame.palette.panel,
                  0, 0, line);
    list->AddRect(min, max, frame.palette.text, 0, 0, line);
  }
  draw_pointed(frame, origin, layout);
  if (hit) describe(frame, held_out, *hit);
  if (clicked && hit) point_at_class(frame, hit->truth >= 0 ? hit->truth : hit->predicted);
  ImGui::EndChild();
  if (footer) draw_footer(frame, held_out);
  return clicked && on_cell ? hit : std::nullopt;
}

/// A frame around the row of the class that is pointed at.
void ConfusionMatrix::draw_pointed(const Frame& frame, ImVec2 origin, const MatrixLayout& layout) const {
  const std::optional<int> label = pointed_class(frame);
  if (!label || *label >= figures_.classes) return;
  const float line = std::max(1.0f, std::floor(1.5f * frame.scale));
  const float top = origin.y + layout.top + layout.cell_height * static_cast<float>(*label);
  const ImVec2 min(origin.x + layout.left - line, top - line);
  const ImVec2 max(origin.x + layout.cells_right(figures_.classes), top + layout.cell_height);
  ImGui::GetWindowDrawList()->AddRect(min, max, frame.palette.accent, 0, 0, line);
  trace_rectangle("confusion.pointed", min, max);
}

// For tests: of how many images it is.
void ConfusionMatrix::trace() {
  if (!trace_enabled()) return;
  std::string now = fmt::format("\"total\":{},\"right\":{},\"selected\":{}", figures_.total, figures_.right,
                                selected_.size());
  trace_change(traced_, "confusion", now);
}

void ConfusionMatrix::draw_cells(const Frame& frame, ImVec2 origin, const MatrixLayout& layout) {
  const ImVec2 start(origin.x + layout.left, origin.y + layout.top);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  if (figures_.classes > kMostNamedClasses) {
    const auto count = static_cast<float>(figures_.classes);
    page_->draw(list, 0, start,
                ImVec2(start.x + layout.cell_width * count, start.y + layout.cell_height * count));
    return;
  }
  const float line = hairline(frame);
  for (int truth = 0; truth < figures_.classes; ++truth) {
    for (int predicted = 0; predicted < figures_.classes; ++predicted) {
      const ImVec2 min(start.x + layout.cell_width * static_cast<float>(predicted),
                       start.y + layout.cell_height * static_cast<float>(truth));
      const ImVec2 max(min.x + layout.cell_width - line, min.y + layout.cell_height - line);
      const images::Rgba fill = cell_colour(figures_, scale_, truth, predicted);
      list->AddRectFilled(min, max, colour(fill));
      if (trace_enabled()) trace_rectangle(fmt::format("confusion.{}.{}", truth, predicted), min, max);
      const std::uint32_t count = figures_.count(truth, predicted);
      if (count == 0) continue;  // the many empty cells stay quiet
      const float room = layout.cell_width - 3 * frame.scale;
      std::string text = with_thousands(std::uint64_t{count});
      if (text_width(frame.fonts.small, text) > room) text = fmt::format("{}", count);
      const float width = text_width(frame.fonts.small, text);
      if (width > room) continue;
      draw_text(list, frame.fonts.small, (min.x + max.x - width) / 2,
                middle_baseline(frame, min.y, max.y - min.y),
                black_reads_better(fill) ? IM_COL32_BLACK : IM_COL32_WHITE, text);
    }
  }
}

void ConfusionMatrix::draw_names(const Frame& frame, const HeldOut& held_out, ImVec2 origin,
                                 const MatrixLayout& layout, const MatrixHit& hit) const {
  const float s = frame.scale, gap = 4 * s, line = std::floor(17 * s);
  const ImFont* const font = frame.fonts.small;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float left = origin.x + layout.left, top = origin.y + layout.top;
  const std::string_view across = "predicted \u2192", down = "truth \u2193";
  if (layout.name_width <= 0) {
    draw_text(list, font, left, middle_baseline(frame, origin.y, line), frame.palette.muted, across);
    constexpr std::string_view kUpright = "\u2190 truth";
    return draw_upright(frame, ImVec2(origin.x, top + text_width(font, kUpright)), frame.palette.muted,
                        kUpright);
  }
  // Above short names, or beside upright ones if there is room.
  const float corner = middle_baseline(frame, top - gap - line, line),
              above = middle_baseline(frame, top - gap - 2 * line, line);
  right_aligned(frame, left - 2 * gap, corner, frame.palette.muted, down);
  if (!layout.turned) {
    draw_text(list, font, left, above, frame.palette.muted, across);
  } else if (text_width(font, across) <= layout.name_width) {
    right_aligned(frame, left - 2 * gap, above, frame.palette.muted, across);
  }
  for (int i = 0; i < figures_.classes; ++i) {
    const std::string name = held_out.class_name(i);
    const float row = top + layout.cell_height * static_cast<float>(i);
    right_aligned(frame, left - 2 * gap, middle_baseline(frame, row, layout.cell_height),
                  hit.truth == i ? frame.palette.text : frame.palette.muted,
                  ellipsize(font, name, layout.name_width));
    const float column = left + layout.cell_width * static_cast<float>(i);
    const ImU32 color = hit.predicted == i ? frame.palette.text : frame.palette.muted;
    const std::string shown =
        ellipsize(font, name, layout.turned ? layout.name_height : layout.cell_width - gap);
    if (layout.turned) {
      draw_upright(frame, ImVec2(column + (layout.cell_width - font_size(font)) / 2, top - gap), color,
                   shown);
    } else {
      draw_text(list, font, column + (layout.cell_width - text_width(font, shown)) / 2,
                middle_baseline(frame, top - gap - line, line), color, shown);
    }
  }
}

void ConfusionMatrix::draw_figures(const Frame& frame, ImVec2 origin, const MatrixLayout& layout) const {
  const float gap = 8 * frame.scale, line = std::floor(17 * frame.scale);
  const ImU32 text = frame.palette.text, muted = frame.palette.muted;
  for (int i = 0; i < figures_.classes && layout.sum_right > 0; ++i) {
    const float row = origin.y + layout.top + layout.cell_height * static_cast<float>(i);
    const float baseline = middle_baseline(frame, row, layout.cell_height);
    right_aligned(frame, origin.x + layout.sum_right, baseline, text,
                  with_thousands(figures_.truths[static_cast<std::size_t>(i)]));
    right_aligned(frame, origin.x + layout.recall_right, baseline, text, percent_text(figures_.recall(i)));
  }
  if (layout.sum_right > 0) {
    const float baseline = middle_baseline(frame, origin.y + layout.top - line - gap / 2, line);
    right_aligned(frame, origin.x + layout.sum_right, baseline, muted, said_of_data(frame, "images"));
    right_aligned(frame, origin.x + layout.recall_right, baseline, muted, "recall");
  }
  if (layout.sum_top > 0) draw_column_figures(frame, origin, layout);
}

// Below the columns: the sign of per cent stands beside the line where the columns are too narrow for it.
void ConfusionMatrix::draw_column_figures(const Frame& frame, ImVec2 origin,
                                          const MatrixLayout& layout) const {
  const ImFont* const font = frame.fonts.small;
  const float line = std::floor(17 * frame.scale), names = origin.x + layout.left - 8 * frame.scale;
  const float sums = middle_baseline(frame, origin.y + layout.sum_top, line);
  const float precisions = middle_baseline(frame, origin.y + layout.precision_top, line);
  const float room = layout.cell_width - 2 * frame.scale;
  const bool narrow = text_width(font, "100.0 %") > room;
  right_aligned(frame, names, sums, frame.palette.muted, said_of_data(frame, "images"));
  right_aligned(frame, names, precisions, frame.palette.muted, narrow ? kPrecisionInPercent : "precision");
  const auto centred = [&](int column, float baseline, std::string_view text) {
    const float width = text_width(font, text);
    if (width > room) return;
    const float middle = origin.x + layout.left + layout.cell_width * (static_cast<float>(column) + 0.5f);
    draw_text(ImGui::GetWindowDrawList(), font, middle - width / 2, baseline, frame.palette.text, text);
  };
  const bool separated =
      std::all_of(figures_.predictions.begin(), figures_.predictions.end(),
                  [&](std::uint64_t sum) { return text_width(font, with_thousands(sum)) <= room; });
  for (int i = 0; i < figures_.classes; ++i) {
    const std::uint64_t sum = figures_.predictions[static_cast<std::size_t>(i)];
    centred(i, sums, separated ? with_thousands(sum) : fmt::format("{}", sum));
    const double precision = figures_.precision(i);
    centred(i, precisions,
            narrow && !std::isnan(precision) ? fmt::format("{:.0f}", std::floor(100 * precision))
                                             : percent_text(precision));
  }
}

void ConfusionMatrix::describe(const Frame& frame, const HeldOut& held_out, const MatrixHit& hit) const {
  if (hit.truth >= 0 && hit.predicted >= 0) {
    std::string text = cell_text(figures_, held_out, hit.truth, hit.predicted);
    if (held_out.count() > 0 && figures_.count(hit.truth, hit.predicted) > 0) {
      const bool all = held_out.evaluated() <= static_cast<std::uint64_t>(held_out.count());
      text += all ? fmt::format("\nClick to see these {}s.", held_out.thing())
                  : std::string("\nClick to see those with the largest losses.");
    }
    return pointer_tip(frame, text);
  }
  pointer_tip(frame, class_text(figures_, held_out, std::max(hit.truth, hit.predicted)));
}

// The scales of the colours, as long as there is room, and how many are right.
void ConfusionMatrix::draw_footer(const Frame& frame, const HeldOut& held_out) const {
  const float s = frame.scale;
  ImGui::SetCursorPosY(ImGui::GetWindowHeight() - ImGui::GetFrameHeight() - std::floor(4 * s));
  const images::ColourBar rights{"right: 0 %", "100 %", [](float part) { return share_colour(part); }};
  const images::ColourBar errors{"wrong: 0 %", fmt::format("{:.3g} %", 100 * scale_),
                                 [](float part) { return error_colour(part, 1); }};
  const float room = ImGui::GetContentRegionAvail().x, gap = 16 * s;
  const float ends =
      images::colour_bar_width(frame, rights, 0) + images::colour_bar_width(frame, errors, 0) + gap;
  const float bar = std::floor(std::min(96 * s, (room - ends) / 2));
  if (bar >= 16 * s) {
    images::colour_bar(frame, rights, bar);
    trace_item("confusion.scale.right");
    tooltip(frame, said_of_data(frame,
                                "Colour of a cell on the diagonal: the part of its row, that is of the "
                                "images of one class, that is classified right."));
    ImGui::SameLine(0, gap);
    images::colour_bar(frame, errors, bar);
    trace_item("confusion.scale.wrong");
    tooltip(
        frame,
        said_of_data(
            frame,
            fmt::format("Colour of a cell beside the diagonal: the part of its row, that is of the images of "
                        "one class, that is taken for another. The scale follows the largest of them, {}.",
                        percent_text(figures_.largest_error()))));
    ImGui::SameLine(0, gap);
  }
  const std::string right =
      fmt::format("{} of {}", with_thousands(figures_.right), with_thousands(figures_.total));
  const std::string unit = fmt::format("{}{} {}s right", selected_.empty() ? "" : "selected ",
                                       training::to_string(held_out.evaluation->split), held_out.thing());
  const float width = text_width(frame.fonts.numbers, right) + text_width(frame.fonts.small, unit) + 5 * s;
  if (ImGui::GetContentRegionAvail().x < width) return ImGui::NewLine();
  value_with_unit(
      frame, right, unit,
      said_of_data(frame, "Images whose most probable class is their truth: the sum of the diagonal."));
}

}  // namespace warpscope::ui
