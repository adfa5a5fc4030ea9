#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "app/bench_report.h"
#include "app/table.h"
#include "gpu/plan/presets.h"

namespace warpscope::app {
namespace {

using core::Precision;
using profiling::BenchRow;
using profiling::StepRow;

bool same_group(const BenchRow& a, const BenchRow& b) {
  return a.what.op == b.what.op && a.what.shape == b.what.shape && a.precision == b.precision;
}

std::string spread_text(double p10, double p90) {
  return fmt::format("{} – {}", figure(p10), figure(p90));
}

/// FLOP/s in the unit of the kind of device.
std::string rate_text(double flops_per_second, core::DeviceKind device) {
  return figure(flops_per_second / (device == core::DeviceKind::cuda ? 1e12 : 1e9));
}
const char* rate_unit(core::DeviceKind device) {
  return device == core::DeviceKind::cuda ? "TFLOP/s" : "GFLOP/s";
}

std::string rank_text(const BenchRow& row, const std::vector<const BenchRow*>& group) {
  const auto equals =
      std::ranges::count_if(group, [&](const BenchRow* other) { return other->rank == row.rank; });
  return fmt::format("{}{}", equals > 1 ? "=" : "", row.rank);
}

std::vector<Column> row_columns(core::DeviceKind device) {
  std::vector<Column> columns{{"rank"},
                              {"variant", Align::left},
                              {"median µs"},
                              {"p10 – p90"},
                              {rate_unit(device)},
                              {"GB/s"},
                              {"of floor"},
                              {"workspace"}};
  if (device == core::DeviceKind::cuda) {
    for (const char* title : {"launches", "registers", "shared", "occupancy"}) columns.push_back({title});
  }
  return columns;
}

std::vector<std::string> row_cells(const BenchRow& row, const std::vector<const BenchRow*>& group,
                                   core::DeviceKind device) {
  const double seconds = 1e-6 * row.median;
  std::vector<std::string> cells{rank_text(row, group),
                                 row.variant,
                                 figure(row.median),
                                 spread_text(row.p10, row.p90),
                                 rate_text(row.flops / seconds, device),
                                 figure(row.bytes / seconds / 1e9),
                                 fmt::format("{:.1f} %", 100 * row.floor / row.median),
                                 bytes_text(static_cast<double>(row.workspace))};
  if (device != core::DeviceKind::cuda) return cells;
  const profiling::KernelResources& used = row.resources;
  cells.push_back(fmt::format("{}", row.launches));
  cells.push_back(used.registers > 0 ? fmt::format("{}", used.registers) : "-");
  cells.push_back(used.registers > 0 ? bytes_text(static_cast<double>(used.shared_bytes)) : "-");
  cells.push_back(used.registers > 0 ? fmt::format("{:.0f} %", 100 * used.occupancy) : "-");
  return cells;
}

/// "naive, tiled: not in bf16; in fp32": variants that were not timed, by reason.
std::string skipped_text(const std::vector<const BenchRow*>& group) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const BenchRow* row : group) {
    if (!row->timed()) by_reason[row->skipped].push_back(row->variant);
  }
  std::string text;
  for (const auto& [reason, names] : by_reason) {
    text += toned(fmt::format("      {}: {}", fmt::join(names, ", "), reason), Tone::dim) + "\n";
  }
  return text;
}

std::string title_of(const BenchRow& row) {
  return fmt::format("{}{}{}  {}  {}", ops::to_string(row.what.op), row.what.layer.empty() ? "" : "  ",
                     row.what.layer, ops::describe(row.what.op, row.what.shape),
                     core::to_string(row.precision));
}

/// Beside the floor, where it rests on fewer operations than the rate counts.
std::string fewer_text(const BenchRow& row) {
  if (!(row.least_flops < row.flops)) return "";
  return fmt::format(" ({:.2f} times fewer products than the rate counts)", row.flops / row.least_flops);
}

std::string group_text(std::vector<const BenchRow*> group, core::DeviceKind device) {
  std::ranges::stable_sort(group, [](const BenchRow* a, const BenchRow* b) {
    return a->timed() && (!b->timed() || a->median < b->median);
  });
  if (!group.front()->timed()) {
    return toned(title_of(*group.front()) + ": nothing runs", Tone::dim) + "\n" + skipped_text(group) + "\n";
  }
  Table table(row_columns(device));
  for (const BenchRow* row : group) {
    if (row->timed()) table.add(row_cells(*row, group, device));
  }
  return fmt::format("{}  floor {} µs{}\n{}{}\n", title_of(*group.front()), figure(group.front()->floor),
                     fewer_text(*group.front()), table.text(), skipped_text(group));
}

std::string verdict_of(const profiling::Change& change) {
  if (!change.beyond_spread) return "within the spread";
  return change.ratio > 1 ? "faster" : "slower";
}

Tone tone_of(const profiling::Change& change) {
  if (!change.beyond_spread) return Tone::dim;
  return change.ratio < 1 ? Tone::bad : Tone::plain;
}

/// True if the variant of an earlier row still exists and can cover what it covered then.
bool still_there(const BenchRow& row, core::DeviceKind device) {
  if (row.sum) return true;
  const ops::Variant* variant =
      ops::find_variant(*ops::built_in_variants(), row.what.op, device, row.variant);
  if (variant == nullptr) return false;
  const std::vector<ops::OpSet> sets = ops::coverings(*variant);
  return std::ranges::find(sets, row.what.shape.covered) != sets.end();
}

