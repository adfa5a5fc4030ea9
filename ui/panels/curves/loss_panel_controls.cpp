// The rows above the plots of the curves panel.

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "ui/frame/trace.h"
#include "ui/panels/curves/loss_legend.h"
#include "ui/panels/curves/loss_lines.h"
#include "ui/panels/curves/loss_panel.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 3> kAxes{"steps", "epochs", "time"};
constexpr const char* kAxisTip =
    "Horizontal axis: training steps, passes over the training images, or seconds of training without "
    "pauses.";
constexpr const char *kLogX = "log x", *kFollow = "follow";
constexpr const char* kAdd = "+";
constexpr const char* kCopy = "CSV";
constexpr const char* kRunsTip =
    "Earlier runs in the folder of this one: show their curves here, and see which settings differ (E).";

float axis_menu_width(const Frame& frame) {
  return text_width(frame.fonts.text, "epochs") + 32 * frame.scale;
}

bool has_values(const LossHistory& history) {
  for (std::size_t plot = 0; plot < history.plots(); ++plot) {
    const MetricCurves& curves = history.curves(plot);
    if (curve_of_steps(history, plot) != nullptr || !curves.test.empty() || !curves.validation.empty())
      return true;
  }
  return false;
}

}  // namespace

// "Runs", "Runs 2".
std::string LossPanel::runs_label() const {
  const Overlays overlays = trainings_.overlays();
  const auto shown =
      std::count_if(overlays.begin(), overlays.end(), [](const auto& each) { return each->visible; });
  return shown > 0 ? fmt::format("Runs {}", shown) : "Runs";
}

// All, or those that fit into `room` pixels. What is left out has a key or stands in the palette.
LossPanel::TitleButtons LossPanel::title_buttons(const Frame& frame, float room) const {
  const float gap = 4 * frame.scale;
  TitleButtons shown{true, true, true, true, -gap};
  const std::array<std::pair<bool*, float>, 4> all{
      {{&shown.copy, text_button_width(frame, kCopy)},
       {&shown.add, text_button_width(frame, kAdd)},
       {&shown.runs, text_button_width(frame, runs_label())},
       {&shown.save, ImGui::GetFrameHeight()}}};  // the first is left out first
  for (const auto& [button, width] : all) shown.width += width + gap;
  for (const auto& [button, width] : all) {
    if (shown.width <= room) break;
    *button = false;
    shown.width -= width + gap;
  }
  shown.width = std::max(0.0f, shown.width);
  return shown;
}

void LossPanel::draw_title_buttons(const Frame& frame, PlotSettings& settings, const TitleButtons& shown) {
  const float gap = 4 * frame.scale;
  align_title_right(frame, shown.width);
  const bool full = settings.metrics.size() >= kMostPlots;
  if (shown.add) {
    if (text_button(frame, "loss.add", kAdd,
                    full ? "There are as many plots as there can be." : "Another plot beside these", !full)) {
      settings.metrics.push_back(metric_for_another(settings.metrics, frame.snapshot, history().seen()));
    }
    ImGui::SameLine(0, gap);
  }
  if (shown.copy) {
    if (text_button(frame, "loss.copy", kCopy,
                    "Copy what is visible as CSV, a column a curve (Ctrl C over a plot)"))
      copy();
    ImGui::SameLine(0, gap);
  }
  if (shown.runs) {
    if (text_button(frame, "loss.runs", runs_label().c_str(), kRunsTip)) wants_runs_ = true;
    ImGui::SameLine(0, gap);
  }
  if (shown.save) draw_save_menu(frame);
}

