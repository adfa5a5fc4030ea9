#pragma once
// What of a step runs beside its backward pass: the sum of the gradients over ranks, in pieces, each of which begins as
// soon as all nodes that touch it have been launched. What is exposed is the last piece, and the wait for those before.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/plan/cover.h"
#include "gpu/plan/program.h"

namespace warpscope::plan {

/// Elements [begin, end) of the gradients that a sum over ranks takes.
struct SumPiece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::size_t after = 0;  ///< the node behind which it is launched

  bool operator==(const SumPiece&) const = default;
};

struct Overlap {
  std::size_t sum = 0;                ///< the node that adds over ranks
  std::optional<std::size_t> adding;  ///< the one that adds micro-batches up before, in the same pieces
  std::vector<SumPiece>
      pieces;  ///< in their order; the last comes where the node is. Empty: nothing overlaps

  /// Whether node `node` is called in pieces.
  bool cuts(std::size_t node) const { return !pieces.empty() && (node == sum || node == adding); }
};

/// Few pieces, from the back of the gradients, where a backward pass begins, to their front, each of whole parameters:
/// they follow from the program and `least_piece` only, so that all ranks have the same ones, whatever the calls of
/// their GPUs cover; when a piece begins follows from the calls. None where the variant of the sum takes none
/// (ops::Variant::least_piece), where other sums go over ranks before it, with which they could not be in one order on
/// all, and where micro-batches are added up by a tree or kept apart.
Overlap overlap_of(const Program& program, const std::vector<NodeCover>& nodes);

}  // namespace warpscope::plan
