#include "ui/panels/curves/loss_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ui/panels/curves/loss_legend.h"
#include "ui/panels/curves/loss_picture.h"
#include "ui/panels/data_texts.h"
#include "ui/text/terms.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 3> kAxisNames{"step", "epoch", "time"};
constexpr std::array<plot::Unit, 3> kAxisUnits{plot::Unit::count, plot::Unit::value, plot::Unit::seconds};
constexpr const char* kHeldOutTip =
    "The same over held-out images, which are never trained on: those of the test set, or those kept back "
    "from training to steer by (validation). Click to hide or show.";

std::string newest(const plot::Series& series) {
  return series.empty() ? std::string() : curve_value_text(static_cast<double>(series.y(series.size() - 1)));
}

// Entries of the present training; a click toggles `target`.
struct OwnEntry {
  LegendEntry entry;
  bool* target;
  std::string tip;
};

OwnEntry train_entry(const Frame& frame, const MetricCurves& curves, PlotSettings& settings) {
  const Metric metric = curves.choice.metric;
  const plot::Series& train = curves.smoothed.empty() ? curves.train : curves.smoothed;
  return {
      {"train", has_held_out(metric) ? "train" : "this run", newest(train), frame.palette.series[kTrainColor],
       settings.show_train},
      &settings.show_train,
      tip_of(metric) +
          (curves.smoothed.empty() ? " The number is the newest of the curve."
                                   : " The number is the newest of the smoothed curve, not of one step.") +
          " Click to hide or show."};
}

std::vector<OwnEntry> own_entries(const Frame& frame, const MetricCurves& curves, PlotSettings& settings) {
  const Metric metric = curves.choice.metric;
  const auto& colors = frame.palette.series;
  const std::string held_out_tip = facts_of(metric).steps.empty()
                                       ? tip_of(metric) + " Click to hide or show."
                                       : kHeldOutTip + views_sentence(frame.snapshot);
  std::vector<OwnEntry> entries;
  if (!facts_of(metric).steps.empty()) entries.push_back(train_entry(frame, curves, settings));
  if (has_held_out(metric)) {
    entries.push_back({{"test", "test", newest(curves.test), colors[kTestColor], settings.show_test},
                       &settings.show_test,
                       held_out_tip});
  }
  if (!curves.validation.empty()) {
    entries.push_back({{"validation", "validation", newest(curves.validation), colors[kValidationColor],
                        settings.show_validation},
                       &settings.show_validation,
                       held_out_tip});
  }
  if (!curves.skipped.empty()) {
    entries.push_back(
        {{"skipped", fmt::format("{} skipped", with_thousands(std::uint64_t{curves.skipped.size()})), "",
          colors[kTestColor], settings.show_train},
         &settings.show_train,
         "Steps whose gradients overflowed: the weights stayed as they were, the scale was halved."});
  }
  if (!curves.before.empty()) {
    entries.push_back(
        {{"before", "previous", "", colors[kBeforeColor], settings.show_before},
         &settings.show_before,
         "The curve that the last reset or return has left, to compare with. Click to hide or show."});
  }
  return entries;
}

std::string empty_text(const Frame& frame, const LossHistory& history, std::size_t plot,
                       const PlotSettings& settings) {
  const Metric metric = history.curves(plot).choice.metric;
  if (history.steps() == 0) return "No step yet.";
  if (history.busy(plot)) return "The curve is being made.";
  const std::string missing = why_missing(metric, frame.snapshot, history.seen());
  if (!missing.empty()) return missing;
  if (facts_of(metric).steps.empty() && settings.show_test) return "No test yet.";
  return "All curves are hidden.";
}

}  // namespace

const char* name_of(runs::Over over) {
  return kAxisNames[static_cast<std::size_t>(over)];
}

// "loss.metric" of the first plot, "loss.2.metric" of the second.
std::string LossPlot::name(const char* part) const {
  return index_ == 0 ? fmt::format("loss.{}", part) : fmt::format("loss.{}.{}", index_ + 1, part);
}

void LossPlot::prepare(const Frame& frame, const PlotScene& scene, std::size_t index,
                       const PlotSettings& settings) {
  const LossHistory& history = scene.trainings.own().history;
  index_ = index;
  metric_ = history.curves(index).choice.metric;
  curves_ = shown_curves(scene.trainings, index, settings);
  lines_ = lines_of(curves_, frame.palette);
  empty_text_ = empty_text(frame, history, index, settings);
  const runs::Over over = history.over();
  const plot::Unit unit = kAxisUnits[static_cast<std::size_t>(over)];
  const bool in_seconds = over == runs::Over::seconds && settings.logarithmic_x;
  content_ = {.lines = lines_,
              .markers = scene.markers,
              .x_unit = unit,
              .x_label = in_seconds ? "time, s" : name_of(over),
              .logarithmic = settings.logarithmic[static_cast<std::size_t>(metric_)],
              .newest = history.steps() == 0 ? std::numeric_limits<double>::infinity() : history.end(),
              .empty_text = empty_text_.c_str(),
              .describe = [&history, over, unit](double x) {
                if (history.steps() > 0 && x <= history.end()) return history.describe(x);
                return fmt::format("{} {}", name_of(over), plot::value_text(x, unit));
              }};
}

