#include "gpu/ops/cost.h"

namespace warpscope::ops {
namespace {

template <class Count>
Flops sum_over_covered(const Variant& variant, const OpShape& shape, const Count& count) {
  Flops sum;
  for (const CoveredOp& each : covered_ops(variant, shape)) {
    double& kind = contract(each.op).work == Work::products ? sum.products : sum.movement;
    // What the call covers tells what its own op can save.
    kind += count(each.op, each.op == variant.op ? shape : each.shape);
  }
  return sum;
}

}  // namespace

Flops formula_flops(const Variant& variant, const OpShape& shape) {
  return sum_over_covered(variant, shape, [](Op op, const OpShape& its) { return contract(op).flops(its); });
}

Flops fewest_flops(const Variant& variant, const OpShape& shape) {
  return sum_over_covered(variant, shape, [](Op op, const OpShape& its) { return least_flops(op, its); });
}

}  // namespace warpscope::ops
