#pragma once
// Which variant runs each op of a program, and which ops one call covers.
//
// A variant with a chain (ops::Variant::chain) is matched on the graph around a node of its own op. What the
// chain does not store may have no other reader; formats of its own must be read and written alike. Where
// that does not hold, optional ops of the chain are left out, and where it cannot be met at all, the next
// best variant runs; the reason stays with the node.

#include <string>
#include <vector>

#include "gpu/ops/variant.h"
#include "gpu/plan/measured.h"
#include "gpu/plan/program.h"
#include "gpu/plan/selection.h"

namespace warpscope::plan {

/// A tensor as an operand of a call.
struct BoundOperand {
  ops::CallOperand operand;
  int tensor = -1;  ///< index into Program::tensors
};

/// How one node runs.
struct NodeCover {
  const ops::Variant* variant = nullptr;  ///< nullptr: it is covered, by the call of `covered_by`
  int covered_by = -1;
  std::vector<int> covers = {};  ///< the other nodes inside its call, in the order of the chain
  ops::OpShape shape;            ///< the node's, with what is covered
  std::vector<BoundOperand> operands = {};
  /// Why it is not the best, or covers less than is there, or what was measured; "" if none of these.
  std::string reason = {};
};

/// One entry a node of `program`. A chosen op runs by the chosen variant and inside no other call; where the
/// variant's chain is not there, the best variant that fits runs instead, with the reason. Ops that are not
/// chosen run by the best variant that fits: the one that was measured as the fastest, else the last in the table, a
/// library's only where there is no other.
/// Throws core::BadInput that says which op cannot run as selected, where, why, and what would work.
std::vector<NodeCover> cover(const Program& program, const Selection& selection, const Machine& machine,
                             const MeasuredChoices& measured = {});

/// "hopper, with bias, relu, maxpool2d": the variant of a call and what it covers.
std::string describe(const NodeCover& node);

}  // namespace warpscope::plan
