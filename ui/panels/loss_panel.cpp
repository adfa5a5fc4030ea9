#include "ui/panels/loss_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "ui/panels/loss_legend.h"
#include "ui/plot/picture.h"
#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 3> kAxes{"steps", "epochs", "time"};
constexpr std::array<const char*, 3> kAxisNames{"step", "epoch", "time"};
constexpr std::array<plot::Unit, 3> kAxisUnits{plot::Unit::count, plot::Unit::value, plot::Unit::seconds};
constexpr const char* kAxisTip =
    "Horizontal axis: training steps, passes over the training images, or seconds of training without "
    "pauses.";
constexpr const char* kRunsTip =
    "Earlier runs in the folder of this one: show their curves here, and see which settings differ (E).";
constexpr const char* kHeldOutTip =
    "The same over held-out images, which are never trained on: those of the test set, or those kept back "
    "from training to steer by (validation). Click to hide or show.";

bool smooths(const PlotSettings& settings) {
  return settings.smoothing_steps >= 1.05f;
}

std::size_t over_of(const CurveChoice& choice) {
  return static_cast<std::size_t>(choice.over);
}

std::string newest(const plot::Series& series) {
  return series.empty() ? std::string() : curve_value_text(static_cast<double>(series.y(series.size() - 1)));
}

// Entries of the present training; a click toggles `target`.
struct OwnEntry {
  LegendEntry entry;
  bool* target;
  std::string tip;
};

std::vector<OwnEntry> own_entries(const Frame& frame, const LossHistory& history, PlotSettings& settings) {
  const Metric metric = history.choice().metric;
  const auto& colors = frame.palette.series;
  const bool held_out = has_held_out(metric);
  const plot::Series& train = history.smoothed().empty() ? history.train() : history.smoothed();
  std::vector<OwnEntry> entries;
  entries.push_back(
      {{"loss.legend.train", held_out ? "train" : "this run", newest(train), colors[kTrainColor],
        settings.show_train},
       &settings.show_train,
       std::string(facts_of(metric).tip) + " The number is the newest of the curve. Click to hide or show."});
  if (held_out) {
    entries.push_back(
        {{"loss.legend.test", "test", newest(history.test()), colors[kTestColor], settings.show_test},
         &settings.show_test,
         kHeldOutTip});
  }
  if (!history.validation().empty()) {
    entries.push_back({{"loss.legend.validation", "validation", newest(history.validation()),
                        colors[kValidationColor], settings.show_validation},
                       &settings.show_validation,
                       kHeldOutTip});
  }
  if (!history.skipped().empty()) {
    entries.push_back({{"loss.legend.skipped",
                        fmt::format("{} skipped", with_thousands(std::uint64_t{history.skipped().size()})),
                        "", colors[kTestColor], settings.show_train},
                       &settings.show_train,
                       "Steps whose gradients overflowed: the weights stayed as they were, the scale was "
                       "halved."});
  }
  if (!history.before().empty()) {
    entries.push_back({{"loss.legend.before", "before reset", "", colors[kBeforeColor], settings.show_before},
                       &settings.show_before,
                       "The training curve before the last reset, to compare with. Click to hide or show."});
  }
  return entries;
}

// What the legend of a file names: the present curves, then each earlier run once.
std::vector<const ShownCurve*> picture_entries(std::span<const ShownCurve> curves) {
  std::vector<const ShownCurve*> entries;
  for (const ShownCurve& curve : curves) {
    if (!curve.earlier) entries.push_back(&curve);
  }
  for (const ShownCurve& curve : curves) {
    if (curve.earlier && (entries.empty() || entries.back()->run != curve.run)) entries.push_back(&curve);
  }
  return entries;
}

// Names in their colours, in as many rows as that takes; returns the height.
float draw_picture_legend(const Frame& frame, std::span<const ShownCurve> curves, const std::string& title,
                          ImVec2 min, float right) {
  const float s = frame.scale, row = std::floor(20 * s);
  auto* const list = ImGui::GetWindowDrawList();
  float x = min.x + 12 * s, baseline = min.y + 18 * s;
  x = advance_text(list, frame.fonts.strong, x, baseline, frame.palette.text, title) + 20 * s;
  for (const ShownCurve* const curve : picture_entries(curves)) {
    const std::string& name = curve->earlier ? curve->run : curve->name;
    const float width = 18 * s + text_width(frame.fonts.text, name);
    if (x + width > right - 12 * s) {
      x = min.x + 12 * s;
      baseline += row;
    }
    const float middle = std::floor(baseline - 5 * s);
    list->AddRectFilled(ImVec2(x, middle - s), ImVec2(x + 12 * s, middle + s),
                        frame.palette.series[curve->color]);
    draw_text(list, frame.fonts.text, x + 18 * s, baseline, frame.palette.text, name);
    x += width + 16 * s;
  }
  return baseline + 6 * s - min.y;
}

