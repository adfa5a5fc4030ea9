#include "ui/panels/laboratory/bench_rows.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/panels/kernels/own_kernels_rows.h"
#include "ui/text/numbers.h"
#include "ui/text/terms.h"

namespace warpscope::ui {
namespace {

using profiling::BenchRow;

bool timed(const BenchRow& row) {
  return row.samples > 0 && row.median > 0;
}

// Each precision has its own floor; a group of several precisions shows one only if all agree.
double common_floor(const std::vector<const BenchRow*>& rows) {
  double floor = 0;
  for (const BenchRow* row : rows) {
    if (!timed(*row)) continue;
    if (floor > 0 && row->floor != floor) return 0;
    floor = row->floor;
  }
  return floor;
}

// With several precisions side by side, a variant need not be listed again for those in which it cannot run.
void leave_out_known_refusals(BenchGroup& group) {
  const std::vector<const BenchRow*> all = group.rows;
  std::erase_if(group.rows, [&](const BenchRow* row) {
    return !timed(*row) && std::any_of(all.begin(), all.end(), [&](const BenchRow* other) {
      return timed(*other) && other->variant == row->variant;
    });
  });
}

std::string ordinal(int rank) {
  static constexpr std::array kWords{"fastest", "2nd", "3rd"};
  if (rank <= 3) return kWords[static_cast<std::size_t>(rank - 1)];
  return fmt::format("{}th", rank);
}

}  // namespace

std::vector<BenchGroup> bench_groups(const std::vector<BenchRow>& rows, const BenchFilter& filter) {
  std::vector<BenchGroup> groups;
  for (const BenchRow& row : rows) {
    if (!filter.shows(row)) continue;
    const auto same = [&](const BenchGroup& group) {
      return group.what.op == row.what.op && group.what.layer == row.what.layer &&
             group.what.shape == row.what.shape;
    };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) {
      groups.push_back({row.what, 0, {}});
      group = groups.end() - 1;
    }
    group->rows.push_back(&row);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const BenchGroup& a, const BenchGroup& b) { return a.what.op < b.what.op; });
  for (BenchGroup& group : groups) {
    std::stable_partition(group.rows.begin(), group.rows.end(),
                          [](const BenchRow* row) { return timed(*row); });
    group.floor = common_floor(group.rows);
    if (!filter.precision) leave_out_known_refusals(group);
  }
  return groups;
}

std::string rank_text(const BenchRow& row, const BenchGroup& group) {
  if (row.rank <= 0 || !timed(row)) return {};
  const auto rivals = std::count_if(group.rows.begin(), group.rows.end(), [&](const BenchRow* other) {
    return other->precision == row.precision && timed(*other);
  });
  const auto equals = std::count_if(group.rows.begin(), group.rows.end(), [&](const BenchRow* other) {
    return other->precision == row.precision && other->rank == row.rank;
  });
  if (rivals < 2) return {};
  return ordinal(row.rank) + (equals > 1 ? ", tie" : "");
}

std::string floor_text(double microseconds) {
  return with_thousands(microseconds, microseconds < 1 ? 3 : 1);
}

double part_of_floor(const BenchRow& row) {
  return timed(row) && row.floor > 0 ? row.floor / row.median : 0;
}

std::string bench_tip(const BenchRow& row) {
  std::string tip = fmt::format("{} {} {}{}", ops::to_string(row.what.op), row.variant,
                                core::to_string(row.precision), row.library ? " (library)" : "");
  tip += fmt::format("\n{}{}{}", row.what.layer, row.what.layer.empty() ? "" : ": ",
                     ops::describe(row.what.op, row.what.shape));
  if (row.sum) {
    return tip +
           fmt::format(
               "\n{} \u00b5s: the medians of the best variants of these operations, each by itself, added up",
               with_thousands(row.median, 1));
  }
  if (!timed(row)) return tip + "\nnot timed: " + (row.skipped.empty() ? "no sample" : row.skipped);
  tip += fmt::format("\n{} \u00b5s median, {} to {} \u00b5s (10th to 90th percentile of {} samples)",
                     with_thousands(row.median, 1), with_thousands(row.p10, 1), with_thousands(row.p90, 1),
                     row.samples);
  if (row.flops > 0) {
    tip += fmt::format("\n{}FLOP, {}FLOP/s", si_number(row.flops), si_number(row.flops / row.median * 1e6));
  }
  if (row.least_flops < row.flops) {
    tip += fmt::format(" by the layers' formulas\n{}FLOP at least, on which the floor rests",
                       si_number(row.least_flops));
  }
  tip += fmt::format("\n{} at least, {}B/s", bytes_text(row.bytes), si_number(row.bytes / row.median * 1e6));
  if (row.floor > 0) {
    tip +=
        fmt::format("\n{:.0f} % of the floor, {} \u00b5s", 100 * part_of_floor(row), floor_text(row.floor));
  }
  tip += fmt::format("\nworkspace {}", bytes_text(static_cast<double>(row.workspace)));
  if (row.launches > 0) tip += ", " + files::counted(row.launches, "launch", "launches");
  if (row.resources.registers > 0) {
    tip += fmt::format("\n{} registers a thread, {} shared a block, occupancy {:.0f} %",
                       row.resources.registers, bytes_text(static_cast<double>(row.resources.shared_bytes)),
                       100 * row.resources.occupancy);
    tip.append("\nOccupancy: ").append(explain("Occupancy"));
  }
  return tip;
}

