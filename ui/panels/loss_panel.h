#pragma once
// The curves of the training: one metric at a time over steps, epochs or time, every step, the tests, a flag
// where something was changed, and the curves of earlier runs.

#include <optional>
#include <string>
#include <utility>

#include "gpu/messages/feed.h"
#include "ui/frame.h"
#include "ui/panels/loss_history.h"
#include "ui/panels/loss_lines.h"
#include "ui/panels/plot_export.h"
#include "ui/panels/run_overlay.h"
#include "ui/plot/plot.h"
#include "ui/settings.h"

namespace warpscope::ui {

class LossPanel {
 public:
  void consume(const training::FeedItem& item) { history_.consume(item); }
  /// Once a frame, whether the panel is drawn or not, with the OpenGL context current: takes what was read of
  /// earlier runs, saves what was asked for.
  void update(const Frame& frame, const PlotSettings& settings);
  void draw(const Frame& frame, PlotSettings& settings);
  /// '1' to '7' choose the metric, 'p' and 'v' save the plot. True if the key was one of them.
  bool handle_key(const Frame& frame, char letter, PlotSettings& settings);

  /// The newest step stays in view, or the view where it is.
  void follow(bool follows);
  bool follows() const { return view_.follow; }
  /// All of the curves: for another axis.
  void show_all() { plot::fit(view_); }

  const LossHistory& history() const { return history_; }
  RunOverlay& overlay() { return overlay_; }
  /// True once after somebody asked for the list of runs.
  bool take_runs_request() { return std::exchange(wants_runs_, false); }
  /// What is to be told about a saved file.
  std::optional<training::LogLine> take_message() { return std::exchange(message_, {}); }
  /// True if there is something new to draw or to tell.
  bool has_update() const { return overlay_.has_update() || writer_.busy(); }

 private:
  enum class Save { none, png, svg };

  void draw_metrics(const Frame& frame, PlotSettings& settings);
  void draw_legend(const Frame& frame, PlotSettings& settings, float room);
  void draw_title_buttons(const Frame& frame);
  void draw_options(const Frame& frame, PlotSettings& settings);
  bool draw_x_axis(const Frame& frame, PlotSettings& settings, bool narrow);
  void draw_smoothing(const Frame& frame, PlotSettings& settings);
  void draw_runs_legend(const Frame& frame);
  plot::Content content(const PlotSettings& settings) const;
  void choose_metric(Metric metric, PlotSettings& settings);
  void save_plot(const Frame& frame, const PlotSettings& settings, Save what);
  void trace_runs();

  LossHistory history_;
  RunOverlay overlay_;
  FileWriter writer_;
  plot::View view_;
  plot::Drag drag_;
  ImVec2 plot_size_{640, 400};
  Save save_ = Save::none;
  bool wants_runs_ = false;
  std::optional<training::LogLine> message_;
  std::string traced_;
};

/// The metric that is shown: the chosen one, or the loss where that has no values.
Metric shown_metric(const PlotSettings& settings, const training::Snapshot& snapshot,
                    const MetricsSeen& seen);

}  // namespace warpscope::ui
