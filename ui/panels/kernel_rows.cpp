#include "ui/panels/kernel_rows.h"

#include <algorithm>

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
    if (layer->absorbed) continue;
    sum.microseconds += layer->microseconds;
    sum.flops += layer->flops;
    sum.bytes += layer->bytes;
    sum.samples = first ? layer->samples : std::min(sum.samples, layer->samples);
    timed = timed && layer->microseconds > 0;
    first = false;
  }
  sum.absorbed = first;
  if (!timed) sum.microseconds = 0;
  if (!switched) sum.previous_microseconds = 0;
  return sum;
}

}  // namespace

KernelCost cost_of(const training::OpTiming& timing) {
  return {timing.microseconds, timing.previous_microseconds, timing.flops, timing.bytes, timing.samples,
          timing.absorbed};
}

std::vector<KernelRow> kernel_rows(const std::vector<training::OpTiming>& timings) {
  std::vector<KernelRow> rows;
  std::optional<ops::Op> launched;
  for (const training::OpTiming& timing : timings) {
    if (!timing.absorbed) launched = timing.op;
    auto row = std::find_if(rows.begin(), rows.end(), [&](const KernelRow& r) { return r.op == timing.op; });
    if (row == rows.end()) {
      rows.emplace_back();
      row = rows.end() - 1;
      row->op = timing.op;
      row->previous_variant = timing.previous_variant;
    }
    row->layers.push_back(&timing);
    if (timing.absorbed) row->inside = launched;
  }
  for (KernelRow& row : rows) row.cost = sum_of(row.layers);
  return rows;
}

StepCost step_cost(const std::vector<KernelRow>& rows) {
  StepCost step;
  step.complete = !rows.empty();
  bool switched = false;
  bool first = true;
  for (const KernelRow& row : rows) {
    const KernelCost& cost = row.cost;
    step.cost.microseconds += cost.microseconds;
    step.cost.previous_microseconds +=
        cost.previous_microseconds > 0 ? cost.previous_microseconds : cost.microseconds;
    if (cost.microseconds > 0) {
      step.cost.flops += cost.flops;
      step.cost.bytes += cost.bytes;
    }
    switched = switched || cost.previous_microseconds > 0;
    if (cost.absorbed) continue;
    step.cost.samples = first ? cost.samples : std::min(step.cost.samples, cost.samples);
    step.complete = step.complete && cost.microseconds > 0;
    first = false;
  }
  if (!switched) step.cost.previous_microseconds = 0;
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
