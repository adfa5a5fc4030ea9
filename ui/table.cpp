#include "ui/table.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kGap = 12;  // design pixels

}  // namespace

ColumnEdges column_edges(std::span<const Column> columns, float room, float scale) {
  std::vector<bool> shown(columns.size(), true);
  float spare = room / scale + kGap;
  for (const Column& column : columns) spare -= column.least + kGap;
  while (spare < 0) {
    std::size_t worst = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (shown[i] && columns[i].rank > (worst < columns.size() ? columns[worst].rank : 0)) worst = i;
    }
    if (worst == columns.size()) break;
    shown[worst] = false;
    spare += columns[worst].least + kGap;
  }
  float growth = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (shown[i]) growth += columns[i].most - columns[i].least;
  }
  const float part = growth > 0 ? std::clamp(spare / growth, 0.0f, 1.0f) : 0;
  ColumnEdges edges;
  float x = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    const float width = shown[i] ? column.least + part * (column.most - column.least) : 0;
    edges.left.push_back(std::floor(x * scale));
    edges.right.push_back(std::floor((x + width) * scale));
    if (shown[i]) edges.width = edges.right.back();
    x += shown[i] ? width + kGap : 0;
  }
  return edges;
}

Table::Table(const Frame& frame, const char* name, std::span<const Column> columns)
    : frame_(frame),
      columns_(columns),
      height_(std::max(ImGui::GetFrameHeight(), std::floor(22 * frame.scale))) {
  const float scrollbar = ImGui::GetStyle().ScrollbarSize;
  edges_ = column_edges(columns, ImGui::GetContentRegionAvail().x - scrollbar, frame.scale);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild(name, ImVec2(0, 0), false, ImGuiWindowFlags_HorizontalScrollbar);
  origin_ = ImGui::GetCursorScreenPos();
  draw_header();
  ImGui::SetCursorScreenPos(ImVec2(origin_.x, origin_.y + height_ + hairline(frame)));
  ImGui::BeginChild("rows", ImVec2(edges_.width + scrollbar, 0));
  origin_ = ImGui::GetCursorScreenPos();
}

Table::~Table() {
  if (!first_) ImGui::SetCursorScreenPos(ImVec2(origin_.x, origin_.y + height_));
  ImGui::Dummy(ImVec2(1, std::floor(4 * frame_.scale)));
  ImGui::EndChild();
  ImGui::EndChild();
  ImGui::PopStyleVar();
}

void Table::draw_header() const {
  auto* const list = ImGui::GetWindowDrawList();
  const float baseline =
      row_baseline(frame_, origin_.y + std::floor((height_ - ImGui::GetFrameHeight()) / 2));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!shows(i)) continue;
    const float left = origin_.x + edges_.left[i], right = origin_.x + edges_.right[i];
    const float width = text_width(frame_.fonts.small, columns_[i].label);
    draw_text(list, frame_.fonts.small, columns_[i].right ? right - width : left, baseline,
              frame_.palette.muted, columns_[i].label);
    ImGui::SetCursorScreenPos(ImVec2(left, origin_.y));
    ImGui::Dummy(ImVec2(right - left, height_));
    tooltip(frame_, columns_[i].tip);
  }
  const float y = origin_.y + height_;
  list->AddRectFilled(ImVec2(origin_.x, y), ImVec2(origin_.x + edges_.width, y + hairline(frame_)),
                      frame_.palette.grid);
}

bool Table::row() {
  if (!first_) origin_.y += height_;
  first_ = false;
  const ImVec2 end(origin_.x + edges_.width, origin_.y + height_);
  ImGui::SetCursorScreenPos(origin_);
  ImGui::Dummy(ImVec2(edges_.width, height_));
  if (!ImGui::IsItemVisible()) return false;
  if (ImGui::IsMouseHoveringRect(origin_, end) && ImGui::IsWindowHovered()) {
    ImGui::GetWindowDrawList()->AddRectFilled(origin_, end, ImGui::GetColorU32(ImGuiCol_TableRowBgAlt, 2.0f));
  }
  return true;
}

void Table::text(std::size_t column, std::string_view text, ImU32 color, std::string_view tip) {
  cell(frame_.fonts.text, cell_min(column), cell_max(column), columns_[column].right, text, color, tip);
}

void Table::span_text(std::size_t first, std::size_t last, std::string_view text, ImU32 color,
                      std::string_view tip) {
  while (last > first && !shows(last)) --last;
  cell(frame_.fonts.text, cell_min(first), cell_max(last), false, text, color, tip);
}

void Table::number(std::size_t column, std::string_view text, ImU32 color, std::string_view tip) {
  cell(frame_.fonts.numbers, cell_min(column), cell_max(column), columns_[column].right, text, color, tip);
}

ImVec2 Table::cell_min(std::size_t column) const {
  return {origin_.x + edges_.left[column], origin_.y};
}

ImVec2 Table::cell_max(std::size_t column) const {
  return {origin_.x + edges_.right[column], origin_.y + height_};
}

void Table::cell(const ImFont* font, ImVec2 min, ImVec2 max, bool right, std::string_view text, ImU32 color,
                 std::string_view tip) {
  if (max.x <= min.x) return;
  const std::string shown = ellipsize(font, text, max.x - min.x);
  const float x = right ? max.x - text_width(font, shown) : min.x;
  const float baseline = row_baseline(frame_, min.y + std::floor((height_ - ImGui::GetFrameHeight()) / 2));
  draw_text(ImGui::GetWindowDrawList(), font, x, baseline, color, shown);
  ImGui::SetCursorScreenPos(min);
  ImGui::Dummy(ImVec2(max.x - min.x, height_));
  if (!ImGui::IsItemHovered()) return;
  std::string whole(shown == text ? std::string_view() : text);
  if (!whole.empty() && !tip.empty()) whole += '\n';
  tooltip(frame_, whole.append(tip));
}

}  // namespace warpscope::ui
