#pragma once
// Variants that have several kernels for a chain and choose one by shape and precision.

#include <vector>

#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused {

/// One way to run an op.
struct Route {
  bool (*takes)(const ChainShape&, core::Precision);
  std::size_t (*workspace)(const ChainShape&, core::Precision);
  void (*launch)(const ChainCall&);
};

template <bool (*Takes)(const ChainShape&)>
bool in_any_precision(const ChainShape& shape, core::Precision) {
  return Takes(shape);
}

template <bool (*Takes)(const ChainShape&)>
bool in_16_bits(const ChainShape& shape, core::Precision precision) {
  return precision != core::Precision::tf32 && Takes(shape);
}

/// The narrow kernels (narrow.h), then those of the variant `fused`, which take every shape.
const std::vector<Route>& narrow_routes(Op op);

/// The variant of `op` that runs the first of `Routes()` that takes the shape; the last must take every one.
template <const std::vector<Route>& (*Routes)()>
Variant routed_variant(Op op, const char* name, const char* summary) {
  static constexpr auto kRoute = [](const ChainShape& shape, core::Precision precision) -> const Route& {
    for (const Route& each : Routes()) {
      if (each.takes(shape, precision)) return each;
    }
    return Routes().back();
  };
  Variant variant = chain_variant(op, name, summary);
  variant.launch = [](const OpCall& call) {
    const ChainCall mine = call_of(call);
    kRoute(mine.shape, mine.precision).launch(mine);
  };
  variant.workspace_bytes = [](const OpShape& shape, core::Precision precision) {
    const ChainShape mine = shape_of(shape);
    return kRoute(mine, precision).workspace(mine, precision);
  };
  return variant;
}

}  // namespace warpscope::ops::conv2d::fused
