#pragma once
// Which curves the plot shows: those of the window's training, and those laid over it. No drawing here.

#include <span>
#include <string>
#include <vector>

#include "ui/panels/curves/loss_history.h"
#include "ui/panels/trainings.h"
#include "ui/plot/plot.h"
#include "ui/settings/settings.h"

namespace warpscope::ui {

/// Colours of the present curves, of Palette::series.
enum PresentColor : int { kTrainColor = 0, kTestColor = 1, kValidationColor = 3, kBeforeColor = 7 };

/// A curve of the plot. `name` and the series must outlive it.
struct ShownCurve {
  enum class Kind { train, test, validation, before, skipped };
  std::string name;  ///< "train"; "20260131T235959Z-1 test" of an earlier run
  Kind kind = Kind::train;
  std::string run{};     ///< the name of the other run that it belongs to
  bool earlier = false;  ///< of another run
  int color = 0;         ///< of Palette::series
  std::size_t dash =
      0;  ///< plot::dash_pattern(): no two curves have the same colour and dashes, as long as there are others
  const plot::Series* series = nullptr;
  const plot::Series* beneath = nullptr;  ///< each step's value under an average
  double end = 0;                         ///< x of its training's last step
};

/// True if `metric` is measured on held-out images too.
bool has_held_out(Metric metric);

/// The curve of the steps in the plot of that number, averaged as it is chosen; nullptr where no step has a value.
const plot::Series* curve_of_steps(const LossHistory& history, std::size_t plot);

/// The curves to be drawn in the plot of that number, from the back to the front; those that are hidden or empty are
/// left out.
std::vector<ShownCurve> shown_curves(const Trainings& trainings, std::size_t plot,
                                     const PlotSettings& settings);

/// The dashes of the training curves of an overlay: the first that no overlay before it and no curve of the window's
/// training has in its colour. Its held-out curves have the next.
std::size_t dash_of_run(Overlays overlays, std::size_t index);

/// As lines of a plot. They point into `curves`.
std::vector<plot::Line> lines_of(std::span<const ShownCurve> curves, const Palette& palette);

}  // namespace warpscope::ui
