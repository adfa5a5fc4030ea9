#include "ui/panels/training/training_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/settings/augment_settings.h"
#include "ui/images/byte_colours.h"
#include "ui/panels/data_texts.h"
#include "ui/settings/setting_spec.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"
#include "ui/text/terms.h"
#include "ui/widgets/value_field.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::OptimizerSettings;
using training::TrainerState;

constexpr std::array<const char*, 5> kTabs{"Results", "Optimizer", "Schedule", "Finder", "Augment"};

// A hairline with `air` design pixels above it: under what belongs to all tabs, between groups of rows.
void rule_off(const Frame& frame, float air) {
  ImGui::Dummy(ImVec2(1, air * frame.scale));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddRectFilled(
      at, ImVec2(at.x + ImGui::GetContentRegionAvail().x, at.y + hairline(frame)), frame.palette.grid);
  ImGui::Dummy(ImVec2(1, 4 * frame.scale));
}

bool takes_commands(TrainerState state) {
  return state == TrainerState::running || state == TrainerState::paused;
}

constexpr const char* kFaulty = "after each image (a mistake)";
constexpr const char* kSchemeTip =
    "A mistake that is easily made, kept to watch it fail: each image of the batch changes weights and "
    "optimizer state, at once with the others, instead of the batch as a whole. Momentum and second moments "
    "decay once an image instead of once a step, and the rate counts as many times over as the batch has "
    "images: momentum and adam diverge. Switched off, gradients are averaged first and the update runs once, "
    "and the training recovers.";

