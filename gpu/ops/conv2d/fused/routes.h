#pragma once
// Variants that have several kernels for a chain and choose one by shape and precision.

#include <utility>
#include <vector>

#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused {

/// One way to run an op.
struct Route {
  bool (*takes)(const ChainShape&);
  std::size_t (*workspace)(const ChainShape&, core::Precision);  ///< nullptr: none
  void (*launch)(const ChainCall&);
  bool in_tf32 = true;
};

/// The narrow kernels (narrow.h), then those of the variant `fused`, which take every shape.
std::vector<Route> narrow_routes(Op op);

/// The variant of `op` that runs the first of `routes` that takes the shape; the last must take every one.
inline Variant routed_variant(Op op, const char* name, const char* summary, std::vector<Route> routes) {
  const auto route_of = [all = std::move(routes)](const ChainShape& shape,
                                                  core::Precision precision) -> const Route& {
    for (const Route& each : all) {
      if ((each.in_tf32 || precision != core::Precision::tf32) && each.takes(shape)) return each;
    }
    return all.back();
  };
  Variant variant = chain_variant(op, name, summary);
  variant.launch = [route_of](const OpCall& call) {
    const ChainCall mine = call_of(call);
    route_of(mine.shape, mine.precision).launch(mine);
  };
  variant.workspace_bytes = [route_of](const OpShape& shape, core::Precision precision) {
    const ChainShape mine = shape_of(shape);
    const Route& route = route_of(mine, precision);
    return route.workspace == nullptr ? 0 : route.workspace(mine, precision);
  };
  return variant;
}

}  // namespace warpscope::ops::conv2d::fused
