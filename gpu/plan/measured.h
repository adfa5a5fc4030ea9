#pragma once
// Variants that were measured as faster here than those that the rules take (cover.h): by what they are called with.

#include <map>
#include <string>

#include "gpu/core/types.h"
#include "gpu/ops/op.h"

namespace warpscope::plan {

/// What runs where nobody has chosen a variant. Times are those of the calls that change together: of this one, or of
/// all that were one call before or are one now.
struct MeasuredChoice {
  std::string variant;
  double microseconds = 0;
  std::string instead;  ///< the variant that the rules take
  double instead_microseconds = 0;

  bool operator==(const MeasuredChoice&) const = default;
};

/// By call_key(); what is not here runs by the rules.
using MeasuredChoices = std::map<std::string, MeasuredChoice>;

/// "linear.forward fp32 8x1x1x784>100": the op by itself in a precision, the same text for equal shapes only.
std::string call_key(ops::Op op, core::Precision precision, const ops::OpShape& shape);

/// "measured: 2.1 µs, onednn 9.8 µs"
std::string describe(const MeasuredChoice& choice);

}  // namespace warpscope::plan
