#pragma once
// What the `reference` variants share.

#include "gpu/ops/variant.h"

namespace warpscope::ops {

/// A Variant::launch from a reference written for either storage: in_either_width<run<float>, run<double>>.
template <void (*InFloat)(const OpCall&), void (*InDouble)(const OpCall&)>
void in_either_width(const OpCall& call) {
  call.precision == core::Precision::fp64 ? InDouble(call) : InFloat(call);
}

/// The variant `reference` of `op`.
inline Variant reference_variant(Op op, void (*launch)(const OpCall&),
                                 const char* summary =
                                     "The formula term by term, summed in double: what the "
                                     "others are held against.") {
  return {.op = op,
          .name = "reference",
          .precisions = {core::Precision::fp32, core::Precision::fp64},
          .summary = summary,
          .launch = launch};
}

}  // namespace warpscope::ops
