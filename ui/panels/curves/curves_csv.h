#pragma once
// Curves as a table of text: what is visible of them, for other programs. No drawing here.

#include <span>
#include <string>

#include "ui/plot/curve.h"
#include "ui/plot/plot.h"

namespace warpscope::ui {

/// A column of the table.
struct CsvCurve {
  std::string name;  ///< "loss train"
  const plot::Series* series = nullptr;
};

struct CsvText {
  std::string text;
  std::size_t rows = 0;
  bool thinned = false;  ///< of a curve with more points only the extremes are there
};

/// A header ("step,loss train,loss test"), then a row for each x of `range` at which one of the curves has a finite
/// value, with empty fields for those that have none there (RFC 4180, lines end with "\n"). Numbers read back to the
/// same floats. A curve with more than `most` points in the range gives the first, the smallest, the largest and the
/// last of each of `most` / 4 equal parts of it.
CsvText curves_csv(std::span<const CsvCurve> curves, const char* x_name, plot::Span range, std::size_t most);

}  // namespace warpscope::ui
