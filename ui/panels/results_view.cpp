#include "ui/panels/results_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "ui/panels/data_texts.h"
#include "ui/settings/steering.h"
#include "ui/text/terms.h"
#include "ui/widgets/value_field.h"
#include "ui/widgets/widgets.h"

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

// Where the values of the two columns stand: all groups of rows share them.
struct Columns {
  bool two = false;
  float second = 0;               ///< left edge of the second column
  float values = 0, values2 = 0;  ///< from the left edge of its column
};

Columns columns_of(const Frame& frame, std::span<const std::vector<ResultCell>> groups) {
  const float room = ImGui::GetContentRegionAvail().x;
  Columns columns{room >= 2 * kLeastCell * frame.scale, std::floor(room / 2), value_left(frame),
                  value_left(frame)};
  for (const auto& cells : groups) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      float& values = columns.two && i % 2 == 1 ? columns.values2 : columns.values;
      values = std::max(values, text_width(frame.fonts.text, cells[i].label) + 10 * frame.scale);
    }
  }
  return columns;
}

void draw_cells(const Frame& frame, std::span<const ResultCell> cells, const Columns& columns) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const ResultCell& cell = cells[i];
    const bool right = columns.two && i % 2 == 1;
    const std::string tip = said_of_data(frame, label_tip(cell.label, cell.tip));
    if (right) ImGui::SameLine(columns.second);
    row_text(frame, frame.fonts.text, frame.palette.muted, cell.label);
    tooltip(frame, tip);
    ImGui::SameLine(right ? columns.second + columns.values2 : columns.values);
    value_with_unit(frame, cell.value, cell.unit, tip);
  }
}

void draw_folder(const Frame& frame, float left) {
  const std::string& folder = frame.snapshot.run_dir;
  row_text(frame, frame.fonts.text, frame.palette.muted, "run folder");
  ImGui::SameLine(left);
  const float room = ImGui::GetContentRegionAvail().x;
  // The end of a path tells more than its start.
  std::string shown = folder.empty() ? "not written" : folder;
  while (shown.size() > 4 && text_width(frame.fonts.text, shown) > room) shown = "..." + shown.substr(4);
  row_text(frame, frame.fonts.text, folder.empty() ? frame.palette.muted : frame.palette.text, shown);
  tooltip(frame, folder.empty() ? "No run is written; start with a run folder to keep one." : folder);
}

/// Buttons that save a checkpoint or the settings.
void draw_buttons(const Frame& frame) {
  const Steering steering(frame);
  const bool written = !frame.snapshot.run_dir.empty();
  const std::string why_not = why_no_saving(frame.snapshot);
  if (text_button(frame, "training.save_checkpoint", "Save checkpoint",
                  !why_not.empty() ? why_not
                  : written        ? "Write a checkpoint to the run folder now"
                                   : "No run is written: there is no folder for it",
                  written && why_not.empty())) {
    frame.send(training::SaveCheckpoint{});
  }
  ImGui::SameLine();
  if (text_button(
          frame, "training.save_settings", "Save settings",
          !why_not.empty()
              ? why_not
              : "Write all settings as they are now to the TOML file of --config, else to training.toml",
          why_not.empty())) {
    frame.send(training::SaveSettings{});
  }
}

}  // namespace

void ResultsView::update(const Frame& frame) {
  checkpoint_ = observe_checkpoint(checkpoint_, frame.snapshot.checkpoint_step, ImGui::GetTime(), first_);
  if (frame.snapshot.state != training::TrainerState::preparing) first_ = false;
}

void ResultsView::draw(const Frame& frame) const {
  const auto& snapshot = frame.snapshot;
  if (checkpoint_.seen >= 0)
    redraw_at(frame, checkpoint_.seen + ago_text_end(ImGui::GetTime() - checkpoint_.seen));
  const std::array groups{loss_cells(snapshot), step_cells(snapshot),
                          run_cells(snapshot, checkpoint_, ImGui::GetTime())};
  const Columns columns = columns_of(frame, groups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) separate(frame);
    draw_cells(frame, groups[i], columns);
  }
  draw_folder(frame, columns.values);
  draw_buttons(frame);
}

}  // namespace warpscope::ui