std::string title_of(const Frame& frame, Metric metric) {
  const auto& snapshot = frame.snapshot;
  const std::string run =
      snapshot.run_dir.empty() ? "" : std::filesystem::path(snapshot.run_dir).filename().string();
  std::string title = facts_of(metric).label;
  for (const std::string& part : {snapshot.model, snapshot.data_name, run}) {
    if (!part.empty()) title += " \xC2\xB7 " + part;
  }
  return title;
}

}  // namespace

Metric shown_metric(const PlotSettings& settings, const training::Snapshot& snapshot,
                    const MetricsSeen& seen) {
  const auto metric = static_cast<Metric>(settings.metric);
  return why_missing(metric, snapshot, seen).empty() ? metric : Metric::loss;
}

void LossPanel::follow(bool follows) {
  view_.follow = follows;
  (follows ? view_.fit_y : view_.fit_x) = follows;
}

void LossPanel::choose_metric(Metric metric, PlotSettings& settings) {
  settings.metric = static_cast<int>(metric);
  // The view keeps its part of the x axis; y is fitted anew.
  view_.fit_y = true;
}

bool LossPanel::handle_key(const Frame& frame, char letter, PlotSettings& settings) {
  if (letter == 'p') save_ = Save::png;
  if (letter == 'v') save_ = Save::svg;
  if (letter == 'p' || letter == 'v') return true;
  const int number = letter - '1';
  if (number < 0 || number >= static_cast<int>(kMetrics)) return false;
  const auto metric = static_cast<Metric>(number);
  const std::string missing = why_missing(metric, frame.snapshot, history_.seen());
  if (missing.empty()) {
    choose_metric(metric, settings);
  } else {
    message_ = training::LogLine{training::LogLevel::info, missing};
  }
  return true;
}

void LossPanel::update(const Frame& frame, const PlotSettings& settings) {
  history_.choose({shown_metric(settings, frame.snapshot, history_.seen()),
                   static_cast<runs::Over>(settings.over),
                   smooths(settings) ? static_cast<double>(settings.smoothing_steps) : 1.0});
  overlay_.update(frame.snapshot, history_.choice());
  trace_runs();
  if (save_ != Save::none && !writer_.busy()) save_plot(frame, settings, std::exchange(save_, Save::none));
  if (const auto result = writer_.take()) {
    message_ = result->written
                   ? training::LogLine{training::LogLevel::info, "plot written: " + result->text}
                   : training::LogLine{training::LogLevel::error, "the plot is not written: " + result->text};
  }
}

plot::Content LossPanel::content(const PlotSettings& settings) const {
  const CurveChoice& choice = history_.choice();
  const std::size_t over = over_of(choice);
  const plot::Series& steps = history_.train();
  const double last = steps.empty() ? 0 : steps.x(steps.size() - 1);
  return {.lines = {},
          .markers = history_.markers(),
          .x_unit = kAxisUnits[over],
          .x_label = kAxisNames[over],
          .logarithmic = settings.logarithmic[static_cast<std::size_t>(choice.metric)],
          .newest = steps.empty() ? std::numeric_limits<double>::infinity() : last,
          .empty_text = history_.steps() == 0 ? "No step yet." : "All curves are hidden.",
          .describe = [this, last, over](double x) {
            if (history_.steps() > 0 && x <= last) return history_.describe(x);
            return fmt::format("{} {}", kAxisNames[over], plot::value_text(x, kAxisUnits[over]));
          }};
}

