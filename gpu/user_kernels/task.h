#pragma once
// What a kernel of one's own computes: an op, or a chain of ops that one call covers, all of them. A chain is told by
// the names of its ops: "conv2d.forward+bias.forward+relu.forward".

#include <string>
#include <string_view>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::user_kernels {

struct Task {
  ops::Op op{};
  std::vector<ops::Link> chain;  ///< none: only the op; else it is the first of them

  Task(ops::Op alone) : op(alone) {}
  Task(ops::Op first, std::vector<ops::Link> links) : op(first), chain(std::move(links)) {}

  /// Without an implementation: operands can be asked of it as of a variant.
  ops::Variant form() const;
  /// `shape` of the op, for a call that covers the chain.
  ops::OpShape call_of(ops::OpShape shape) const;
};

/// The names of its ops, with + between.
std::string to_string(const Task& task);

/// A chain of ops that work element by element, the later ones, on what the op before gives. Throws core::BadInput
/// where a name is none of an op.
Task task_of(std::string_view text);

}  // namespace warpscope::user_kernels
