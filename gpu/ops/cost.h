#pragma once
// What one call of a variant computes, with all the ops that it covers.

#include "gpu/ops/variant.h"

namespace warpscope::ops {

/// Floating-point operations by kind of work: those of tensor cores and those of CUDA cores run side by side.
struct Flops {
  double products = 0;
  double movement = 0;

  /// Those of `work`.
  double of(Work work) const { return work == Work::products ? products : movement; }
};

/// By the formulas of the covered ops.
Flops formula_flops(const Variant& variant, const OpShape& shape);

/// Those of the cheapest way known (least_flops).
Flops fewest_flops(const Variant& variant, const OpShape& shape);

}  // namespace warpscope::ops
