#include "ui/panels/results_view.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "ui/value_field.h"
#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kLeastCell = 200;  // design pixels: with less room there is one column

// A hairline with some air between groups of rows.
void separate(const Frame& frame) {
  ImGui::Dummy(ImVec2(1, 3 * frame.scale));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddRectFilled(
      at, ImVec2(at.x + ImGui::GetContentRegionAvail().x, at.y + hairline(frame)), frame.palette.grid);
  ImGui::Dummy(ImVec2(1, 4 * frame.scale));
}

void draw_cells(const Frame& frame, std::span<const ResultCell> cells) {
  const float room = ImGui::GetContentRegionAvail().x, label = value_left(frame);
  const bool two = room >= 2 * kLeastCell * frame.scale;
  const float second = std::floor(room / 2);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const ResultCell& cell = cells[i];
    const bool right = two && i % 2 == 1;
    if (right) ImGui::SameLine(second);
    const float left = right ? second : 0;
    row_text(frame, frame.fonts.text, frame.palette.muted, cell.label);
    tooltip(frame, cell.tip);
    ImGui::SameLine(left + std::max(label, text_width(frame.fonts.text, cell.label) + 8 * frame.scale));
    value_with_unit(frame, cell.value, cell.unit, cell.tip);
  }
}

void draw_folder(const Frame& frame) {
  const std::string& folder = frame.snapshot.run_dir;
  row_text(frame, frame.fonts.text, frame.palette.muted, "run folder");
  ImGui::SameLine(value_left(frame));
  const float room = ImGui::GetContentRegionAvail().x;
  // The end of a path tells more than its start.
  std::string shown = folder.empty() ? "not written" : folder;
  while (shown.size() > 4 && text_width(frame.fonts.text, shown) > room) shown = "..." + shown.substr(4);
  row_text(frame, frame.fonts.text, folder.empty() ? frame.palette.muted : frame.palette.text, shown);
  tooltip(frame, folder.empty() ? "No run is written; start with a run folder to keep one." : folder);
}

}  // namespace

void ResultsView::update(const Frame& frame) {
  news_ = observe_checkpoint(news_, frame.snapshot.checkpoint_step, ImGui::GetTime(), first_);
  if (frame.snapshot.state != training::TrainerState::preparing) first_ = false;
}

void ResultsView::draw(const Frame& frame) const {
  draw_cells(frame, loss_cells(frame.snapshot));
  separate(frame);
  draw_cells(frame, step_cells(frame.snapshot));
  separate(frame);
  draw_cells(frame, run_cells(frame.snapshot, news_, ImGui::GetTime()));
  draw_folder(frame);
}

}  // namespace warpscope::ui
