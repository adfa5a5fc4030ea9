#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/export/export.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/figure_table.h"

namespace warpscope::runs {
namespace {

/// The names of all series of all runs, each once.
std::vector<std::string> all_series(const std::vector<Run>& runs) {
  std::vector<std::string> names;
  for (const Run& run : runs) {
    for (std::string& name : series_names(run.points)) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  return names;
}

std::vector<std::string> chosen_series(const std::vector<Run>& runs, const PlotChoice& choice) {
  const std::vector<std::string> valid = all_series(runs);
  if (valid.empty()) throw core::BadInput("there is nothing to plot: the run has no points yet");
  if (!choice.series.empty()) {
    for (const std::string& name : choice.series) {
      if (std::ranges::find(valid, name) != valid.end()) continue;
      throw core::BadInput(fmt::format("there is no series '{}'; valid: {}", files::escaped(name),
                                       files::escaped(fmt::format("{}", fmt::join(valid, ", ")))));
    }
    return choice.series;
  }
  std::vector<std::string> losses;
  for (const std::string& name : valid) {
    // A head's cross-entropy is of another size: it is drawn where it is asked for.
    if (name.ends_with("_loss") && !name.ends_with("_head_loss")) losses.push_back(name);
  }
  return losses;
}

std::string title_of(const std::vector<Run>& runs) {
  std::vector<std::string> names;
  for (const Run& run : runs) names.push_back(run_name(run.folder));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// As the figure is called on the screen; the same ending of all names names the axis.
std::string in_words(std::string name) {
  if (const training::Figure* const figure = training::find_series(name)) return figure->name;
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string y_label(const std::vector<std::string>& series) {
  if (series.size() == 1) return in_words(series.front());
  for (const char* ending : {"loss", "accuracy"}) {
    if (std::ranges::all_of(series, [&](const std::string& name) { return name.ends_with(ending); }))
      return ending;
  }
  return "value";
}

void set_x_axis(Over over, Plot& plot) {
  struct Axis {
    const char* label;
    charts::Unit unit;
  };
  constexpr std::array kAxes{Axis{"step", charts::Unit::count}, Axis{"epoch", charts::Unit::value},
                             Axis{"time of training", charts::Unit::seconds}};
  plot.x_label = kAxes.at(static_cast<std::size_t>(over)).label;
  plot.x_unit = kAxes.at(static_cast<std::size_t>(over)).unit;
}

}  // namespace

Plot plot_of(const std::vector<Run>& runs, const PlotChoice& choice) {
  const std::vector<std::string> series = chosen_series(runs, choice);
  Plot plot;
  plot.title = choice.title.empty() ? title_of(runs) : choice.title;
  plot.logarithmic = choice.logarithmic;
  plot.y_label = y_label(series);
  set_x_axis(choice.over, plot);
  const bool several = runs.size() > 1;
  bool shows = false;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (std::size_t s = 0; s < series.size(); ++s) {
      PlotCurve curve;
      curve.points = curve_of(runs[r].points, series[s], choice.over);
      if (curve.points.x.empty()) continue;
      curve.name = several ? fmt::format("{}: {}", run_name(runs[r].folder), in_words(series[s]))
                           : in_words(series[s]);
      curve.color = static_cast<int>(several ? r : s);
      curve.dash = static_cast<int>(several ? s : 0);
      shows = shows || !choice.logarithmic ||
              std::ranges::any_of(curve.points.y, [](double value) { return value > 0; });
      plot.curves.push_back(std::move(curve));
    }
    for (const RunMarker& marker : runs[r].points.markers) {
      plot.marks.push_back({place_of(runs[r].points, marker.step, choice.over), marker.text,
                            several ? static_cast<int>(r) : -1});
    }
  }
  if (plot.curves.empty())
    throw core::BadInput("there is nothing to plot: none of the series has a finite value");
  if (!shows) {
    throw core::BadInput("there is nothing to plot: no value is above 0, which a logarithmic axis needs");
  }
  return plot;
}

}  // namespace warpscope::runs