/// What was timed with variants that no longer exist: "no longer there: conv2d.forward loops, with bias,
/// relu".
std::string gone_text(const BenchReport& before) {
  std::vector<std::string> gone;
  for (const BenchRow& row : before.rows) {
    if (!row.timed() || still_there(row, before.device.kind)) continue;
    const std::string with =
        row.what.shape.covered.empty() ? "" : fmt::format(", with {}", ops::describe(row.what.shape.covered));
    const std::string name = fmt::format("{} {}{}", ops::to_string(row.what.op), row.variant, with);
    if (std::ranges::find(gone, name) == gone.end()) gone.push_back(name);
  }
  std::string text;
  for (const std::string& name : gone)
    text += toned(fmt::format("no longer there: {}", name), Tone::dim) + "\n";
  return text;
}

}  // namespace

std::string peaks_text(const core::DeviceInfo& device, const profiling::Peaks& peaks) {
  std::string text = fmt::format("{} ({}), measured peaks:", device.name, device.id());
  for (const Precision precision : core::selectable_precisions()) {
    const double flops = peaks.flops(precision);
    if (flops <= 0) continue;
    text += fmt::format(" {} {} {},", core::to_string(precision), rate_text(flops, device.kind),
                        rate_unit(device.kind));
  }
  text += fmt::format(" memory {} GB/s\n", figure(peaks.bytes / 1e9));
  return text + fmt::format(
                    "floor: the least products known over the peak, or the bytes over the memory's rate, "
                    "whichever takes longer; {} counts the formulas' products\n",
                    rate_unit(device.kind));
}

std::string rows_text(const BenchReport& report) {
  std::string text;
  for (auto first = report.rows.begin(); first != report.rows.end();) {
    const auto end =
        std::find_if(first, report.rows.end(), [&](const BenchRow& row) { return !same_group(*first, row); });
    std::vector<const BenchRow*> group;
    for (auto row = first; row != end; ++row) group.push_back(&*row);
    text += group_text(group, report.device.kind);
    first = end;
  }
  return text;
}

std::string steps_text(const BenchReport& report) {
  if (report.steps.empty()) return "";
  Table table({{"selection", Align::left},
               {"precision", Align::left},
               {"median µs"},
               {"p10 – p90"},
               {"images/s"},
               {"memory"},
               {"mJ an image"}});
  for (const StepRow& row : report.steps) {
    const std::string precision(core::to_string(row.selection.precision));
    if (!row.skipped.empty()) {
      table.add({row.name, precision, row.skipped}, Tone::dim);
      continue;
    }
    table.add({row.name, precision, figure(row.median), spread_text(row.p10, row.p90),
               figure(row.images_per_second), bytes_text(static_cast<double>(row.peak_bytes)),
               row.joules < 0 ? "-" : figure(1000 * row.joules / row.batch)});
  }
  return fmt::format("whole training steps, batch {}, {}\n{}\n", report.batch, report.optimizer,
                     table.text());
}

std::string advice_text(const BenchReport& report) {
  std::string text;
  for (const profiling::Advice& advice : report.advice) {
    const std::string label = plan::label_of(advice.present, report.device);
    const std::string now = label.empty() ? "the present choice" : label;
    text += fmt::format("in turns, {}: {}\n", core::to_string(advice.present.precision),
                        profiling::verdict_text(advice, now));
    if (advice.faster()) text += fmt::format("  --select {}\n", plan::selection_text(advice.best));
  }
  return text.empty() ? "" : text + "\n";
}

std::string missing_text(const BenchReport& report) {
  if (report.missing.empty()) return "";
  std::map<ops::Op, std::vector<std::string>> names;
  for (const ops::Variant* variant : report.missing) names[variant->op].push_back(variant->name);
  std::string text = toned(fmt::format("not run here, {}:", report.missing_reason), Tone::dim) + "\n";
  for (const auto& [op, list] : names) {
    text +=
        toned(fmt::format("      {:<24} {}", ops::to_string(op), fmt::join(list, ", ")), Tone::dim) + "\n";
  }
  return text + "\n";
}

std::string changes_text(const BenchReport& before, const BenchReport& after, const std::string& file) {
  Table table({{"what", Align::left},
               {"variant", Align::left},
               {"precision", Align::left},
               {"before µs"},
               {"now µs"},
               {"ratio"},
               {"", Align::left}});
  // Times of another device are another matter: they are what one asks for.
  const bool one_device = before.device.name == after.device.name;
  const std::string doubt = one_device ? profiling::peaks_doubt(before.peaks, after.peaks) : std::string();
  const auto add = [&](const std::string& what, const std::string& variant, Precision precision,
                       const profiling::Change& change) {
    const bool alike = doubt.empty();
    table.add(
        {what, variant, std::string(core::to_string(precision)), figure(change.before), figure(change.after),
         alike ? fmt::format("{:.2f}", change.ratio) : "-", alike ? verdict_of(change) : "not compared"},
        alike ? tone_of(change) : Tone::dim);
  };
  for (const auto& [row, change] : profiling::compare(before.rows, after.rows)) {
    add(fmt::format("{} {}", ops::to_string(row.what.op), ops::describe(row.what.op, row.what.shape)),
        row.variant, row.precision, change);
  }
  for (const auto& [row, change] : profiling::compare(before.steps, after.steps)) {
    add(fmt::format("whole step, batch {}", row.batch), row.name, row.selection.precision, change);
  }
  const std::string gone = gone_text(before);
  if (table.empty()) return fmt::format("nothing here was measured in {} too\n{}", file, gone);
  return fmt::format("against {} ({}); {}\n{}{}", file, before.device.name,
                     doubt.empty() ? "a ratio above 1 is faster now" : "not compared: " + doubt, table.text(),
                     gone);
}

}  // namespace warpscope::app
