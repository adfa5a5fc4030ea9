#include "app/bench_chart.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/table.h"
#include "gpu/core/error.h"
#include "gpu/plan/cover.h"
#include "gpu/plan/program.h"

namespace warpscope::app {
namespace {

using core::Precision;
using profiling::BenchRow;

constexpr std::size_t kMostCalls = 24;  // bars of a step; the others are one more
constexpr std::size_t kMostOps = 8;     // groups of variants
constexpr int kForwardColor = 0, kBackwardColor = 1, kRestColor = 2;
constexpr int kOwnColor = 4, kFastestColor = 0, kLibraryColor = 3, kSumColor = 5;

/// Compares the shapes of calls; the size of the data set does not matter.
bool same_call(ops::OpShape a, ops::OpShape b) {
  a.count = b.count = 1;
  return a == b;
}

std::vector<Precision> precisions_of(const std::vector<BenchRow>& rows) {
  std::vector<Precision> found;
  for (const BenchRow& row : rows) {
    if (row.timed() && std::ranges::find(found, row.precision) == found.end()) found.push_back(row.precision);
  }
  return found;
}

Precision chosen_precision(const BenchReport& report, const BenchChartChoice& choice) {
  const std::vector<Precision> there = precisions_of(report.rows);
  if (there.empty()) throw core::BadInput("there is nothing to draw: no variant was timed");
  if (!choice.precision) return there.front();
  if (std::ranges::find(there, *choice.precision) != there.end()) return *choice.precision;
  throw core::BadInput(fmt::format("--precision: nothing was timed in {}; valid: {}",
                                   core::to_string(*choice.precision), core::names_of(there)));
}

// --- variants

/// The cases of one op, by itself or with what surrounds it.
struct Cases {
  std::vector<const BenchRow*> rows;
  std::vector<ops::OpShape> shapes;
};

/// True unless another call of the same op, layer and precision covers more of the ops around it.
bool covers_most(const BenchRow& row, const std::vector<BenchRow>& rows) {
  return std::ranges::none_of(rows, [&](const BenchRow& other) {
    return other.what.op == row.what.op && other.what.layer == row.what.layer &&
           other.precision == row.precision &&
           other.what.shape.covered.size() > row.what.shape.covered.size();
  });
}

std::map<std::pair<ops::Op, bool>, Cases> cases_of(const BenchReport& report, Precision precision) {
  std::map<std::pair<ops::Op, bool>, Cases> cases;
  for (const BenchRow& row : report.rows) {
    if (row.precision != precision || !row.timed()) continue;
    const bool covers = !row.what.shape.covered.empty();
    if (covers && !covers_most(row, report.rows)) continue;
    Cases& of_op = cases[{row.what.op, covers}];
    of_op.rows.push_back(&row);
    if (std::ranges::find(of_op.shapes, row.what.shape) == of_op.shapes.end())
      of_op.shapes.push_back(row.what.shape);
  }
  return cases;
}

double floor_of(const Cases& cases) {
  double sum = 0;
  for (const ops::OpShape& shape : cases.shapes) {
    double least = 0;
    for (const BenchRow* row : cases.rows) {
      if (row->what.shape == shape && row->floor > 0 && (least == 0 || row->floor < least))
        least = row->floor;
    }
    sum += least;
  }
  return sum;
}

std::vector<runs::ChartBar> bars_of(const Cases& cases) {
  struct Sum {
    double time = 0;
    std::size_t shapes = 0;
    const BenchRow* row = nullptr;
  };
  std::map<std::string, Sum> sums;
  for (const BenchRow* row : cases.rows) {
    Sum& sum = sums[row->variant];
    sum.time += row->median;
    ++sum.shapes;
    sum.row = row;
  }
  const double floor = floor_of(cases);
  std::vector<runs::ChartBar> bars;
  for (const auto& [name, sum] : sums) {
    if (sum.shapes != cases.shapes.size()) continue;
    const int color = sum.row->sum ? kSumColor : sum.row->library ? kLibraryColor : kOwnColor;
    bars.push_back(
        {.name = name,
         .value = sum.time,
         .mark = floor,
         .color = color,
         .text = fmt::format("{} µs, {:.0f} % of floor", figure(sum.time), 100 * floor / sum.time)});
  }
  std::ranges::sort(bars, [](const auto& a, const auto& b) { return a.value > b.value; });
  return bars;
}

runs::BarChart chart_of_variants(const BenchReport& report, Precision precision) {
  runs::BarChart chart;
  chart.label = "µs, summed over the shapes of the model";
  chart.keys = {{"our variants", kOwnColor},
                {"the fastest", kFastestColor},
                {"libraries", kLibraryColor},
                {"single ops, the best of each", kSumColor}};
  for (const auto& [key, cases] : cases_of(report, precision)) {
    runs::BarGroup group{
        .title = fmt::format(
            "{}{}, {}", ops::to_string(key.first), key.second ? " with what surrounds it" : "",
            cases.shapes.size() == 1 ? "one shape" : fmt::format("{} shapes", cases.shapes.size())),
        .bars = bars_of(cases)};
    if (group.bars.empty()) continue;
    if (group.bars.back().color == kOwnColor) group.bars.back().color = kFastestColor;
    chart.groups.push_back(std::move(group));
  }
  // By the time of the fastest variant, which is the last bar of its group.
  std::ranges::stable_sort(
      chart.groups, [](const auto& a, const auto& b) { return a.bars.back().value > b.bars.back().value; });
  if (chart.groups.size() > kMostOps) {
    chart.subtitle = fmt::format("the {} operations whose fastest variant takes longest, of {}", kMostOps,
                                 chart.groups.size());
    chart.groups.resize(kMostOps);
  }
  return chart;
}

// --- step

int color_of_call(ops::Op op) {
  const std::string_view name = ops::to_string(op);
  if (name.find(".backward") != std::string_view::npos) return kBackwardColor;
  return name.ends_with(".forward") ? kForwardColor : kRestColor;
}

std::vector<runs::ChartBar> calls_of(const BenchReport& report, Precision precision) {
  std::vector<runs::ChartBar> calls;
  for (std::size_t i = 0; i < report.rows.size() && i < report.in_step.size(); ++i) {
    const BenchRow& row = report.rows[i];
    if (row.precision != precision || !row.timed()) continue;
    for (const std::string& layer : report.in_step[i]) {
      calls.push_back({.name = fmt::format("{}{}{}: {}", layer, layer.empty() ? "" : " ",
                                           ops::to_string(row.what.op), row.variant),
                       .value = row.median,
                       .low = row.p10,
                       .high = row.p90,
                       .mark = row.floor,
                       .color = color_of_call(row.what.op)});
    }
  }
  std::ranges::stable_sort(calls, [](const auto& a, const auto& b) { return a.value > b.value; });
  return calls;
}

/// The shortest calls become one bar.
void sum_up_rest(std::vector<runs::ChartBar>& calls) {
  if (calls.size() <= kMostCalls + 1) return;
  runs::ChartBar rest{.name = fmt::format("{} more", calls.size() - kMostCalls), .color = kRestColor};
  for (std::size_t i = kMostCalls; i < calls.size(); ++i) {
    rest.value += calls[i].value;
    rest.mark += calls[i].mark;
  }
  calls.resize(kMostCalls);
  calls.push_back(std::move(rest));
}

std::string step_text(const BenchReport& report, Precision precision, double sum) {
  std::string text = fmt::format("{} µs one by one", figure(sum));
  for (const profiling::StepRow& step : report.steps) {
    if (step.name != "automatic" || step.selection.precision != precision || !step.skipped.empty()) continue;
    text += fmt::format("; the whole step {} µs, {} images/s", figure(step.median),
                        figure(step.images_per_second));
  }
  return text;
}

runs::BarChart chart_of_step(const BenchReport& report, Precision precision) {
  std::vector<runs::ChartBar> calls = calls_of(report, precision);
  if (calls.empty()) {
    throw core::BadInput(
        "there is no whole step in this file: bench writes one in if no op, variant or shape is chosen");
  }
  double sum = 0;
  for (const runs::ChartBar& call : calls) sum += call.value;
  sum_up_rest(calls);
  for (runs::ChartBar& call : calls) {
    call.text = fmt::format("{} µs, {:.1f} %", figure(call.value), 100 * call.value / sum);
  }
  runs::BarChart chart;
  chart.subtitle = step_text(report, precision, sum);
  chart.label = "µs";
  chart.keys = {{"forward", kForwardColor}, {"backward", kBackwardColor}, {"the rest", kRestColor}};
  chart.groups.push_back({"", std::move(calls)});
  return chart;
}

}  // namespace

std::vector<std::vector<std::string>> calls_of_step(const std::vector<BenchRow>& rows,
                                                    const models::Model& model, int batch,
                                                    const core::DeviceInfo& device) {
  std::vector<std::vector<std::string>> calls(rows.size());
  for (const Precision precision : precisions_of(rows)) {
    const plan::Program program = plan::lower(model, plan::Purpose::training, batch, 1, 1, precision);
    const std::vector<plan::NodeCover> covers = plan::cover(program, {precision, {}}, device);
    for (std::size_t n = 0; n < covers.size(); ++n) {
      if (covers[n].variant == nullptr) continue;
      const auto row = std::ranges::find_if(rows, [&](const BenchRow& r) {
        return r.precision == precision && !r.sum && r.what.op == program.nodes[n].op &&
               r.variant == covers[n].variant->name && same_call(r.what.shape, covers[n].shape);
      });
      if (row != rows.end())
        calls[static_cast<std::size_t>(row - rows.begin())].push_back(program.nodes[n].layer);
    }
  }
  return calls;
}

runs::BarChart chart_of(const BenchReport& report, const BenchChartChoice& choice) {
  const Precision precision = chosen_precision(report, choice);
  if (choice.series != "variants" && choice.series != "step") {
    throw core::BadInput(
        fmt::format("--series: there is no '{}' in a file of bench; valid: variants, step", choice.series));
  }
  const bool step = choice.series == "step";
  runs::BarChart chart = step ? chart_of_step(report, precision) : chart_of_variants(report, precision);
  chart.title = !choice.title.empty()
                    ? choice.title
                    : fmt::format("{}, {}, batch {}, {}", step ? "Calls of a step" : "Variants",
                                  core::to_string(precision), report.batch, report.device.name);
  chart.mark = "floor";
  chart.logarithmic = choice.logarithmic;
  return chart;
}

}  // namespace warpscope::app
