#pragma once
// One variant's chain, matched around one node of a program.

#include <string>
#include <vector>

#include "gpu/ops/variant.h"
#include "gpu/plan/cover.h"
#include "gpu/plan/program.h"
#include "gpu/plan/selection.h"

namespace warpscope::plan {

/// An op of the chain and the node that it is.
struct MatchedLink {
  const ops::Link* link = nullptr;
  int node = -1;
  bool before = false;  ///< it comes before the variant's own op: the call computes it again
};

/// A tensor that passes between two ops of the chain and is not stored, or that the variant omits.
struct Unstored {
  int tensor = -1;
  /// The covered op that reads it, or whose output is omitted: without that one it would be stored.
  ops::Op reader{};
  bool recomputed = false;  ///< by an op before the variant's own, which can be launched for others
};

struct ChainMatch {
  std::vector<MatchedLink> links = {};  ///< in the order of the chain, the own op among them
  ops::OpSet covered = {};              ///< the other ops
  ops::OpShape shape = {};              ///< of the call
  std::vector<BoundOperand> operands = {};
  std::vector<Unstored> unstored = {};
  std::string failure = {};  ///< why the variant cannot run here, or ""
  bool absent = false;       ///< the failure is that the network has no such op here
  std::string note = {};     ///< why it covers less than is there: a choice, or the variant refuses the rest
};

/// The largest match of the chain of `variant` around node `node` without the ops `left_out`, that the variant
/// does not refuse. Nodes of ops that `selection` chooses a variant for run by themselves. What comes behind
/// the own op must be able to run in its place: all that it reads is there by then.
ChainMatch match_chain(const Program& program, std::size_t node, const ops::Variant& variant,
                       const ops::OpSet& left_out, const Selection& selection);

/// Whether `variant` cannot run without covering `op`.
bool is_required(const ops::Variant& variant, ops::Op op);

/// The links of the chain of `variant` that come before its own op and are not optional: it runs only behind these ops.
std::vector<const ops::Link*> required_before(const ops::Variant& variant);

/// Whether a call reads `tensor` from memory.
bool reads(const ChainMatch& match, int tensor);

/// The op of the call that reads or writes `tensor` in memory.
ops::Op owner_of(const Program& program, const ChainMatch& match, int tensor);

}  // namespace warpscope::plan
