#pragma once
// Which variant runs each op of a program, and which ops one call covers.
//
// A variant with a chain (ops::Variant::chain) is matched on the graph around a node of its own op. What passes between
// ops of the chain is not stored, unless the variant writes it because others read it (`stored`; only where others do,
// `stored_for_others`); outputs that nobody reads it may leave out (`omitted`). At each node it starts with the best
// variant and the largest match, and takes back what does not fit:
//
// - Covered ops behind the own one run in that call and nowhere else, if all that they read is there by then and they
//   are on the same side of the update. Those before it are computed again inside, so several calls may cover the same
//   op; that op is launched as well where another node needs its output.
// - A pooling must have the window that the chain computes, mostly 2x2; a link's `takes` checks that, and the call's
//   shape holds the window.
// - What is not stored has no other reader; what people look at is stored; a format of the variant's own is written and
//   read alike.
// - Otherwise optional ops are left out, as few as will do, then the next best variant runs. The reason stays with the
//   node. An op whose variant was chosen runs in no other op's call.

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
