#include <algorithm>
#include <array>
#include <map>

#include "gpu/profiling/bench.h"

namespace warpscope::profiling {

void rank(std::vector<BenchRow*> rows) {
  std::erase_if(rows, [](const BenchRow* row) { return !row->skipped.empty() || row->samples == 0; });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const BenchRow* a, const BenchRow* b) { return a->median < b->median; });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool tied = i > 0 && rows[i]->p10 <= rows[i - 1]->p90;
    rows[i]->rank = tied ? rows[i - 1]->rank : static_cast<int>(i) + 1;
  }
}

namespace {

/// Whether an op of `shape` covers one of `its` after it in a plan.
bool follows(ops::Op op, const ops::OpShape& its, const ops::OpShape& shape) {
  if (its == shape)
    return true;  // backward_bias, backward_input and the loss's gradient have the shape of their neighbour
  if (its.batch != shape.batch) return false;
  if (op == ops::Op::labels_gather) return its.count == shape.count;
  if (its.height != shape.height || its.width != shape.width) return false;
  // Element-wise ops on the output know its channels as their input's; the mask of backward is the input's.
  return its.in_channels == (op == ops::Op::relu_backward ? shape.in_channels : shape.out_channels);
}

/// What the ops of `fuses` cost by themselves after the op of `row`, where the best of their variants runs them: a variant
/// that covers them saves that.
double saved_by_fusing(const std::vector<BenchRow>& rows, const BenchRow& row,
                       const std::vector<ops::Op>& fuses) {
  double saved = 0;
  for (const ops::Op op : fuses) {
    const ops::OpShape& shape = row.what.shape;
    double best = 0;
    for (const BenchRow& other : rows) {
      if (other.what.op != op || other.precision != row.precision || other.samples == 0) continue;
      if (!follows(op, other.what.shape, shape)) continue;
      if (best == 0 || other.median < best) best = other.median;
    }
    if (best == 0) break;
    saved += best;
  }
  return saved;
}

/// The placeholder variants of ops that the chosen ones cover on request.
void choose_placeholders(plan::Selection& selection, core::DeviceKind device) {
  const plan::Selection chosen = selection;
  for (const auto& [op, name] : chosen.variants) {
    const ops::Variant* host = ops::find_variant(op, device, name);
    if (host == nullptr || !host->fuses_on_request) continue;
    for (const ops::Op covered : host->fuses) {
      for (const ops::Variant* variant : ops::variants_of(covered, device)) {
        if (variant->launch == nullptr) selection.variants[covered] = variant->name;
      }
    }
  }
}

/// Sets the block ops to `parts` unless the best of them together take less than the best of the layers they replace.
void choose_blocks(plan::Selection& selection, const std::map<ops::Op, double>& best,
                   const core::DeviceKind device) {
  using enum ops::Op;
  constexpr std::array kBlocks{block_forward, block_backward_weights, block_backward_input};
  constexpr std::array kLayers{conv2d_forward,          bias_forward,         relu_forward,
                               maxpool2d_forward,       upsample2d_forward,   conv2d_backward_input,
                               conv2d_backward_weights, conv2d_backward_bias, relu_backward,
                               maxpool2d_backward,      upsample2d_backward};
  double blocks = 0;
  double layers = 0;
  bool all = true;
  for (const ops::Op op : kBlocks) {
    const auto found = best.find(op);
    all = all && found != best.end();
    if (found != best.end()) blocks += found->second;
  }
  for (const ops::Op op : kLayers) {
    if (const auto found = best.find(op); found != best.end()) layers += found->second;
  }
  if (all && blocks < layers) return;
  for (const ops::Op op : kBlocks) {
    if (ops::find_variant(op, device, "parts") != nullptr) selection.variants[op] = "parts";
  }
}

}  // namespace

plan::Selection fastest_of(const std::vector<BenchRow>& rows, core::Precision precision,
                           core::DeviceKind device, plan::Selection otherwise) {
  struct Sum {
    double median = 0;
    std::size_t cases = 0;
  };
  std::map<ops::Op, std::map<std::string, Sum>> sums;
  std::map<ops::Op, std::vector<ops::OpShape>> shapes;
  for (const BenchRow& row : rows) {
    if (row.precision != precision) continue;
    auto& known = shapes[row.what.op];
    if (std::find(known.begin(), known.end(), row.what.shape) == known.end()) known.push_back(row.what.shape);
    if (!row.skipped.empty() || row.samples == 0) continue;
    Sum& sum = sums[row.what.op][row.variant];
    sum.median += row.median;
    const ops::Variant* variant = ops::find_variant(row.what.op, device, row.variant);
    if (variant != nullptr) sum.median -= saved_by_fusing(rows, row, variant->fuses);
    ++sum.cases;
  }
  std::map<ops::Op, double> medians;
  for (const auto& [op, variants] : sums) {
    const Sum* best = nullptr;
    for (const auto& [name, sum] : variants) {
      if (sum.cases != shapes[op].size() || (best != nullptr && sum.median >= best->median)) continue;
      best = &sum;
      otherwise.variants[op] = name;
      medians[op] = sum.median;
    }
  }
  if (sums.empty()) return otherwise;
  choose_blocks(otherwise, medians, device);
  choose_placeholders(otherwise, device);
  return otherwise;
}

}  // namespace warpscope::profiling
