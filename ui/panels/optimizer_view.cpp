#include "ui/panels/optimizer_view.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/settings/augment_settings.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/optimizer_words.h"
#include "ui/settings/setting_spec.h"
#include "ui/text/paragraph.h"
#include "ui/text/terms.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::OptimizerSettings;

constexpr const char* kFaulty = "after each image (a mistake)";
constexpr const char* kSchemeTip =
    "A mistake that is easily made, kept to watch it fail: each image of the batch changes weights and "
    "optimizer state, at once with the others, instead of the batch as a whole. Momentum and second moments "
    "decay once an image "
    "instead of once a step, and the rate counts as many times over as the batch has images: momentum and "
    "adam diverge. "
    "Switched off, gradients are averaged first and the update runs once, and the training recovers.";

std::string why_not_per_sample(const Frame& frame, const OptimizerSettings& settings) {
  try {
    training::check_together(frame.snapshot.settings->augment, with_scheme(settings, true));
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return {};
}

}  // namespace

void OptimizerView::draw_rate(const Frame& frame, SettingsController& controller, Refusal& refusal) {
  controller.draw(frame, training::setting("learning_rate"), refusal);
}

void OptimizerView::draw_rule(const Frame& frame, SettingsController& controller) {
  const OptimizerSettings settings = controller.settings(frame).optimizer;
  row_text(frame, frame.fonts.text, frame.palette.muted, "rule");
  tooltip(frame, explain("rule"));
  ImGui::SameLine(value_left(frame));
  const std::string now(ops::to_string(settings.rule));
  const float beside = text_button_width(frame, "Defaults");
  if (begin_combo(
          frame, "training.rule", now, choice_width(frame, beside),
          "The rule that changes the weights from their gradients. Another rule goes on with the same "
          "weights; its state (velocity, running means) starts fresh, and its numbers are its "
          "defaults.")) {
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
  if (text_button(
          frame, "training.defaults", "Defaults",
          differs ? fmt::format(
                        "The numbers that {} starts with: learning rate {:g}, ... Clipping, micro-batches "
                        "and when the weights change stay.",
                        now, defaults.learning_rate)
                  : fmt::format("These are the numbers that {} starts with.", now),
          differs)) {
    controller.send(frame, defaults);
  }
}

void OptimizerView::draw_accumulate(const Frame& frame, SettingsController& controller, Refusal& refusal) {
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

void OptimizerView::draw_scheme(const Frame& frame, SettingsController& controller) {
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

void OptimizerView::draw(const Frame& frame, SettingsController& controller, Refusal& refusal) {
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

}  // namespace warpscope::ui
