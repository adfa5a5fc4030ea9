#pragma once
// The ops of a step that two selections run alike, and what they took: the control of a comparison (Control).

#include <string>
#include <vector>

#include "gpu/messages/snapshot.h"

namespace warpscope::training {

/// How an op instance with a call of its own ran.
struct RanOp {
  ops::Op op{};
  std::string layer;
  std::string variant;
  ops::OpShape shape = {};
  core::Precision precision{};
  double bytes = 0;  ///< the fewest that it moves
  int version = 0;   ///< Variant::version

  bool operator==(const RanOp&) const = default;
};

/// Whether both do the same work in the same way. In another precision so do ops that compute no products and move as
/// many bytes as before.
bool run_alike(const RanOp& a, const RanOp& b);

/// Microseconds of an op in sampled steps, the newest last; the last ones of all ops that stand together are of one
/// step.
struct OpTimes {
  RanOp ran;
  std::vector<double> times;
};

/// Sums over ranks, which wait for other ranks in their call, are left out, and so are ops that fewer steps tell of
/// than of others, if they are too few for a median.
Control control_of(const std::vector<OpTimes>& before, const std::vector<OpTimes>& now);

}  // namespace warpscope::training
