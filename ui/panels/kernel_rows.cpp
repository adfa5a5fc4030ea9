#include "ui/panels/kernel_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/messages/running.h"
#include "ui/panels/ladder_rows.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

KernelCost sum_of(const std::vector<const training::OpTiming*>& layers) {
  KernelCost sum;
  bool timed = true;
  bool switched = true;
  bool first = true;
  for (const training::OpTiming* layer : layers) {
    sum.previous_microseconds += layer->previous_microseconds;
    sum.previous_spread += layer->previous_spread;
    sum.previous_samples = layer == layers.front() ? layer->previous_samples
                                                   : std::min(sum.previous_samples, layer->previous_samples);
    switched = switched && layer->previous_microseconds > 0;
    if (layer->covered_by) continue;
    sum.microseconds += layer->microseconds;
    sum.spread += layer->spread;
    sum.flops += layer->flops;
    sum.bytes += layer->bytes;
    sum.samples = first ? layer->samples : std::min(sum.samples, layer->samples);
    timed = timed && layer->microseconds > 0;
    first = false;
  }
  sum.covered = first;
  if (!timed) sum.microseconds = 0;
  if (!switched) sum.previous_microseconds = 0;
  return sum;
}

}  // namespace

KernelCost cost_of(const training::OpTiming& timing) {
  return {timing.microseconds,    timing.previous_microseconds,  timing.flops,  timing.bytes,
          timing.samples,         timing.covered_by.has_value(), timing.spread, timing.previous_spread,
          timing.previous_samples};
}

std::vector<KernelRow> kernel_rows(const std::vector<training::OpTiming>& timings) {
  std::vector<KernelRow> rows;
  for (const training::OpTiming& timing : timings) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const KernelRow& r) { return r.op == timing.op; });
    if (row == rows.end()) {
      rows.emplace_back();
      row = rows.end() - 1;
      row->op = timing.op;
      row->previous_variant = timing.previous_variant;
    }
    row->layers.push_back(&timing);
    if (timing.covered_by) row->covered_by = timing.covered_by->op;
  }
  for (KernelRow& row : rows) row.cost = sum_of(row.layers);
  return rows;
}

bool has_layer(const KernelRow& row, std::string_view layer) {
  return !layer.empty() && std::any_of(row.layers.begin(), row.layers.end(),
                                       [&](const training::OpTiming* one) { return one->layer == layer; });
}

const KernelRow* row_with_layer(const std::vector<KernelRow>& rows, std::string_view layer) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const KernelRow& row) { return has_layer(row, layer); });
  return found == rows.end() ? nullptr : &*found;
}

std::string running_text(const KernelRow& row) {
  return training::running_text(row.layers);
}

bool has_reasons(const KernelRow& row) {
  return std::any_of(row.layers.begin(), row.layers.end(),
                     [](const training::OpTiming* layer) { return !layer->reason.empty(); });
}

std::string reasons_text(const KernelRow& row) {
  std::string text;
  for (const training::OpTiming* layer : row.layers) {
    if (layer->reason.empty()) continue;
    const std::string where = layer->layer.empty() ? "" : layer->layer + ": ";
    text += fmt::format("{}{}{}", text.empty() ? "" : "\n", where, layer->reason);
  }
  return text;
}

KernelCost step_cost(const std::vector<KernelRow>& rows) {
  KernelCost step;
  bool timed = true;
  bool switched = false;
  bool first = true;
  for (const KernelRow& row : rows) {
    const KernelCost& cost = row.cost;
    step.microseconds += cost.microseconds;
    step.previous_microseconds +=
        cost.previous_microseconds > 0 ? cost.previous_microseconds : cost.microseconds;
    step.flops += cost.flops;
    step.bytes += cost.bytes;
    switched = switched || cost.previous_microseconds > 0;
    if (cost.covered) continue;
    step.samples = first ? cost.samples : std::min(step.samples, cost.samples);
    timed = timed && cost.microseconds > 0;
    first = false;
  }
  if (!timed) step.microseconds = 0;
  if (!timed || !switched) step.previous_microseconds = 0;
  return step;
}

TimeChange change_of(const KernelCost& cost) {
  TimeChange change;
  change.difference = training::difference(cost.before(), cost.now());
  if (cost.covered) {
    change.tip = "Not compared: it runs inside another call now and has no time of its own.";
    return change;
  }
  if (change.difference == training::Difference::unknown) {
    change.tip = fmt::format(
        "Not compared: {} times were sampled before the switch and {} since; {} of each are needed.",
        cost.previous_samples, cost.samples, training::kEnoughSamples);
    return change;
  }
  change.ratio = cost.microseconds / cost.previous_microseconds;
  change.tip =
      change.difference == training::Difference::noise
          ? "Within the noise: the two medians are nearer than their samples spread."
          : "Medians of sampled steps, none of them while something else was measured. What it does to whole "
            "steps is in the row above and in Ladder.";
  return change;
}

TimeChange change_of_step(const std::vector<training::LadderEntry>& ladder) {
  TimeChange change;
  if (ladder.size() < 2) return change;
  const training::LadderEntry &before = ladder[ladder.size() - 2], &now = ladder.back();
  if (before.batch != now.batch || now.other_network) {
    change.tip = "Not compared: another batch or network came with the switch.";
    return change;
  }
  // Images a second fall where the time grows.
  change.difference = training::difference(now.speed(), before.speed());
  if (change.difference == training::Difference::unknown) {
    change.tip = fmt::format(
        "Not compared: {} steps were timed before the switch and {} since; {} of each are needed.",
        before.timed, now.timed, training::kEnoughSamples);
    return change;
  }
  change.ratio = before.images_per_second / now.images_per_second;
  change.tip =
      fmt::format("Whole steps, as in Ladder: {} images/s before, {} now{}.",
                  with_thousands(before.images_per_second, 0), with_thousands(now.images_per_second, 0),
                  change.difference == training::Difference::noise
                      ? ", which is within the noise: nearer than the steps of each spread"
                      : "");
  return change;
}

std::string change_text(const TimeChange& change, bool brief) {
  if (change.difference == training::Difference::unknown) return "-";
  return brief ? ratio_text(change.ratio) : ratio_text(change.ratio) + " the time";
}

std::vector<ops::Op> ops_by_launch(const std::vector<KernelRow>& rows) {
  std::vector<ops::Op> order;
  for (const KernelRow& row : rows) order.push_back(row.op);
  return order;
}

std::vector<ops::Op> ops_by_time(const std::vector<KernelRow>& rows) {
  std::vector<const KernelRow*> sorted;
  for (const KernelRow& row : rows) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(), [](const KernelRow* a, const KernelRow* b) {
    return a->cost.microseconds > b->cost.microseconds;
  });
  std::vector<ops::Op> order;
  for (const KernelRow* row : sorted) order.push_back(row->op);
  return order;
}

}  // namespace warpscope::ui
