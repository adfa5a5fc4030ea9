#pragma once
// What each figure of a training is called, what it is and how it is measured: the one place from which run.json,
// `warpscope runs`, the window and its tool-tips take that.

#include <span>
#include <string>
#include <string_view>

#include "gpu/messages/run_figures.h"

namespace warpscope::training {

struct Figure {
  const char* key;       ///< in files: run.json, JSON, a column of CSV; "" of one that only the window shows
  const char* name;      ///< on the screen and in tables
  const char* meaning;   ///< one sentence for somebody who has never seen it
  const char* measured;  ///< over what it is taken, and when it is there
  double RunFigures::*value = nullptr;  ///< of figures of a whole run
  bool always = false;                  ///< in run.json also where there is none, as null

  double of(const RunFigures& figures) const { return figures.*value; }
};

/// One number of a whole run, in the order of run.json. That of steps, a whole number, is RunFigures::steps.
std::span<const Figure> run_figures();
/// One number for each step or evaluation: columns of CSV, scalars of TensorBoard, curves.
std::span<const Figure> series_figures();
/// What only the window shows.
std::span<const Figure> window_figures();

/// By its name, or one of series by its key; nullptr if there is none.
const Figure* find_figure(std::string_view name);
const Figure* find_series(std::string_view key);

/// What it means and, in a second line, how it is measured.
std::string figure_tip(const Figure& figure);

}  // namespace warpscope::training
