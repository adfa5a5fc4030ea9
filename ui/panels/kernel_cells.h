#pragma once
// The columns of the kernels table, and its number cells.

#include <array>
#include <string>
#include <string_view>

#include "ui/frame/frame.h"
#include "ui/panels/kernel_rows.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

/// A cell: its place in pixels of the window, one row high, and the colour of its numbers.
struct Cell {
  ImVec2 min;
  ImVec2 max;
  ImU32 color = 0;
};

/// Columns of the table.
enum KernelColumn : std::size_t { kOp, kVariant, kTime, kShare, kRate, kBandwidth, kWas };
using KernelColumns = std::array<Column, 7>;
/// What they show and which are left out first; `unit` is that of the rates, rate_unit().
KernelColumns kernel_columns(const char* unit);

/// Width in pixels of the number of a share_cell(), at its left.
float share_number_width(const Frame& frame);
/// Width in pixels of the ratio at the right of a was_cell() that is `cell_width` pixels wide.
float ratio_width(const Frame& frame, float cell_width);

/// "TFLOP/s" on GPUs, "GFLOP/s" on CPUs.
const char* rate_unit(const Frame& frame);

/// "1,234.5": microseconds with as many decimals as make sense on the device and at this size.
std::string microseconds_text(const Frame& frame, double microseconds);

void time_cell(const Frame& frame, const Cell& cell, const KernelCost& cost);
/// Part of the step as a number, with a bar where the cell has room for it.
void share_cell(const Frame& frame, const Cell& cell, const KernelCost& cost, double step_microseconds);
/// Floating-point operations a second, in rate_unit().
void rate_cell(const Frame& frame, const Cell& cell, const KernelCost& cost);
void bandwidth_cell(const Frame& frame, const Cell& cell, const KernelCost& cost);
/// The time before the last switch and how it has changed. `previous` names the variant before.
void was_cell(const Frame& frame, const Cell& cell, const KernelCost& cost, const TimeChange& change,
              std::string_view previous);

}  // namespace warpscope::ui
