#include "gpu/engine/timing_table.h"

#include <algorithm>

namespace warpscope::training {

double TimingTable::median(const Row& row) {
  if (row.recent.empty()) return 0;
  std::vector<double> sorted = row.recent;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

void TimingTable::adopt(const plan::Plan& plan, core::Precision precision) {
  std::vector<Row> rows;
  for (const plan::PlanNode& node : plan.nodes()) {
    Row row;
    row.precision = precision;
    row.timing.op = node.op;
    row.timing.layer = node.layer;
    row.timing.variant = node.variant->name;
    row.timing.shape = node.shape;
    row.timing.flops = ops::contract(node.op).flops(node.shape);
    row.timing.bytes = ops::minimum_bytes(node.op, node.shape, precision);
    row.timing.absorbed = node.absorbed;
    const auto before = std::find_if(rows_.begin(), rows_.end(), [&](const Row& old) {
      return old.timing.op == node.op && old.timing.layer == node.layer && old.timing.shape == node.shape;
    });
    if (before != rows_.end()) {
      const bool same = before->timing.variant == row.timing.variant &&
                        before->timing.absorbed == node.absorbed && before->precision == precision;
      if (same) {
        row = *before;
      } else {
        row.timing.previous_microseconds = median(*before);
        row.timing.previous_variant = before->timing.variant;
      }
    }
    rows.push_back(std::move(row));
  }
  rows_ = std::move(rows);
}

void TimingTable::add(const std::vector<double>& microseconds) {
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

std::vector<OpTiming> TimingTable::timings() const {
  std::vector<OpTiming> result;
  for (const Row& row : rows_) {
    result.push_back(row.timing);
    result.back().microseconds = median(row);
    result.back().samples = static_cast<int>(row.recent.size());
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
