#pragma once
// The curves of the training: some plots with one x axis of steps, epochs or time, each of one metric: every step,
// the tests, a flag where something was changed, and the curves of the trainings laid over it.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/messages/feed.h"
#include "ui/frame/frame.h"
#include "ui/panels/curves/loss_history.h"
#include "ui/panels/curves/loss_plot.h"
#include "ui/panels/curves/marker_names_box.h"
#include "ui/panels/curves/plot_export.h"
#include "ui/panels/curves/rewind_menu.h"
#include "ui/panels/curves/step_pointer.h"
#include "ui/panels/trainings.h"
#include "ui/settings/settings.h"

namespace warpscope::ui {

class LossPanel {
 public:
  explicit LossPanel(Trainings& trainings) : trainings_(trainings) {}
  /// Once a frame, whether the panel is drawn or not, with the OpenGL context current: makes the curves, saves and
  /// copies what was asked for.
  void update(const Frame& frame, const PlotSettings& settings);
  void draw(const Frame& frame, PlotSettings& settings);
  /// '1' to '9' choose the metric of the plot under the pointer, else of the first; 'p' and 'v' save the plots. True
  /// if the key was one of them.
  bool handle_key(const Frame& frame, char letter, PlotSettings& settings);
  /// What is visible goes to the clipboard as CSV.
  void copy() { copies_ = true; }
  /// The step that stays when the pointer goes.
  std::optional<std::uint64_t> pinned_step(const Cursor& cursor) const { return step_pointer_.kept(cursor); }
  /// The newest instead of the pinned step, or of that under the pointer; false if it is shown already.
  bool let_step_go(Cursor& cursor) { return step_pointer_.let_go(cursor); }
  /// True while the pointer is over a plot.
  bool hovered() const { return hovered_.has_value(); }

  /// The newest step stays in view, or the view where it is.
  void follow(bool follows);
  bool follows() const { return shared_.x.follow; }
  /// All of the curves: for another axis.
  void show_all();

  /// True once after somebody asked for the list of runs.
  bool take_runs_request() { return std::exchange(wants_runs_, false); }
  /// What is to be told about a file, a copy or a metric.
  std::optional<training::LogLine> take_message() { return std::exchange(message_, {}); }
  /// True if there is something new to draw or to tell.
  bool has_update() const { return trainings_.has_update() || writer_.busy() || !files_.empty(); }

 private:
  enum class Save { none, png, svg };
  /// A file that waits for the one before.
  struct WaitingFile {
    std::string stem, ending;
    std::function<std::string()> content;
  };

  /// Which buttons stand at the end of the title row.
  struct TitleButtons {
    bool add, copy, runs, save;
    float width;  ///< of all of them, in pixels
  };

  // In loss_panel.cpp.
  void draw_plots(const Frame& frame, PlotSettings& settings);
  void answer(const LossPlot::Reply& reply, std::size_t plot, PlotSettings& settings);
  void set_metric(std::size_t plot, Metric metric, PlotSettings& settings);
  const LossHistory& history() const { return trainings_.own().history; }
  PlotScene scene() const { return {trainings_, markers_}; }
  void tell(training::LogLevel level, std::string text) {
    message_ = training::LogLine{level, std::move(text)};
  }
  void trace_curves(const Frame& frame);
  // In loss_panel_controls.cpp: the rows above the plots.
  std::string runs_label() const;
  TitleButtons title_buttons(const Frame& frame, float room) const;
  void draw_title_buttons(const Frame& frame, PlotSettings& settings, const TitleButtons& shown);
  void draw_save_menu(const Frame& frame);
  static float least_options_width(const Frame& frame);
  void draw_options(const Frame& frame, PlotSettings& settings, float room);
  bool draw_x_axis(const Frame& frame, PlotSettings& settings, bool narrow);
  void draw_smoothing(const Frame& frame, PlotSettings& settings, float room);
  void draw_runs_legend(const Frame& frame);
  // In loss_panel_files.cpp.
  void save_plots(const Frame& frame, Save what);
  void save_picture(const Frame& frame);
  void write_waiting(const Frame& frame);
  void copy_visible();

  Trainings& trainings_;
  std::vector<LossPlot> plots_ = std::vector<LossPlot>(1);
  std::vector<plot::Marker> markers_;  ///< with their names
  SharedPlot shared_;
  MarkerNamesBox names_;
  RewindMenu rewind_;
  StepPointer step_pointer_;
  StepPointer::Hand hand_;              ///< of this frame
  std::optional<double> pointer_;       ///< for SharedPlot of the next frame
  std::optional<std::size_t> hovered_;  ///< the plot under the pointer
  bool drawn_ = false;                  ///< in the frame before
  ImVec2 plots_size_{640, 400};
  FileWriter writer_;
  std::vector<WaitingFile> files_;
  Save save_ = Save::none;
  bool copies_ = false;
  bool wants_runs_ = false;
  std::optional<training::LogLine> message_;
  std::string traced_;
};

/// The metric that the plot of that number shows: the chosen one; of the first plot the loss where that has no
/// values.
Metric shown_metric(const PlotSettings& settings, std::size_t plot, const training::Snapshot& snapshot,
                    const MetricsSeen& seen);

}  // namespace warpscope::ui