void LossPanel::draw_save_menu(const Frame& frame) {
  const float s = frame.scale;
  if (icon_button(frame, "loss.save", Icon::camera, "Save the plots as files"))
    ImGui::OpenPopup("loss.save##popup");
  ImGui::SameLine(0, 0);
  const ImVec2 button = ImGui::GetItemRectMax();
  ImGui::SetNextWindowPos(ImVec2(button.x, button.y + 2 * s), ImGuiCond_Always, ImVec2(1, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(4 * s, 4 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * s, 0));
  if (ImGui::BeginPopup("loss.save##popup", ImGuiWindowFlags_NoMove)) {
    trace_open_list("loss.save");
    if (combo_item(frame, "loss.save.png", "PNG, twice the size", false, "P")) save_ = Save::png;
    if (combo_item(frame, "loss.save.svg", "SVG of each plot", false, "V")) save_ = Save::svg;
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar(2);
}

// True if the axis changed. A drop-down where there is little room.
bool LossPanel::draw_x_axis(const Frame& frame, PlotSettings& settings, bool narrow) {
  if (!narrow) return segmented(frame, "loss.x", kAxes, &settings.over, kAxisTip);
  bool changed = false;
  if (begin_combo(frame, "loss.x", kAxes[static_cast<std::size_t>(settings.over)], axis_menu_width(frame),
                  kAxisTip)) {
    for (std::size_t i = 0; i < kAxes.size(); ++i) {
      const bool selected = static_cast<std::size_t>(settings.over) == i;
      const std::string name = std::string("loss.x.") + kAxes[i];
      if (!combo_item(frame, name.c_str(), kAxes[i], selected)) continue;
      settings.over = static_cast<int>(i);
      changed = !selected;
    }
    end_combo();
  }
  return changed;
}

void LossPanel::draw_smoothing(const Frame& frame, PlotSettings& settings, float room) {
  const float s = frame.scale;
  const bool any = std::any_of(plots_.begin(), plots_.end(),
                               [](const LossPlot& plot) { return facts_of(plot.metric()).smooths; });
  if (!any || room < 64 * s) return;
  if (room > 180 * s) {
    caption(frame, "smooth");
    ImGui::SameLine(0, 4 * s);
    room -= 52 * s;
  }
  const std::string text =
      settings.smoothing_steps >= 1.05f
          ? fmt::format("{:.3f}", plot::weight_for(static_cast<double>(settings.smoothing_steps)))
          : "off";
  slider(frame, "loss.smoothing", &settings.smoothing_steps, 1, 1000, text.c_str(), std::min(200 * s, room),
         "Exponential moving average over the training steps, without the bias of its start: the weight of "
         "the past. 0.95 averages about 20 steps. The raw curve stays beneath.",
         true);
  ImGui::SameLine(0, 8 * s);
}

// Without the slider of the smoothing, and with the axis as a drop-down.
float LossPanel::least_options_width(const Frame& frame) {
  const float s = frame.scale;
  return axis_menu_width(frame) + text_button_width(frame, kLogX) + text_button_width(frame, kFollow) +
         ImGui::GetFrameHeight() + 32 * s;
}

// In `room` pixels: what does not fit is left out.
void LossPanel::draw_options(const Frame& frame, PlotSettings& settings, float room) {
  const float s = frame.scale, end = ImGui::GetCursorPosX() + room;
  if (draw_x_axis(frame, settings, room < 480 * s)) show_all();
  ImGui::SameLine(0, 4 * s);
  if (toggle(
          frame, "loss.log_x", kLogX, &settings.logarithmic_x,
          "Logarithmic axis of steps, epochs or time: the beginning takes as much room as what follows.")) {
    show_all();
  }
  ImGui::SameLine(0, 8 * s);
  bool follows = shared_.x.follow;
  if (toggle(frame, "loss.follow", kFollow, &follows,
             "Keep the newest step in view. Wheel: zoom at the pointer. Drag: zoom to the range. Right drag: "
             "move. Shift-drag: mean, extremes and slope of a range. Double-click: show everything.")) {
    follow(follows);
  }
  ImGui::SameLine(0, 8 * s);
  if (end - ImGui::GetCursorPosX() < ImGui::GetFrameHeight()) return;
  if (icon_button(frame, "loss.fit", Icon::fit, "Show everything (double-click in a plot)")) show_all();
  ImGui::SameLine(0, 12 * s);
  draw_smoothing(frame, settings, end - ImGui::GetCursorPosX() - 8 * s);
}

// The names of the overlays, in their colours, as many as fit.
void LossPanel::draw_runs_legend(const Frame& frame) {
  const Overlays overlays = trainings_.overlays();
  if (overlays.empty()) return;
  const float s = frame.scale, gap = 16 * s, more = 72 * s;
  std::size_t hidden = overlays.size();
  for (std::size_t i = 0; i < overlays.size(); ++i) {
    ShownTraining& run = *overlays[i];
    std::string label = ellipsize(frame.fonts.text, run.name, 200 * s);
    if (run.error.empty() && !run.loaded()) label += " ...";
    const bool without = run.loaded() && !has_values(run.history);
    const LegendEntry entry{"loss.legend.run." + run.name,
                            label,
                            "",
                            frame.palette.series[run.color],
                            run.visible && !without && (run.source || run.error.empty()),
                            dash_of_run(overlays, i)};
    const bool last = i + 1 == overlays.size();
    if (i > 0 &&
        legend_width(frame, entry, false) + (last ? 0 : gap + more) > ImGui::GetContentRegionAvail().x)
      break;
    std::string tip = run.error;
    if (tip.empty())
      tip =
          run.folder.string() + (without ? "\nIt has no values of this metric."
                                         : "\nIts curves of held-out images have other dashes. Click to hide "
                                           "or show.");
    if (legend_item(frame, entry, false, tip)) run.visible = !run.visible;
    --hidden;
    ImGui::SameLine(0, gap);
  }
  if (hidden > 0) {
    std::string names;
    for (const auto& run : overlays.last(hidden)) names += (names.empty() ? "" : "\n") + run->name;
    caption(frame, fmt::format("and {} more", hidden));
    tooltip(frame, names);
  } else {
    ImGui::NewLine();
  }
}

}  // namespace warpscope::ui