std::string point_tip(const BenchPoint& point, double roof) {
  const std::string where =
      point.layer.empty() ? files::counted(point.layers, "layer") + " added up" : point.layer;
  std::string tip =
      fmt::format("{} {} {}, {}\n{}FLOP in {} \u00b5s: {}FLOP/s", ops::to_string(point.op), point.variant,
                  core::to_string(point.precision), where, si_number(point.flops),
                  with_thousands(point.microseconds, 1), si_number(point.formula_rate()));
  if (point.least_flops < point.flops) {
    tip += fmt::format(" by the layers' formulas\n{}FLOP at least: {}FLOP/s, which is shown",
                       si_number(point.least_flops), si_number(point.rate()));
  }
  tip += fmt::format("\n{} FLOP/byte", with_thousands(point.intensity(), 1));
  if (roof > 0) {
    tip +=
        fmt::format("\n{:.0f} % of the roof above it, {}FLOP/s", 100 * point.rate() / roof, si_number(roof));
  }
  return tip;
}

std::vector<BenchPoint> bench_points(const std::vector<BenchRow>& rows, const BenchFilter& filter) {
  std::vector<BenchPoint> points;
  for (const BenchRow& row : rows) {
    if (!filter.shows(row) || !timed(row) || row.sum || !(row.flops > 0) || !(row.bytes > 0)) continue;
    const std::string layer = filter.op ? row.what.layer : "";
    const auto same = [&](const BenchPoint& point) {
      return !filter.op && point.op == row.what.op && point.variant == row.variant &&
             point.precision == row.precision;
    };
    auto point = std::find_if(points.begin(), points.end(), same);
    if (point == points.end()) {
      points.push_back({row.what.op, row.variant, layer, row.precision, 0, 0, 0, 0, 0});
      point = points.end() - 1;
    }
    point->flops += row.flops;
    point->least_flops += row.least_flops;
    point->bytes += row.bytes;
    point->microseconds += row.median;
    ++point->layers;
  }
  return points;
}

std::vector<BenchRow> rows_of_own(const training::UserKernels& kernels) {
  std::vector<BenchRow> rows;
  for (const training::UserKernel& kernel : kernels.kernels) {
    const training::KernelVersion* const version =
        kernel.used() == 0 || !kernel.op ? nullptr : version_of(kernel, kernel.used());
    if (version == nullptr || version->number != kernel.used()) continue;
    for (const training::KernelShapeTimes& each : version->times) {
      const auto own = std::ranges::find_if(each.times, [&](const training::KernelTime& time) {
        return time.variant == kernel.variant && time.version == version->number;
      });
      if (own == each.times.end()) continue;
      for (const std::string& layer : each.layers) {
        BenchRow& row = rows.emplace_back();
        row.what = {*kernel.op, layer, each.shape};
        row.precision = core::Precision::fp32;
        row.variant = kernel.variant;
        row.samples = static_cast<int>(own->microseconds.samples);
        row.median = own->microseconds.median;
        row.middle = own->microseconds.spread;
        row.flops = each.flops;
        row.least_flops = each.least_flops;
        row.bytes = each.bytes;
      }
    }
  }
  return rows;
}

std::string bench_summary(const std::vector<BenchRow>& rows) {
  const auto count =
      std::count_if(rows.begin(), rows.end(), [](const BenchRow& row) { return timed(row) && !row.sum; });
  const auto others =
      std::count_if(rows.begin(), rows.end(), [](const BenchRow& row) { return !timed(row); });
  std::string text = fmt::format("{} timed", with_thousands(std::int64_t{count}));
  if (others > 0) text += fmt::format(", {} cannot run here", with_thousands(std::int64_t{others}));
  return text;
}

std::vector<ops::Op> bench_ops(const std::vector<BenchRow>& rows) {
  std::set<ops::Op> found;
  for (const BenchRow& row : rows) found.insert(row.what.op);
  return {found.begin(), found.end()};
}

std::vector<core::Precision> bench_precisions(const std::vector<BenchRow>& rows) {
  std::set<core::Precision> found;
  for (const BenchRow& row : rows) found.insert(row.precision);
  return {found.begin(), found.end()};
}

}  // namespace warpscope::ui