void LossPlot::draw_metrics(const Frame& frame, const MetricsSeen& seen, Reply& reply) const {
  const std::string& label = facts_of(metric_).label;
  const std::string combo = name("metric");
  if (begin_combo(frame, combo.c_str(), label, text_width(frame.fonts.text, label) + 36 * frame.scale,
                  tip_of(metric_) + "\nKeys 1 to 9 choose another metric for the plot under the pointer.")) {
    for (std::size_t i = 0; i < kMetrics; ++i) {
      const auto metric = static_cast<Metric>(i);
      const MetricFacts& facts = facts_of(metric);
      const std::string item = fmt::format("{}.{}", combo, facts.key),
                        key = i < 9 ? std::to_string(i + 1) : "";
      if (combo_item(frame, item.c_str(), facts.label.c_str(), metric == metric_, key,
                     why_missing(metric, frame.snapshot, seen))) {
        reply.metric = metric;
      }
    }
    end_combo();
  }
  ImGui::SameLine(0, 16 * frame.scale);
}

// As much as fits into `room`: values are left out first, then entries from the end, whose number stands there.
void LossPlot::draw_legend(const Frame& frame, const MetricCurves& curves, PlotSettings& settings,
                           float room) const {
  const float gap = 16 * frame.scale;
  auto entries = own_entries(frame, curves, settings);
  const auto width = [&](bool with_values) {
    float sum = 0;
    for (const OwnEntry& own : entries) sum += legend_width(frame, own.entry, with_values) + gap;
    return sum;
  };
  const bool with_values = width(true) <= room;
  std::string left_out;
  float more = 0;
  while (!entries.empty() && width(with_values) + more > room) {
    left_out.insert(0, left_out.empty() ? "" : ", ").insert(0, entries.back().entry.label);
    entries.pop_back();
    more = text_width(frame.fonts.small, "+9") + gap;
  }
  for (OwnEntry& own : entries) {
    own.entry.name = name(("legend." + own.entry.name).c_str());
    if (legend_item(frame, own.entry, with_values, own.tip)) *own.target = !*own.target;
    ImGui::SameLine(0, gap);
  }
  if (left_out.empty() || more > room) return;
  caption(frame, fmt::format("+{}", 1 + std::count(left_out.begin(), left_out.end(), ',')));
  tooltip(frame, fmt::format("No room here for the names of: {}. The palette (Ctrl P) hides and shows them.",
                             left_out));
  ImGui::SameLine(0, gap);
}

LossPlot::Reply LossPlot::draw(const Frame& frame, const PlotScene& scene, ImVec2 size, bool closes,
                               PlotSettings& settings, SharedPlot& shared) {
  const float s = frame.scale;
  Reply reply;
  ImGui::BeginChild(name("cell").c_str(), size, false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  const LossHistory& history = scene.trainings.own().history;
  draw_metrics(frame, history.seen(), reply);
  const float log_width = text_button_width(frame, "log");
  const float buttons = log_width + (closes ? ImGui::GetFrameHeight() + 4 * s : 0);
  draw_legend(frame, history.curves(index_), settings, size.x - ImGui::GetCursorPosX() - buttons - 8 * s);
  ImGui::SetCursorPosX(std::max(ImGui::GetCursorPosX(), size.x - buttons));
  toggle(frame, name("log").c_str(), "log", &settings.logarithmic[static_cast<std::size_t>(metric_)],
         "Logarithmic value axis: equal ratios take equal room. Each metric has its own.");
  if (closes) {
    ImGui::SameLine(0, 4 * s);
    reply.close = icon_button(frame, name("close").c_str(), Icon::close, "Remove this plot");
  }
  size_ = ImGui::GetContentRegionAvail();
  content_.span = shared.span;
  content_.pointer = shared.pointer;
  content_.cursor = shared.cursor;
  content_.measured = shared.measured;
  content_.labels = shared.labels;
  plot::link_x(shared.x, view_);
  reply.plot = plot::draw(frame, name("plot").c_str(), size_, content_, view_, hold_);
  plot::link_x(view_, shared.x);
  ImGui::EndChild();
  return reply;
}

void LossPlot::paint(const Frame& frame, const std::string& title, ImVec2 min, ImVec2 max) const {
  const float legend = draw_picture_legend(frame, curves_, title, min, max.x);
  plot::paint(frame, ImVec2(min.x, min.y + legend), max, content_, view_);
}

}  // namespace warpscope::ui
