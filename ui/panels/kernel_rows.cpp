#include "ui/panels/kernel_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/messages/running.h"

namespace warpscope::ui {
namespace {

KernelCost sum_of(const std::vector<const training::OpTiming*>& layers) {
  KernelCost sum;
  bool timed = true;
  bool switched = true;
  bool first = true;
  for (const training::OpTiming* layer : layers) {
    sum.previous_microseconds += layer->previous_microseconds;
    switched = switched && layer->previous_microseconds > 0;
    if (layer->covered_by) continue;
    sum.microseconds += layer->microseconds;
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
  return {timing.microseconds, timing.previous_microseconds, timing.flops, timing.bytes,
          timing.samples,      timing.covered_by.has_value()};
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
