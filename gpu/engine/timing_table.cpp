#include "gpu/engine/timing_table.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gpu/ops/cost.h"

namespace warpscope::training {
namespace {

OpPlace place_of(const plan::PlanNode& node) {
  return {node.op, node.layer};
}

/// "naive"; "in conv2d.forward" of what the call of another op covered.
std::string runner_of(const OpTiming& timing) {
  return timing.covered_by ? fmt::format("in {}", ops::to_string(timing.covered_by->op)) : timing.variant;
}

}  // namespace

Measured TimingTable::measured(const Row& row) {
  return measured_of(row.recent);
}

std::vector<OpTimes> TimingTable::newest(std::size_t steps) const {
  std::vector<OpTimes> newest;
  for (const Row& row : rows_) {
    const OpTiming& timing = row.timing;
    if (timing.covered_by || row.recent.empty()) continue;
    OpTimes op{
        {timing.op, timing.layer, timing.variant, timing.shape, row.precision, timing.bytes, row.version},
        row.recent};
    std::rotate(op.times.begin(), op.times.begin() + static_cast<std::ptrdiff_t>(row.next), op.times.end());
    if (op.times.size() > steps)
      op.times.erase(op.times.begin(), op.times.end() - static_cast<std::ptrdiff_t>(steps));
    newest.push_back(std::move(op));
  }
  return newest;
}

void TimingTable::adopt(const plan::Plan& plan, core::Precision precision) {
  std::vector<Row> rows;
  const auto last = std::make_shared<const Steps>(Steps{newest(kWindow), added_});
  for (const plan::PlanNode& node : plan.nodes()) {
    Row row;
    row.precision = precision;
    row.timing.op = node.op;
    row.timing.layer = node.layer;
    row.timing.shape = node.shape;
    row.timing.reason = node.reason;
    if (node.variant != nullptr) {
      row.timing.variant = node.variant->name;
      row.version = node.variant->version;
      row.timing.flops = ops::formula_flops(*node.variant, node.shape).of(ops::contract(node.op).work);
      row.timing.bytes = ops::minimum_bytes(*node.variant, node.shape, precision);
    }
    const auto& nodes = plan.nodes();
    if (node.covered_by >= 0)
      row.timing.covered_by = place_of(nodes[static_cast<std::size_t>(node.covered_by)]);
    for (const int covered : node.covers)
      row.timing.covers.push_back(place_of(nodes[static_cast<std::size_t>(covered)]));
    remember(row, last);
    rows.push_back(std::move(row));
  }
  rows_ = std::move(rows);
}

void TimingTable::remember(Row& row, const std::shared_ptr<const Steps>& last) const {
  const OpTiming& now = row.timing;
  const auto before = std::find_if(rows_.begin(), rows_.end(), [&](const Row& old) {
    return old.timing.op == now.op && old.timing.layer == now.layer &&
           by_itself(old.timing.shape) == by_itself(now.shape);
  });
  if (before == rows_.end()) return;
  const OpTiming& old = before->timing;
  const bool same = old.variant == now.variant && before->version == row.version && old.shape == now.shape &&
                    old.covered_by == now.covered_by && before->precision == row.precision;
  const Measured was = same ? old.before() : measured(*before);
  row.timing.previous_microseconds = was.median;
  row.timing.previous_spread = was.spread;
  row.timing.previous_samples = static_cast<int>(was.samples);
  row.timing.previous_variant = same ? old.previous_variant : runner_of(old);
  row.before_switch = same ? before->before_switch : last;
  if (!same) return;
  row.recent = before->recent;
  row.next = before->next;
}

void TimingTable::add(const std::vector<double>& microseconds) {
  ++added_;
  for (std::size_t i = 0; i < rows_.size() && i < microseconds.size(); ++i) {
    Row& row = rows_[i];
    if (row.recent.size() < kWindow) {
      row.recent.push_back(microseconds[i]);
    } else {
      row.recent[row.next] = microseconds[i];
      row.next = (row.next + 1) % kWindow;
    }
  }
}

Control TimingTable::control_since(const Steps& before) const {
  const std::size_t since = std::min<std::size_t>(kWindow, added_ - before.added);
  std::vector<OpTimes> now = newest(since);
  // Others were switched and back meanwhile, or are new.
  std::erase_if(now, [&](const OpTimes& op) { return op.times.size() < since; });
  return since == 0 ? Control{} : control_of(before.ops, now);
}

std::vector<OpTiming> TimingTable::timings() const {
  std::map<const Steps*, Control> controls;  // many are switched at once
  std::vector<OpTiming> result;
  for (const Row& row : rows_) {
    const Measured now = measured(row);
    result.push_back(row.timing);
    result.back().microseconds = now.median;
    result.back().spread = now.spread;
    result.back().samples = static_cast<int>(now.samples);
    const Steps* const before = row.before_switch.get();
    if (before == nullptr) continue;
    const auto [control, is_new] = controls.try_emplace(before);
    if (is_new) control->second = control_since(*before);
    result.back().control = control->second;
  }
  return result;
}

int TimingTable::samples() const {
  if (rows_.empty()) return 0;
  std::size_t fewest = kWindow;
  for (const Row& row : rows_) fewest = std::min(fewest, row.recent.size());
  return static_cast<int>(fewest);
}

}  // namespace warpscope::training
