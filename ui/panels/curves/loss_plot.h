#pragma once
// One plot of the curves panel: a row with its metric and its legend, and the plot below.

#include <span>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/panels/curves/loss_history.h"
#include "ui/panels/curves/loss_lines.h"
#include "ui/plot/plot.h"
#include "ui/settings/settings.h"

namespace warpscope::ui {

/// Below it plots do not stand beside each other, in design pixels.
inline constexpr float kLeastPlotWidth = 220;

/// What the plots of the panel have in common.
struct SharedPlot {
  plot::View x;                        ///< which part of the x axis all of them show
  std::optional<double> pointer;       ///< x under the pointer, in whichever of them it is
  std::optional<double> cursor;        ///< x of the step that is looked at
  std::optional<plot::Span> span;      ///< of all curves
  float labels = 0;                    ///< room that the labels of y need in any of them
  std::optional<plot::Span> measured;  ///< the range whose figures are shown
};

/// What the curves of all plots are made of.
struct PlotScene {
  const Trainings& trainings;
  std::span<const plot::Marker> markers;
};

/// The axis of x in words: "step", "epoch", "time".
const char* name_of(runs::Over over);

class LossPlot {
 public:
  /// What a person did in the plot and in its row.
  struct Reply {
    plot::Reply plot;
    std::optional<Metric> metric;  ///< was chosen
    bool close = false;            ///< the plot is to go
  };

  /// Once a frame, before draw(): takes the curves of the plot number `index`.
  void prepare(const Frame& frame, const PlotScene& scene, std::size_t index, const PlotSettings& settings);
  std::optional<plot::Span> span(bool log_x) const { return plot::span_of(content_, log_x); }

  /// Draws it into `size` pixels. `closes`: it can be closed.
  Reply draw(const Frame& frame, const PlotScene& scene, ImVec2 size, bool closes, PlotSettings& settings,
             SharedPlot& shared);
  /// Draws it for a file, with a title and a legend of its own.
  void paint(const Frame& frame, const std::string& title, ImVec2 min, ImVec2 max) const;

  void fit_y() { view_.fit_y = true; }
  void fit() { plot::fit(view_); }
  /// As of the last frame.
  const std::vector<ShownCurve>& curves() const { return curves_; }
  const plot::View& view() const { return view_; }
  Metric metric() const { return metric_; }
  bool logarithmic() const { return content_.logarithmic; }
  ImVec2 size() const { return size_; }

 private:
  std::string name(const char* part) const;
  void draw_metrics(const Frame& frame, const MetricsSeen& seen, Reply& reply) const;
  void draw_legend(const Frame& frame, const MetricCurves& curves, PlotSettings& settings, float room) const;

  std::size_t index_ = 0;
  Metric metric_ = Metric::loss;
  plot::View view_;
  plot::Hold hold_;
  ImVec2 size_{640, 400};  ///< of the plot only
  // This frame's.
  std::vector<ShownCurve> curves_;
  std::vector<plot::Line> lines_;
  plot::Content content_;
  std::string empty_text_;
};

}  // namespace warpscope::ui
