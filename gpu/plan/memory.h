#pragma once
// Memory planning: tensors whose lifetimes do not overlap share memory, and in-place ops reuse their input's.

#include <cstddef>
#include <vector>

#include "gpu/core/types.h"
#include "gpu/plan/cover.h"
#include "gpu/plan/program.h"

namespace warpscope::plan {

/// A part of the arena, and the nodes from which to which it is used, both included.
struct MemoryPiece {
  std::size_t bytes = 0;
  int first = 0;
  int last = -1;  ///< the number of nodes: it is read after the last
  std::size_t offset = 0;
  std::vector<int> tensors = {};  ///< that have it, one after the other; none: the workspace of node `first`
};

/// Where each planned tensor and each node's workspace lie in one arena, in bytes, 256-byte aligned.
struct MemoryPlan {
  std::vector<MemoryPiece> pieces;            ///< those of tensors first
  std::vector<std::size_t> tensor_offset;     ///< one a tensor; meaningless for tensors that are not planned
  std::vector<std::size_t> workspace_offset;  ///< one a node
  std::size_t bytes = 0;
};

/// The scratch memory of each node's call; 0 of covered ones.
std::vector<std::size_t> workspace_bytes(const std::vector<NodeCover>& nodes, core::Precision precision);

/// Plans the memory of `program` as `nodes` run it; what nobody touches takes none. `workspace_bytes` holds
/// the scratch memory of each node. Tensors are placed from the largest to the smallest, each at the lowest
/// offset free during its lifetime.
/// Source: Y. Pisarchyk, J. Lee, "Efficient memory management for deep neural net inference" (2020), "greedy
/// by size".
MemoryPlan plan_memory(const Program& program, const std::vector<NodeCover>& nodes, core::Precision precision,
                       const std::vector<std::size_t>& workspace_bytes);

}  // namespace warpscope::plan
