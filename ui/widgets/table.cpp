#include "ui/widgets/table.h"

#include <algorithm>
#include <cmath>

#include "ui/text/terms.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

// Design pixels.
constexpr float kPadding = 8;  // at each side of a cell, but for the table's own sides
constexpr float kRowHeight = 24;
constexpr float kUnitGap = 4;

constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_Resizable | ImGuiTableFlags_ScrollY |
                                   ImGuiTableFlags_RowBg | ImGuiTableFlags_NoPadOuterX |
                                   ImGuiTableFlags_NoBordersInBody | ImGuiTableFlags_NoSavedSettings |
                                   ImGuiTableFlags_SizingStretchProp;

bool any_sorts(std::span<const Column> columns) {
  return std::any_of(columns.begin(), columns.end(),
                     [](const Column& column) { return column.sort != Column::Sort::none; });
}

// The width of the columns that are shown, with the gaps between them; design pixels.
float least_width(std::span<const Column> columns, const std::vector<bool>& shown) {
  float width = -2 * kPadding;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (shown[i]) width += columns[i].width + 2 * kPadding;
  }
  return std::max(0.0f, width);
}

ImGuiTableColumnFlags sort_flags(Column::Sort sort) {
  switch (sort) {
    case Column::Sort::ascending:
      return ImGuiTableColumnFlags_PreferSortAscending | ImGuiTableColumnFlags_NoSortDescending;
    case Column::Sort::descending:
      return ImGuiTableColumnFlags_PreferSortDescending | ImGuiTableColumnFlags_NoSortAscending;
    case Column::Sort::none:
      break;
  }
  return ImGuiTableColumnFlags_NoSort;
}

}  // namespace

std::string heading_tip(const Column& column) {
  return label_tip(column.label, column.tip);
}

std::vector<bool> columns_that_fit(std::span<const Column> columns, float room) {
  std::vector<bool> shown(columns.size(), true);
  while (least_width(columns, shown) > room) {
    std::size_t worst = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (shown[i] && columns[i].rank > (worst < columns.size() ? columns[worst].rank : 0)) worst = i;
    }
    if (worst == columns.size()) break;
    shown[worst] = false;
  }
  return shown;
}

Table::Table(const Frame& frame, const char* name, std::span<const Column> columns, ImVec2 size,
             int header_rows, const HeaderCell& header_cell)
    : frame_(frame),
      columns_(columns),
      height_(std::max(ImGui::GetFrameHeight(), std::floor(kRowHeight * frame.scale))) {
  const float outer = size.x > 0 ? size.x : ImGui::GetContentRegionAvail().x;
  const float room = outer - ImGui::GetStyle().ScrollbarSize;
  shown_ = columns_that_fit(columns, room / frame.scale);
  const float least = std::ceil(least_width(columns, shown_) * frame.scale);
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, ImVec2(std::floor(kPadding * frame.scale), 0));
  ImGuiTableFlags flags = kFlags;
  if (any_sorts(columns)) flags |= ImGuiTableFlags_Sortable;
  if (least > room) flags |= ImGuiTableFlags_ScrollX;
  left_.assign(columns_.size(), 0);
  right_.assign(columns_.size(), 0);
  open_ = ImGui::BeginTable(name, static_cast<int>(columns.size()), flags, size, least > room ? least : 0);
  if (!open_) return;
  set_up_columns(header_rows);
  draw_header(header_cell);
}

Table::~Table() {
  if (open_) ImGui::EndTable();
  ImGui::PopStyleVar();
}

void Table::set_up_columns(int header_rows) const {
  bool sorted = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    ImGuiTableColumnFlags flags = sort_flags(column.sort);
    if (column.sort != Column::Sort::none && !sorted) {
      flags |= ImGuiTableColumnFlags_DefaultSort;
      sorted = true;
    }
    if (!shown_[i]) flags |= ImGuiTableColumnFlags_Disabled;
    if (column.fixed) {
      ImGui::TableSetupColumn(column.label,
                              flags | ImGuiTableColumnFlags_WidthFixed | ImGuiTableColumnFlags_NoResize,
                              std::floor(column.width * frame_.scale));
    } else {
      ImGui::TableSetupColumn(column.label, flags | ImGuiTableColumnFlags_WidthStretch,
                              column.share > 0 ? column.share : column.width);
    }
  }
  ImGui::TableSetupScrollFreeze(0, header_rows);
}