void LossPanel::save_plot(const Frame& frame, const PlotSettings& settings, Save what) {
  const auto curves = shown_curves(history_, overlay_.runs(), settings);
  if (curves.empty()) {
    message_ = training::LogLine{training::LogLevel::warning,
                                 "the plot is not written: there is no curve in it yet"};
    return;
  }
  const auto& snapshot = frame.snapshot;
  const CurveChoice& choice = history_.choice();
  const std::string title = title_of(frame, choice.metric);
  plot::Content shown = content(settings);
  try {
    const std::filesystem::path folder =
        snapshot.run_dir.empty() ? std::filesystem::current_path() : std::filesystem::path(snapshot.run_dir);
    const std::string stem = fmt::format("{}-step-{:06}", facts_of(choice.metric).key, snapshot.step);
    if (what == Save::svg) {
      writer_.write(free_file(folder, stem, ".svg"),
                    [plot = svg_plot(curves, shown.markers, choice, view_, shown.logarithmic, title)] {
                      return runs::svg_of(plot);
                    });
      return;
    }
    const auto lines = lines_of(curves, frame.palette);
    shown.lines = lines;
    const auto paint = [&](const Frame& own, ImVec2 min, ImVec2 max) {
      const float legend = draw_picture_legend(own, curves, title, min, max.x);
      plot::paint(own, ImVec2(min.x, min.y + legend), max, shown, view_);
    };
    plot::Picture picture =
        plot::draw_picture(frame, plot_size_, 2, ImGui::GetIO().DisplayFramebufferScale.x, paint);
    writer_.write(free_file(folder, stem, ".png"),
                  [picture = std::move(picture)] { return plot::encode_png(picture); });
  } catch (const std::exception& error) {
    message_ =
        training::LogLine{training::LogLevel::error, std::string("the plot is not written: ") + error.what()};
  }
}

void LossPanel::draw_metrics(const Frame& frame, PlotSettings& settings) {
  const Metric now = history_.choice().metric;
  const char* const label = facts_of(now).label;
  if (begin_combo(frame, "loss.metric", label, text_width(frame.fonts.text, label) + 36 * frame.scale,
                  "What the curves show (keys 1 to 7).")) {
    for (std::size_t i = 0; i < kMetrics; ++i) {
      const auto metric = static_cast<Metric>(i);
      const MetricFacts& facts = facts_of(metric);
      const std::string name = std::string("loss.metric.") + facts.key, key = std::to_string(i + 1);
      if (combo_item(frame, name.c_str(), facts.label, metric == now, key,
                     why_missing(metric, frame.snapshot, history_.seen()))) {
        choose_metric(metric, settings);
      }
    }
    end_combo();
  }
  ImGui::SameLine(0, 16 * frame.scale);
}

// As much as fits into `room`: values are left out first, then entries from the end.
void LossPanel::draw_legend(const Frame& frame, PlotSettings& settings, float room) {
  const float gap = 16 * frame.scale;
  auto entries = own_entries(frame, history_, settings);
  const auto width = [&](bool with_values) {
    float sum = 0;
    for (const OwnEntry& own : entries) sum += legend_width(frame, own.entry, with_values) + gap;
    return sum;
  };
  const bool with_values = width(true) <= room;
  while (entries.size() > 1 && width(with_values) > room) entries.pop_back();
  for (const OwnEntry& own : entries) {
    if (legend_item(frame, own.entry, with_values, own.tip)) *own.target = !*own.target;
    ImGui::SameLine(0, gap);
  }
}

