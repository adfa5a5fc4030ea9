#include "ui/panels/loss_panel.h"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

constexpr int kTrain = 0, kTest = 1, kBefore = 7;  // of Palette::series

// A legend entry: a stroke in the curve's colour, its name, the newest value. Clicking shows or hides the
// curve.
void legend_item(const Frame& frame, const char* name, const char* label, const plot::Series& series,
                 ImU32 color, bool* shown, const char* tip) {
  const float s = frame.scale;
  const std::string value =
      series.empty() ? std::string() : compact_number(static_cast<double>(series.y(series.size() - 1)), 4);
  const float label_width = text_width(frame.fonts.text, label);
  const float value_width = value.empty() ? 0 : text_width(frame.fonts.numbers, "0.00000") + 6 * s;
  const float width = 18 * s + label_width + value_width;
  if (ImGui::InvisibleButton(name, ImVec2(width, ImGui::GetFrameHeight()))) *shown = !*shown;
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  auto* const list = ImGui::GetWindowDrawList();
  const float middle = std::floor((min.y + max.y) / 2), baseline = row_baseline(frame, min.y);
  const ImU32 text = *shown || ImGui::IsItemHovered() ? frame.palette.text : frame.palette.muted;
  list->AddRectFilled(ImVec2(min.x, middle - s), ImVec2(min.x + 12 * s, middle + s),
                      *shown ? color : frame.palette.grid);
  draw_text(list, frame.fonts.text, min.x + 18 * s, baseline, text, label);
  if (!value.empty()) {
    draw_text(list, frame.fonts.numbers, min.x + 24 * s + label_width, baseline,
              *shown ? text : frame.palette.muted, value);
  }
  trace_item(name);
  tooltip(frame, tip);
  ImGui::SameLine(0, 16 * s);
}

}  // namespace

void LossPanel::draw_legend(const Frame& frame, PlotSettings& settings) {
  legend_item(frame, "loss.legend.train", "train", history_.smoothed(), frame.palette.series[kTrain],
              &settings.show_train,
              "Loss of each training step: mean squared error over the batch, written by the device at the "
              "end of the "
              "step. The number is the smoothed curve's newest value. Click to hide or show.");
  legend_item(frame, "loss.legend.test", "test", history_.test(), frame.palette.series[kTest],
              &settings.show_test,
              "Mean squared error over the test images, which are never trained on. Click to hide or show.");
  if (history_.before().empty()) return;
  legend_item(frame, "loss.legend.before", "before reset", {}, frame.palette.series[kBefore],
              &settings.show_before,
              "The smoothed training curve before the last reset, to compare with. Click to hide or show.");
}

void LossPanel::draw_options(const Frame& frame, PlotSettings& settings) {
  const float s = frame.scale;
  toggle(frame, "loss.log", "log", &settings.logarithmic,
         "Logarithmic loss axis: equal ratios take equal room.");
  ImGui::SameLine(0, 8 * s);
  static constexpr const char* kAxes[] = {"steps", "time"};
  int axis = settings.over_time ? 1 : 0;
  if (segmented(frame, "loss.x", kAxes, &axis,
                "Horizontal axis: training steps, or seconds of training without pauses.")) {
    settings.over_time = axis == 1;
    plot::fit(view_);
  }
  ImGui::SameLine(0, 8 * s);
  if (toggle(
          frame, "loss.follow", "follow", &view_.follow,
          "Keep the newest step in view. Wheel: zoom at the pointer. Drag: move. Shift-drag: zoom to a box. "
          "Double-click: show everything.") &&
      view_.follow) {
    view_.fit_y = true;
  }
  if (!view_.follow) view_.fit_x = false;
  ImGui::SameLine(0, 8 * s);
  if (icon_button(frame, "loss.fit", Icon::fit, "Show everything (double-click in the plot)"))
    plot::fit(view_);
  ImGui::SameLine(0, 12 * s);
  caption(frame, "smooth");
  ImGui::SameLine(0, 4 * s);
  const std::string text =
      settings.smoothing_steps < 1.05f
          ? "off"
          : fmt::format("{:.3f}", plot::weight_for(static_cast<double>(settings.smoothing_steps)));
  slider(frame, "loss.smoothing", &settings.smoothing_steps, 1, 1000, text.c_str(),
         std::min(200 * s, ImGui::GetContentRegionAvail().x),
         "Exponential moving average of the training loss, without the bias of its start: the weight of the "
         "past. "
         "0.95 averages about 20 steps. The raw curve stays beneath.",
         true);
}

void LossPanel::draw(const Frame& frame, PlotSettings& settings) {
  history_.set_over_time(settings.over_time);
  history_.set_smoothing(settings.smoothing_steps < 1.05f ? 1.0
                                                          : static_cast<double>(settings.smoothing_steps));
  begin_panel(frame, "Loss");
  draw_legend(frame, settings);
  panel_body(frame, false);
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  draw_options(frame, settings);
  std::vector<plot::Line> lines;
  const bool smooth = settings.smoothing_steps >= 1.05f;
  if (settings.show_before && !history_.before().empty()) {
    lines.push_back({.name = "before reset",
                     .series = &history_.before(),
                     .color = frame.palette.series[kBefore],
                     .faint = true});
  }
  if (settings.show_train) {
    lines.push_back({.name = "train",
                     .series = smooth ? &history_.smoothed() : &history_.train(),
                     .beneath = smooth ? &history_.train() : nullptr,
                     .beneath_name = "this step",
                     .color = frame.palette.series[kTrain],
                     .dots = true});
  }
  if (settings.show_test) {
    lines.push_back(
        {.name = "test", .series = &history_.test(), .color = frame.palette.series[kTest], .dots = true});
  }
  const plot::Content content{.lines = lines,
                              .markers = history_.markers(),
                              .x_unit = settings.over_time ? plot::Unit::seconds : plot::Unit::count,
                              .x_label = settings.over_time ? "time" : "step",
                              .logarithmic = settings.logarithmic,
                              .empty_text = history_.steps() == 0 ? "no step yet" : "all curves are hidden",
                              .describe = [this](double x) { return history_.describe(x); }};
  plot::draw(frame, "loss.plot", ImGui::GetContentRegionAvail(), content, view_, drag_);
  end_panel();
}

}  // namespace warpscope::ui