void Table::draw_header(const HeaderCell& header_cell) {
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers, height_);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!shown_[i]) continue;
    ImGui::TableSetColumnIndex(static_cast<int>(i));
    top_ = ImGui::GetCursorScreenPos().y;
    left_[i] = ImGui::GetCursorScreenPos().x;
    right_[i] = left_[i] + ImGui::GetContentRegionAvail().x;
    if (header_cell == nullptr || !header_cell(*this, i)) draw_label(i);
  }
  const ImVec2 window = ImGui::GetWindowPos();
  const float right = window.x + ImGui::GetWindowWidth(), bottom = top_ + height_;
  ImGui::PushClipRect(ImVec2(window.x, top_), ImVec2(right, bottom), false);
  ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(window.x, bottom - hairline(frame_)),
                                            ImVec2(right, bottom), frame_.palette.grid);
  ImGui::PopClipRect();
}

void Table::draw_label(std::size_t i) {
  const Column& column = columns_[i];
  const ImVec2 min = cell_min(i);
  const ImVec2 max = cell_max(i);
  const bool sorts = column.sort != Column::Sort::none;
  const bool sorted =
      sorts && (ImGui::TableGetColumnFlags(static_cast<int>(i)) & ImGuiTableColumnFlags_IsSorted) != 0;
  if (sorts) {
    ImGui::PushID(static_cast<int>(i));
    ImGui::PushStyleColor(ImGuiCol_Text, 0);  // ImGui's own arrow does not stand in line with the label
    ImGui::TableHeader("##header");
    ImGui::PopStyleColor();
    ImGui::PopID();
  }
  const float icon = sorted ? std::floor(10 * frame_.scale) : 0,
              gap = sorted ? std::floor(4 * frame_.scale) : 0;
  const std::string label = ellipsize(frame_.fonts.small, column.label, max.x - min.x - icon - gap);
  const float width = text_width(frame_.fonts.small, label);
  const float x = column.right ? max.x - width : min.x;
  auto* const list = ImGui::GetWindowDrawList();
  const ImU32 color = sorted ? frame_.palette.accent : frame_.palette.muted;
  draw_text(list, frame_.fonts.small, x, baseline(), color, label);
  if (sorted) {
    const float left = column.right ? x - gap - icon : x + width + gap;
    const float top = std::floor((min.y + max.y - icon) / 2);
    draw_icon(list, Icon::down, ImVec2(left, top), ImVec2(left + icon, top + icon), color);
  }
  if (!sorts) {
    ImGui::SetCursorScreenPos(min);
    ImGui::Dummy(ImVec2(text_width(frame_.fonts.small, column.label), height_));
  }
  std::string tip(label == column.label ? "" : column.label);
  const std::string meaning = heading_tip(column);
  if (!tip.empty() && !meaning.empty()) tip += '\n';
  area_tooltip(frame_, min, max, tip.append(meaning));
}

int Table::newly_sorted() const {
  if (!open_) return -1;
  ImGuiTableSortSpecs* const specs = ImGui::TableGetSortSpecs();
  if (specs == nullptr || !specs->SpecsDirty || specs->SpecsCount < 1) return -1;
  specs->SpecsDirty = false;
  return specs->Specs[0].ColumnIndex;
}

bool Table::row() {
  if (!open_) return false;
  ImGui::TableNextRow(ImGuiTableRowFlags_None, height_);
  ImGui::TableSetColumnIndex(0);
  top_ = ImGui::GetCursorScreenPos().y;
  const auto* const list = ImGui::GetWindowDrawList();
  const float first = list->GetClipRectMin().y;
  const float last = list->GetClipRectMax().y;
  if (top_ + height_ <= first || top_ >= last) return false;
  const float y = ImGui::GetMousePos().y;
  if (ImGui::IsWindowHovered() && y >= std::max(first, top_) && y < std::min(last, top_ + height_)) {
    ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg1, ImGui::GetColorU32(ImGuiCol_TableRowBgAlt, 2.0f));
  }
  return true;
}

void Table::mark(float opacity) const {
  const auto alpha = static_cast<ImU32>(std::lround(255 * opacity));
  ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg1,
                         (frame_.palette.accent & ~IM_COL32_A_MASK) | (alpha << IM_COL32_A_SHIFT));
}

