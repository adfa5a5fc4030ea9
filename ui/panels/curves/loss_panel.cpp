#include "ui/panels/curves/loss_panel.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ui/input/cursor.h"
#include "ui/plot/grid.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr auto kSlice = std::chrono::milliseconds(4);  // of a frame

double smoothing_of(const PlotSettings& settings) {
  return settings.smoothing_steps >= 1.05f ? static_cast<double>(settings.smoothing_steps) : 1.0;
}

std::optional<plot::Span> joined(const std::optional<plot::Span>& a, const std::optional<plot::Span>& b) {
  if (!a || !b) return a ? a : b;
  return plot::Span{std::min(a->low, b->low), std::max(a->high, b->high)};
}

// From the first step to the last: a plot of tests only covers them too.
std::optional<plot::Span> span_of_steps(const LossHistory& history, bool log_x) {
  const auto first = history.step_at(-std::numeric_limits<double>::infinity());
  if (!first) return {};
  const plot::Span span{*history.place_of(*first), history.end()};
  return log_x && span.low <= 0 ? std::nullopt : std::optional(span);
}

}  // namespace

Metric shown_metric(const PlotSettings& settings, std::size_t plot, const training::Snapshot& snapshot,
                    const MetricsSeen& seen) {
  const Metric metric = settings.metrics[plot];
  return plot > 0 || why_missing(metric, snapshot, seen).empty() ? metric : Metric::loss;
}

void LossPanel::follow(bool follows) {
  shared_.x.follow = follows;
  if (!follows) {
    shared_.x.fit_x = false;
    return;
  }
  for (LossPlot& plot : plots_) plot.fit_y();
}

void LossPanel::show_all() {
  plot::fit(shared_.x);
  shared_.measured.reset();
  for (LossPlot& plot : plots_) plot.fit();
}

void LossPanel::set_metric(std::size_t plot, Metric metric, PlotSettings& settings) {
  settings.metrics[plot] = metric;
  // The view keeps its part of the x axis; y is fitted anew.
  plots_[plot].fit_y();
}

bool LossPanel::handle_key(const Frame& frame, char letter, PlotSettings& settings) {
  if (letter == 'p') save_ = Save::png;
  if (letter == 'v') save_ = Save::svg;
  if (letter == 'p' || letter == 'v') return true;
  const int number = letter - '1';
  if (number < 0 || number >= static_cast<int>(kMetrics)) return false;
  const auto metric = static_cast<Metric>(number);
  const std::string missing = why_missing(metric, frame.snapshot, history().seen());
  const std::size_t plot = hovered_.value_or(0);
  if (missing.empty()) {
    if (plot < settings.metrics.size() && plot < plots_.size()) set_metric(plot, metric, settings);
  } else {
    tell(training::LogLevel::info, missing);
  }
  return true;
}

void LossPanel::update(const Frame& frame, const PlotSettings& settings) {
  std::vector<CurveChoice> choices;
  for (std::size_t i = 0; i < settings.metrics.size(); ++i) {
    choices.push_back({shown_metric(settings, i, frame.snapshot, history().seen()),
                       static_cast<runs::Over>(settings.over), smoothing_of(settings)});
  }
  if (choices.front().over != history().over()) shared_.measured.reset();
  if (!std::exchange(drawn_, false)) {
    hovered_.reset();
    if (frame.cursor != nullptr) step_pointer_.move(*frame.cursor, {});
  } else if (frame.request != nullptr && frame.snapshot.can.steer) {
    frame.request->feature_probe = std::any_of(choices.begin(), choices.end(), [](const CurveChoice& choice) {
      return choice.metric == Metric::feature_accuracy;
    });
  }
  // A slice of those that are being made; the next frame follows at once.
  if (trainings_.update(choices, std::chrono::steady_clock::now() + kSlice))
    redraw_at(frame, ImGui::GetTime());
  names_.update(run_folder_here(frame.snapshot));
  markers_ = labelled(history().markers(), names_.names());
  plot::set_log_x(shared_.x, settings.logarithmic_x);
  plots_.resize(choices.size());
  shared_.span = span_of_steps(history(), settings.logarithmic_x);
  const auto kept = frame.cursor == nullptr ? std::nullopt : step_pointer_.kept(*frame.cursor);
  shared_.cursor = kept ? history().place_of(*kept) : std::nullopt;
  for (std::size_t i = 0; i < plots_.size(); ++i) {
    plots_[i].prepare(frame, scene(), i, settings);
    shared_.span = joined(shared_.span, plots_[i].span(settings.logarithmic_x));
  }
  trace_curves(frame);
  if (save_ != Save::none) save_plots(frame, std::exchange(save_, Save::none));
  if (std::exchange(copies_, false)) copy_visible();
  write_waiting(frame);
  if (auto problem = names_.take_problem()) tell(training::LogLevel::warning, std::move(*problem));
}

