#pragma once
// A run as a table of text.

#include <string>
#include <string_view>

#include "gpu/runs/run_reader.h"

namespace warpscope::runs {

/// RFC 4180: a title line, then a row a step, lines ended by CR LF. Columns: step, epoch, seconds, the series
/// of the steps, those of the tests, and "markers" if there are any (several of one step joined by "; "). A
/// test stands in the row of its step; a test or marker of a step that has no row, and a second value for a
/// cell, get rows of their own. Numbers have the fewest digits that give the same double again; where there
/// is none, the cell is empty.
std::string csv_of(const RunPoints& points);

/// A cell, in quotes if it has to be.
std::string csv_cell(std::string_view text);

}  // namespace warpscope::runs