void Table::bring_into_view() const {
  if (!open_) return;
  const auto* const list = ImGui::GetWindowDrawList();
  if (top_ >= list->GetClipRectMin().y && top_ + height_ <= list->GetClipRectMax().y) return;
  ImGui::SetScrollFromPosY(top_ + height_ / 2 - ImGui::GetWindowPos().y, 0.5f);
}

void Table::rows(int count, const std::function<void(int)>& draw) {
  if (!open_) return;
  ImGuiListClipper clipper;
  clipper.Begin(count, height_);
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      if (row()) draw(i);
    }
  }
}

void Table::enter(std::size_t column) {
  ImGui::TableSetColumnIndex(static_cast<int>(column));
}

float Table::baseline() const {
  return row_baseline(frame_, top_ + std::floor((height_ - ImGui::GetFrameHeight()) / 2));
}

void Table::begin_cell(std::size_t column, float content_width) {
  enter(column);
  // A double click on a column's edge makes the column as wide as its items.
  ImGui::SetCursorScreenPos(cell_min(column));
  ImGui::Dummy(ImVec2(content_width, height_));
}

void Table::text(std::size_t column, std::string_view text, ImU32 color, std::string_view tip) {
  if (!shown_[column]) return;
  begin_cell(column, text_width(frame_.fonts.text, text));
  draw_cell(frame_.fonts.text, cell_min(column), cell_max(column), columns_[column].right, text, color, tip);
}

void Table::number(std::size_t column, std::string_view text, ImU32 color, std::string_view tip,
                   std::string_view unit) {
  if (!shown_[column]) return;
  if (text.empty()) unit = {};
  const ImFont* const small = frame_.fonts.small;
  const float unit_width = unit.empty() ? 0 : std::floor(kUnitGap * frame_.scale) + text_width(small, unit);
  begin_cell(column, text_width(frame_.fonts.numbers, text) + unit_width);
  const ImVec2 min = cell_min(column), max = cell_max(column);
  draw_cell(frame_.fonts.numbers, min, ImVec2(max.x - unit_width, max.y), columns_[column].right, text, color,
            tip);
  draw_text(ImGui::GetWindowDrawList(), small, max.x - text_width(small, unit), baseline(),
            frame_.palette.muted, unit);
}

void Table::quantity(std::size_t column, std::string_view text, ImU32 color, std::string_view tip) {
  const std::size_t space = text.rfind(' ');
  if (space == std::string_view::npos) return number(column, text, color, tip);
  number(column, text.substr(0, space), color, tip, text.substr(space + 1));
}

void Table::span_text(std::size_t first, std::size_t last, std::string_view text, ImU32 color,
                      std::string_view tip) {
  span(first, last,
       [&](ImVec2 min, ImVec2 max) { draw_cell(frame_.fonts.text, min, max, false, text, color, tip); });
}

void Table::span(std::size_t first, std::size_t last,
                 const std::function<void(ImVec2 min, ImVec2 max)>& draw) {
  while (first < last && !shown_[first]) ++first;
  while (last > first && !shown_[last]) --last;
  if (!shown_[first]) return;
  enter(first);
  const ImVec2 min = cell_min(first), max = cell_max(last);
  // ImGui clips what is drawn to its column; this goes beyond, but not out of the table.
  const auto* const list = ImGui::GetWindowDrawList();
  const ImVec2 window = ImGui::GetWindowPos();
  ImGui::PushClipRect(ImVec2(std::max(min.x, window.x), list->GetClipRectMin().y),
                      ImVec2(std::min(max.x, window.x + ImGui::GetWindowWidth()), list->GetClipRectMax().y),
                      false);
  draw(min, max);
  ImGui::PopClipRect();
}

void Table::draw_cell(const ImFont* font, ImVec2 min, ImVec2 max, bool right, std::string_view text,
                      ImU32 color, std::string_view tip) {
  const std::string shown = ellipsize(font, text, max.x - min.x);
  const float x = right ? max.x - text_width(font, shown) : min.x;
  draw_text(ImGui::GetWindowDrawList(), font, x, baseline(), color, shown);
  std::string all(shown == text ? std::string_view() : text);
  if (!all.empty() && !tip.empty()) all += '\n';
  area_tooltip(frame_, min, max, all.append(tip));
}

}  // namespace warpscope::ui