// For tests: what is shown, the step that is looked at, the earlier runs in the view and how many points each has.
void LossPanel::trace_curves(const Frame& frame) {
  if (!trace_enabled()) return;
  std::string runs, metrics;
  for (const auto& run : trainings_.overlays()) {
    const plot::Series* const curve = curve_of_steps(run->history, 0);
    runs += fmt::format("{}{{\"name\":{},\"visible\":{},\"color\":{},\"points\":{},\"error\":{}}}",
                        runs.empty() ? "" : ",", json_string(run->name), run->visible, run->color,
                        curve == nullptr ? 0 : curve->size(), json_string(run->error));
  }
  for (const LossPlot& plot : plots_) {
    if (!metrics.empty()) metrics += ',';
    metrics += json_string(facts_of(plot.metric()).key);
  }
  const bool at_a_step = frame.cursor != nullptr && frame.cursor->step.has_value();
  const plot::View& x = shared_.x;
  const plot::Span measured = shared_.measured.value_or(plot::Span{});
  std::string now = fmt::format(
      "\"metric\":{},\"metrics\":[{}],\"over\":{},\"log_x\":{},\"fit_x\":{},\"zoom\":{},\"measured\":{},"
      "\"cursor\":{},\"runs\":[{}]",
      json_string(facts_of(plots_.front().metric()).key), metrics, static_cast<int>(history().over()),
      x.log_x, x.fit_x, x.fit_x ? "null" : fmt::format("[{},{}]", x.x0, x.x1),
      shared_.measured ? fmt::format("[{},{}]", measured.low, measured.high) : "null",
      at_a_step ? fmt::format("{}", *frame.cursor->step) : "null", runs);
  if (now == traced_) return;
  traced_ = std::move(now);
  trace_event("curves", traced_);
}

void LossPanel::answer(const LossPlot::Reply& reply, std::size_t plot, PlotSettings& settings) {
  if (reply.metric) set_metric(plot, *reply.metric, settings);
  const plot::Reply& of = reply.plot;
  if (of.measured) shared_.measured = of.measured;
  if (of.measured_none) shared_.measured.reset();
  if (of.clicked_flag) {
    const std::vector<PlacedMarker>& all = history().markers();
    names_.open(
        std::span(all).subspan(of.clicked_flag->first, of.clicked_flag->last - of.clicked_flag->first));
  }
  if (of.menu) {
    if (const auto step = history().step_at(*of.menu)) rewind_.open(*step);
  }
  if (!of.pointer) return;
  hovered_ = plot;
  pointer_ = of.pointer;
  // Beyond the newest step there are only earlier runs.
  if (history().steps() == 0 || *of.pointer > history().end()) return;
  const ImVec2 moved = ImGui::GetIO().MouseDelta;
  hand_ = {.over = true,
           .moved = moved.x != 0 || moved.y != 0,
           .clicked = of.clicked.has_value(),
           .on_kept = of.clicked_cursor,
           .doubled = of.doubled,
           .step = *of.pointer < history().end() ? history().step_at(*of.pointer) : std::nullopt};
}

// In a grid. Where the plots would be too low to be read they scroll, only by the bar: the wheel zooms.
void LossPanel::draw_plots(const Frame& frame, PlotSettings& settings) {
  const float s = frame.scale, gap = std::floor(8 * s);
  plots_size_ = ImGui::GetContentRegionAvail();
  ImGui::BeginChild("plots", plots_size_, false, ImGuiWindowFlags_NoScrollWithMouse);
  const ImVec2 origin = ImGui::GetCursorPos(), room = ImGui::GetContentRegionAvail();
  const int count = static_cast<int>(plots_.size());
  const plot::GridShape grid = plot::grid_of(count, plots_size_, kLeastPlotWidth * s);
  const auto columns = static_cast<float>(grid.columns), rows = static_cast<float>(grid.rows);
  const ImVec2 cell(std::floor((room.x - gap * (columns - 1)) / columns),
                    std::floor(std::max(count > 1 ? 112 * s : 0, (room.y - gap * (rows - 1)) / rows)));
  hand_ = {};
  hovered_.reset();
  shared_.pointer = std::exchange(pointer_, {});
  std::optional<std::size_t> closed;
  float labels = 0;
  for (int i = 0; i < count; ++i) {
    const auto plot = static_cast<std::size_t>(i);
    const int row = i / grid.columns, column = i % grid.columns;
    ImGui::SetCursorPos(ImVec2(origin.x + static_cast<float>(column) * (cell.x + gap),
                               origin.y + static_cast<float>(row) * (cell.y + gap)));
    const LossPlot::Reply reply = plots_[plot].draw(frame, scene(), cell, count > 1, settings, shared_);
    answer(reply, plot, settings);
    labels = std::max(labels, reply.plot.labels);
    if (reply.close) closed = plot;
  }
  ImGui::EndChild();
  shared_.labels = labels;
  if (frame.cursor != nullptr) step_pointer_.move(*frame.cursor, hand_);
  if (!closed) return;
  settings.metrics.erase(settings.metrics.begin() + static_cast<std::ptrdiff_t>(*closed));
  plots_.erase(plots_.begin() + static_cast<std::ptrdiff_t>(*closed));
}

void LossPanel::draw(const Frame& frame, PlotSettings& settings) {
  drawn_ = true;
  const float room = title_end(frame) - ImGui::GetCursorPosX();
  const TitleButtons buttons = title_buttons(frame, room - least_options_width(frame));
  draw_options(frame, settings, room - buttons.width);
  draw_title_buttons(frame, settings, buttons);
  panel_body(frame, false);
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  draw_runs_legend(frame);
  draw_plots(frame, settings);
  names_.draw(frame);
  rewind_.draw(frame);
}

}  // namespace warpscope::ui