void LossPanel::draw_title_buttons(const Frame& frame) {
  const float s = frame.scale;
  const auto shown = std::count_if(overlay_.runs().begin(), overlay_.runs().end(),
                                   [](const OverlayRun& run) { return run.visible; });
  const std::string label = shown > 0 ? fmt::format("Runs {}", shown) : "Runs";
  align_title_right(frame, text_width(frame.fonts.text, label) + 20 * s + 4 * s + ImGui::GetFrameHeight());
  if (text_button(frame, "loss.runs", label.c_str(), kRunsTip)) wants_runs_ = true;
  ImGui::SameLine(0, 4 * s);
  if (icon_button(frame, "loss.save", Icon::camera, "Save the plot as a file"))
    ImGui::OpenPopup("loss.save##popup");
  ImGui::SameLine(0, 0);
  const ImVec2 button = ImGui::GetItemRectMax();
  ImGui::SetNextWindowPos(ImVec2(button.x, button.y + 2 * s), ImGuiCond_Always, ImVec2(1, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(4 * s, 4 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * s, 0));
  if (ImGui::BeginPopup("loss.save##popup", ImGuiWindowFlags_NoMove)) {
    if (combo_item(frame, "loss.save.png", "PNG, twice the size", false, "P")) save_ = Save::png;
    if (combo_item(frame, "loss.save.svg", "SVG of the curves", false, "V")) save_ = Save::svg;
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar(2);
}

// True if the axis changed. A drop-down where there is little room.
bool LossPanel::draw_x_axis(const Frame& frame, PlotSettings& settings, bool narrow) {
  if (!narrow) return segmented(frame, "loss.x", kAxes, &settings.over, kAxisTip);
  bool changed = false;
  if (begin_combo(frame, "loss.x", kAxes[static_cast<std::size_t>(settings.over)],
                  text_width(frame.fonts.text, "epochs") + 32 * frame.scale, kAxisTip)) {
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

void LossPanel::draw_smoothing(const Frame& frame, PlotSettings& settings) {
  const float s = frame.scale;
  if (!facts_of(history_.choice().metric).smooths) {
    ImGui::NewLine();
    return;
  }
  if (ImGui::GetContentRegionAvail().x > 170 * s) {
    caption(frame, "smooth");
    ImGui::SameLine(0, 4 * s);
  }
  const std::string text =
      smooths(settings)
          ? fmt::format("{:.3f}", plot::weight_for(static_cast<double>(settings.smoothing_steps)))
          : "off";
  slider(frame, "loss.smoothing", &settings.smoothing_steps, 1, 1000, text.c_str(),
         std::min(200 * s, ImGui::GetContentRegionAvail().x),
         "Exponential moving average over the training steps, without the bias of its start: the weight of "
         "the past. 0.95 averages about 20 steps. The raw curve stays beneath.",
         true);
}

void LossPanel::draw_options(const Frame& frame, PlotSettings& settings) {
  const float s = frame.scale;
  const bool narrow = ImGui::GetContentRegionAvail().x < 480 * s;
  toggle(frame, "loss.log", "log", &settings.logarithmic[static_cast<std::size_t>(history_.choice().metric)],
         "Logarithmic value axis: equal ratios take equal room. Each metric has its own.");
  ImGui::SameLine(0, 8 * s);
  if (draw_x_axis(frame, settings, narrow)) plot::fit(view_);
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
  draw_smoothing(frame, settings);
}

// The names of the earlier runs in the view, in their colours, as many as fit.
void LossPanel::draw_runs_legend(const Frame& frame) {
  if (overlay_.runs().empty()) return;
  const float s = frame.scale, gap = 16 * s, more = 72 * s;
  std::size_t hidden = overlay_.runs().size();
  for (std::size_t i = 0; i < overlay_.runs().size(); ++i) {
    const OverlayRun& run = overlay_.runs()[i];
    std::string label = ellipsize(frame.fonts.text, run.name, 200 * s);
    if (run.error.empty() && !run.loaded) label += " ...";
    const bool without = run.loaded && run.curves.train.empty();
    const LegendEntry entry{"loss.legend.run." + run.name, label, "", frame.palette.series[run.color],
                            run.visible && !without};
    const bool last = i + 1 == overlay_.runs().size();
    if (i > 0 &&
        legend_width(frame, entry, false) + (last ? 0 : gap + more) > ImGui::GetContentRegionAvail().x)
      break;
    std::string tip = run.error;
    if (tip.empty())
      tip =
          run.folder.string() + (without ? "\nIt has no values of this metric." : "\nClick to hide or show.");
    if (legend_item(frame, entry, false, tip)) {
      run.visible ? overlay_.hide(run.folder) : overlay_.show(run.folder, run.name);
    }
    --hidden;
    ImGui::SameLine(0, gap);
  }
  if (hidden > 0) {
    caption(frame, fmt::format("and {} more", hidden));
  } else {
    ImGui::NewLine();
  }
}

// For tests: the earlier runs in the view and how many points each has.
void LossPanel::trace_runs() {
  if (!trace_enabled()) return;
  std::string runs;
  for (const OverlayRun& run : overlay_.runs()) {
    runs += fmt::format("{}{{\"name\":{},\"visible\":{},\"color\":{},\"points\":{},\"error\":{}}}",
                        runs.empty() ? "" : ",", json_string(run.name), run.visible, run.color,
                        run.curves.train.size(), json_string(run.error));
  }
  std::string now = fmt::format("\"metric\":{},\"over\":{},\"runs\":[{}]",
                                json_string(facts_of(history_.choice().metric).key),
                                static_cast<int>(history_.choice().over), runs);
  if (now == traced_) return;
  traced_ = std::move(now);
  trace_event("curves", traced_);
}

void LossPanel::draw(const Frame& frame, PlotSettings& settings) {
  draw_metrics(frame, settings);
  const float buttons =
      text_width(frame.fonts.text, "Runs 9") + 24 * frame.scale + 2 * ImGui::GetFrameHeight();
  draw_legend(frame, settings, title_end(frame) - ImGui::GetCursorPosX() - buttons);
  draw_title_buttons(frame);
  panel_body(frame, false);
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  draw_options(frame, settings);
  draw_runs_legend(frame);
  const auto curves = shown_curves(history_, overlay_.runs(), settings);
  const auto lines = lines_of(curves, frame.palette);
  plot::Content shown = content(settings);
  shown.lines = lines;
  plot_size_ = ImGui::GetContentRegionAvail();
  plot::draw(frame, "loss.plot", plot_size_, shown, view_, drag_);
}

}  // namespace warpscope::ui
