#pragma once
// The rows of a bench, grouped and put into words for bars and roofline. No drawing here.

#include <optional>
#include <string>
#include <vector>

#include "gpu/messages/user_kernels.h"
#include "gpu/profiling/bench.h"

namespace warpscope::ui {

/// Which rows are shown; what is not set means all.
struct BenchFilter {
  std::optional<ops::Op> op;
  std::optional<core::Precision> precision;

  bool shows(const profiling::BenchRow& row) const {
    return (!op || *op == row.what.op) && (!precision || *precision == row.precision);
  }
};

/// Rows that compete: the variants of one op on the shape of one layer, in each shown precision.
struct BenchGroup {
  profiling::BenchCase what;
  double floor = 0;  ///< microseconds, where the rows agree on it; 0 where they do not or none was timed
  std::vector<const profiling::BenchRow*> rows;  ///< timed ones first, else in the order of the bench
};

/// By op in the order of the table of ops, layers in the order of the bench. With all precisions shown, rows
/// that were not timed are left out where their variant was timed in another precision. Points into `rows`.
std::vector<BenchGroup> bench_groups(const std::vector<profiling::BenchRow>& rows, const BenchFilter& filter);

/// "fastest", "fastest, tie", "2nd", "2nd, tie", ... within op, layer and precision; "" if it was
/// not timed or has no rival.
std::string rank_text(const profiling::BenchRow& row, const BenchGroup& group);

/// "88.0", "0.026": microseconds of a floor.
std::string floor_text(double microseconds);

/// Part of the floor that was reached, from 0 to 1; 0 if unknown.
double part_of_floor(const profiling::BenchRow& row);

/// Every number of a row, a line each.
std::string bench_tip(const profiling::BenchRow& row);

/// Several rows of an op and variant as one point of a roofline.
struct BenchPoint {
  ops::Op op{};
  std::string variant;
  std::string layer;  ///< "" if layers are added up
  core::Precision precision{};
  double flops = 0;        ///< by the op's formula
  double least_flops = 0;  ///< of the cheapest way known: what the roof is held against
  double bytes = 0;
  double microseconds = 0;
  int layers = 0;

  double intensity() const { return least_flops / bytes; }            ///< least FLOP/byte
  double rate() const { return least_flops / microseconds * 1e6; }    ///< least FLOP/s
  double formula_rate() const { return flops / microseconds * 1e6; }  ///< FLOP/s
};

/// The timed rows that compute something: layers added up, or one by one where `filter` names an op.
std::vector<BenchPoint> bench_points(const std::vector<profiling::BenchRow>& rows, const BenchFilter& filter);

/// Rows of the kernels of a person's own that run, as they were timed beside the training, for points of a roofline.
std::vector<profiling::BenchRow> rows_of_own(const training::UserKernels& kernels);

/// Every number of a point, a line each; `roof` is what the device allows at its intensity, or 0.
std::string point_tip(const BenchPoint& point, double roof);

/// What was timed and what was not: "214 timed, 12 cannot run here".
std::string bench_summary(const std::vector<profiling::BenchRow>& rows);

/// The ops and the precisions that occur in `rows`, each once, in the order of their enumerations.
std::vector<ops::Op> bench_ops(const std::vector<profiling::BenchRow>& rows);
std::vector<core::Precision> bench_precisions(const std::vector<profiling::BenchRow>& rows);

}  // namespace warpscope::ui
