#pragma once
// Curves of runs as a plot.

#include <string>
#include <vector>

#include "gpu/export/svg_plot.h"
#include "gpu/runs/curves.h"
#include "gpu/runs/run_reader.h"

namespace warpscope::runs {

struct PlotChoice {
  std::vector<std::string> series;  ///< empty: train_loss and the losses of tests
  Over over = Over::step;
  bool logarithmic = false;
  std::string title;  ///< "": the names of the runs
};

/// The chosen series of all runs in one plot, with their markers. One run: a colour for each series. Several:
/// a colour for each run, a dash pattern for each series. Throws core::BadInput, with the valid names, for a
/// series that no run has, and if nothing is left to show (no points yet; no value above 0 on a logarithmic
/// axis).
Plot plot_of(const std::vector<Run>& runs, const PlotChoice& choice);

}  // namespace warpscope::runs