std::string why_not_per_sample(const Frame& frame, const OptimizerSettings& settings) {
  try {
    training::check_together(frame.snapshot.settings->augment, with_scheme(settings, true));
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return {};
}

constexpr float kLeastCell = 200;  // design pixels: with less room there is one column

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

/// The unit of a value in the left one of two columns, as far as it has room before the right one.
std::string left_unit(const Frame& frame, const ResultCell& cell, const Columns& columns) {
  const float room = columns.second - columns.values - text_width(frame.fonts.numbers, cell.value);
  return ellipsize(frame.fonts.small, cell.unit, room - 16 * frame.scale);
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
    const bool shares = columns.two && !right;
    value_with_unit(frame, cell.value, shares ? left_unit(frame, cell, columns) : cell.unit, tip);
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

constexpr float kSide = 48, kPartGap = 4;  // of a picture, design pixels

/// Why the setting cannot be switched on beside this optimizer, or "".
std::string why_not_on(const training::Setting& row, const training::OptimizerSettings& optimizer) {
  if (row.field.kind == training::Kind::boolean) return {};
  training::Value one = 1.0;
  if (row.field.kind == training::Kind::integer) one = std::int64_t{1};
  try {
    training::TrainingSettings on;
    row.field.set(on, one);
    check_together(on.augment, optimizer);
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return {};
}

void draw_rule(const Frame& frame, SettingsController& controller) {
  const OptimizerSettings settings = controller.settings(frame).optimizer;
  row_text(frame, frame.fonts.text, frame.palette.muted, "rule");
  tooltip(frame, explain("rule"));
  ImGui::SameLine(value_left(frame));
  const std::string now(ops::to_string(settings.rule));
  const float beside = text_button_width(frame, "Defaults");
  if (begin_combo(
          frame, "training.rule", now, choice_width(frame, beside),
          "The rule that changes the weights from their gradients. Another rule goes on with the same "
          "weights; its state (velocity, running means) starts fresh, and its numbers are its defaults.")) {
    for (const ops::RuleRow& row : ops::kUpdateRules) {
      const std::string name = fmt::format("training.rule.{}", row.name);
      if (combo_item(frame, name.c_str(), row.name, row.rule == settings.rule, row.summary) &&
          row.rule != settings.rule) {
        controller.send(frame, with_rule(settings, row.rule));
      }
    }
    end_combo();
  }
  same_line_if_fits(frame, beside);
  const OptimizerSettings defaults = with_rule(settings, settings.rule);
  const bool differs = !(defaults == settings);
  if (text_button(frame, "training.defaults", "Defaults",
                  differs ? fmt::format("The numbers that {} starts with: learning rate {:g}, ... Clipping, "
                                        "micro-batches and when the weights change stay.",
                                        now, defaults.learning_rate)
                          : fmt::format("These are the numbers that {} starts with.", now),
                  differs)) {
    controller.send(frame, defaults);
  }
}

void draw_accumulate(const Frame& frame, SettingsController& controller, Refusal& refusal) {
  const OptimizerSettings settings = controller.settings(frame).optimizer;
  const training::Setting& row = training::setting("accumulate");
  ValueSpec spec = spec_of(row);
  const int batch = frame.snapshot.settings->batch;
  spec.unit = said_of_data(frame, update_images_text(settings, batch));
  if (frame.snapshot.train_images > 0 && batch > 0) {
    const auto most = frame.snapshot.train_images / batch;  // whole ones
    spec.limits.most = std::min(spec.limits.most, std::max(1.0, static_cast<double>(most)));
  }
  controller.draw(frame, row, std::move(spec), refusal,
                  settings.per_sample ? "Each image updates by itself: there is nothing to accumulate." : "");
}

void draw_scheme(const Frame& frame, SettingsController& controller) {
  const OptimizerSettings settings = controller.settings(frame).optimizer;
  bool faulty = settings.per_sample;
  row_text(frame, frame.fonts.text, frame.palette.muted, "update");
  tooltip(frame, kSchemeTip);
  ImGui::SameLine(value_left(frame));
  const float width = text_width(frame.fonts.text, kFaulty) + 16 * frame.scale;
  if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
  const std::string refused = settings.per_sample ? std::string() : why_not_per_sample(frame, settings);
  ImGui::BeginDisabled(!refused.empty());
  if (toggle(frame, "training.per_sample", kFaulty, &faulty, refused.empty() ? kSchemeTip : refused)) {
    controller.send(frame, with_scheme(settings, faulty));
  }
  ImGui::EndDisabled();
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  auto* const list = ImGui::GetWindowDrawList();
  if (!settings.per_sample) {
    list->AddRect(min, max, blend(frame.palette.warning, frame.palette.panel, 0.45f), 3 * frame.scale);
    return;
  }
  list->AddRect(min, max, frame.palette.warning, 3 * frame.scale, 0, std::max(1.0f, 1.5f * frame.scale));
  ImGui::SetCursorPosX(min.x - ImGui::GetWindowPos().x);
  paragraph(frame.fonts.small, frame.palette.warning,
            "Faulty on purpose: each image changes weights and state at once with the others. Momentum and "
            "adam diverge; switch it off and see them recover.");
}

/// The "Optimizer" tab: rule, its numbers, clipping, what counts as a loss that diverges, accumulation, and the faulty
/// scheme.
void draw_optimizer(const Frame& frame, SettingsController& controller, Refusal& refusal) {
  draw_rule(frame, controller);
  const OptimizerSettings settings = controller.settings(frame).optimizer;
  for (const training::Setting* const row : training::numbers_of(settings.rule, settings.per_sample)) {
    const std::string_view name = row->name;
    const std::string why_not = name == "joint" ? training::why_no_head(frame.snapshot) : std::string();
    if (name != "learning_rate") controller.draw(frame, *row, refusal, why_not);
  }
  controller.draw(frame, training::setting("zscore"), refusal);
  draw_accumulate(frame, controller, refusal);
  draw_scheme(frame, controller);
}

}  // namespace

void AugmentView::refresh(const Frame& frame) {
  if (frame.request != nullptr) frame.request->augmented = true;
  if (frame.seen.augmented == seen_) return;
  seen_ = frame.seen.augmented;
  if (!seen_) return;
  const data::ImageSet& set = seen_->images;
  const interop::PageShape shape =
      interop::make_page(static_cast<int>(set.count), set.width, set.height, interop::Texture::largest());
  if (!page_ || page_->shape() != shape) page_ = std::make_unique<interop::TilePage>(shape, frame.textures);
  for (int i = 0; i < static_cast<int>(set.count); ++i) {
    page_->upload(i, images::byte_colours(set, i).data());
  }
  trace_event("augmented", fmt::format("\"step\":{},\"images\":{}", seen_->step, set.count));
}

void AugmentView::draw_pictures(const Frame& frame) {
  if (!seen_ || !page_) return;
  const float s = frame.scale;
  const data::ImageSet& set = seen_->images;
  const std::string mixed =
      seen_->own_share < 1 ? fmt::format("; {:.0f} % of each is its own", 100 * seen_->own_share) : "";
  const std::string text =
      fmt::format("the coming batch, after step {}{}", with_thousands(seen_->step), mixed);
  caption(frame, ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
  const float unit = std::floor(kSide * s) / static_cast<float>(std::max(set.width, set.height));
  const float width = std::max(1.0f, std::floor(unit * static_cast<float>(set.width)));
  const float height = std::max(1.0f, std::floor(unit * static_cast<float>(set.height)));
  const float gap = std::floor(kPartGap * s), room = ImGui::GetContentRegionAvail().x;
  const int columns = std::max(1, static_cast<int>((room + gap) / (width + gap)));
  const int count = std::min(static_cast<int>(set.count), page_->shape().tiles());
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  for (int i = 0; i < count; ++i) {
    const int row = i / columns, column = i % columns;
    const ImVec2 min(corner.x + static_cast<float>(column) * (width + gap),
                     corner.y + static_cast<float>(row) * (height + gap));
    page_->draw(ImGui::GetWindowDrawList(), i, min, ImVec2(min.x + width, min.y + height));
  }
  const int rows = (count + columns - 1) / columns;
  ImGui::Dummy(ImVec2(room, static_cast<float>(rows) * (height + gap)));
  trace_item("training.augmented");
}

void AugmentView::draw(const Frame& frame, SettingsController& controller, bool able, Refusal& refusal) {
  if (trains_on_texts(frame))
    return paragraph(frame.fonts.text, frame.palette.muted, "Texts are not augmented.");
  ImGui::BeginDisabled(!able);
  for (const training::Setting* const row : training::augment_rows()) {
    controller.draw(frame, *row, refusal, why_not_on(*row, frame.snapshot.settings->optimizer));
  }
  ImGui::EndDisabled();
  refresh(frame);
  draw_pictures(frame);
}

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
    if (i > 0) rule_off(frame, 3);
    draw_cells(frame, groups[i], columns);
  }
  draw_folder(frame, columns.values);
  draw_buttons(frame);
}

training::OptimizerSettings with_scheme(training::OptimizerSettings settings, bool per_sample) {
  settings.per_sample = per_sample;
  if (per_sample) settings.accumulate = 1;
  return settings;
}

std::string update_images_text(const training::OptimizerSettings& settings, int batch) {
  if (batch <= 0) return "";
  if (settings.per_sample) return fmt::format("each of {} updates", files::counted(batch, "image"));
  if (settings.accumulate == 1) return files::counted(batch, "image") + " an update";
  return fmt::format("\u00d7 {} = {} an update", with_thousands(batch),
                     files::counted(static_cast<std::int64_t>(settings.accumulate) * batch, "image"));
}

std::span<const char* const> TrainingPanel::tabs() {
  return kTabs;
}

void TrainingPanel::draw_batch(const Frame& frame) {
  const training::Setting& row = training::setting("batch");
  ValueSpec spec = spec_of(row);
  spec.tip += " Enter applies it: the plan is built anew, the weights go on.";
  spec.zero_text = std::string(1, '-');  // until the device is known
  spec.unit = said_of_data(frame, "images");
  if (frame.snapshot.train_images > 0)
    spec.limits.most = std::min(spec.limits.most, static_cast<double>(frame.snapshot.train_images));
  controller_.draw(frame, row, std::move(spec), refusal_);
}

void TrainingPanel::draw_tab(const Frame& frame, bool able) {
  const Steering steering(frame);
  ImGui::BeginDisabled(!able);
  switch (tab_) {
    case kOptimizer:
      draw_optimizer(frame, controller_, refusal_);
      break;
    case kSchedule:
      schedule_.draw(frame, controller_, refusal_);
      break;
    default:
      finder_.draw(frame, controller_, refusal_);
      break;
  }
  ImGui::EndDisabled();
}

/// The controls above all tabs.
void TrainingPanel::draw_settings(const Frame& frame, bool able) {
  const Steering steering(frame);
  ImGui::BeginDisabled(!able);
  controller_.draw(frame, training::setting("learning_rate"), refusal_);
  draw_batch(frame);
  ImGui::EndDisabled();
}

void TrainingPanel::draw(const Frame& frame) {
  results_.update(frame);
  if (panel_tabs(frame, "training", kTabs, &tab_)) refusal_ = {};
  panel_body(frame);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * frame.scale, 2 * frame.scale));
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  const bool able = takes_commands(frame.snapshot.state);
  draw_settings(frame, able);
  rule_off(frame, 2);
  // Results are read, not changed: they are as good after the end.
  if (tab_ == kResults) {
    results_.draw(frame);
  } else if (tab_ == kAugment) {
    const Steering steering(frame);
    augment_.draw(frame, controller_, able, refusal_);
  } else {
    draw_tab(frame, able);
  }
  ImGui::PopStyleVar();
}

}  // namespace warpscope::ui
