#pragma once
// The columns of the kernels table, and its number cells.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/messages/snapshot.h"
#include "ui/frame/frame.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

/// Times and costs of one op, of one of its layers, or of the whole step. A time is 0 if it is not known; a
/// sum over layers is known if each of them is; layers that the call of another op covers do not count.
/// `previous` means before the last switch.
struct KernelCost {
  double microseconds = 0;
  double previous_microseconds = 0;
  double flops = 0;
  double bytes = 0;
  int samples = 0;       ///< fewest of any layer
  bool covered = false;  ///< the call of another op covers it: it has no time of its own
  double spread = 0;     ///< of the times, from the first quartile to the third
  double previous_spread = 0;
  int previous_samples = 0;        ///< fewest of any layer
  training::Control control = {};  ///< of the two times; of the layers the worst

  /// 10^12 floating-point operations a second; 0 if unknown.
  double teraflops() const { return microseconds > 0 ? flops / microseconds / 1e6 : 0; }
  /// 10^9 bytes a second; 0 if unknown.
  double gigabytes() const { return microseconds > 0 ? bytes / microseconds / 1e3 : 0; }
  training::Measured now() const { return {microseconds, spread, static_cast<std::uint64_t>(samples)}; }
  training::Measured before() const {
    return {previous_microseconds, previous_spread, static_cast<std::uint64_t>(previous_samples)};
  }
};

/// One op and its layers, in launch order.
struct KernelRow {
  ops::Op op{};
  KernelCost cost;
  std::string previous_variant;  ///< of the first layer; "" if it was never switched
  std::vector<const training::OpTiming*> layers;
  std::optional<ops::Op> covered_by;  ///< the op whose call covers this one, in some or all of its layers
};

/// True if one of its layers has that name; no layer is called "".
bool has_layer(const KernelRow& row, std::string_view layer);
/// The first of the rows that has the layer; nullptr if none has.
const KernelRow* row_with_layer(const std::vector<KernelRow>& rows, std::string_view layer);

/// What runs the layers of an op (training::running_text).
std::string running_text(const KernelRow& row);

/// True if a layer does not run as one would expect: reasons_text() then says why.
bool has_reasons(const KernelRow& row);
/// A line for each such layer: "conv2: hopper covers bias.forward, but ..."; "" if there is none.
std::string reasons_text(const KernelRow& row);

/// One row for each op, in the order of their first launch. Points into `timings`.
std::vector<KernelRow> kernel_rows(const std::vector<training::OpTiming>& timings);

KernelCost cost_of(const training::OpTiming& timing);

/// The whole step: its times, too, are known if those of all ops are, so that none is more than all of them. Its
/// previous time takes the present one for ops that were never switched, and is unknown if none was.
KernelCost step_cost(const std::vector<KernelRow>& rows);

/// How the time of a call or of a step has changed with the last switch.
struct TimeChange {
  training::Difference difference = training::Difference::unknown;
  double ratio = 0;   ///< the present time over the former one; 0 where they cannot be compared
  double before = 0;  ///< microseconds that stand beside the ratio; 0: none of its kind
  std::string tip;    ///< what was compared, or why nothing was
};
TimeChange change_of(const KernelCost& cost);
/// For whole steps, by the last two rungs of the ladder: so it says what the Ladder says. The sampled ops of `step`,
/// which are launched one by one, may add up to another ratio: only the tip tells it.
TimeChange change_of_step(const std::vector<training::LadderEntry>& ladder, const KernelCost& step);
/// "0.25x the time"; "-" where they were not measured alike (training::compare). `brief`: "0.25x".
std::string change_text(const TimeChange& change, bool brief);

/// The ops by falling time, those without a time last; and in launch order.
std::vector<ops::Op> ops_by_time(const std::vector<KernelRow>& rows);
std::vector<ops::Op> ops_by_launch(const std::vector<KernelRow>& rows);

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
/// What `change` says: the time before the last switch, and how it has changed. `previous` names the variant before.
void was_cell(const Frame& frame, const Cell& cell, const TimeChange& change, std::string_view previous);

}  // namespace warpscope::ui
