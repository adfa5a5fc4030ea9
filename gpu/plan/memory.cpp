#include "gpu/plan/memory.h"

#include <algorithm>
#include <numeric>

#include "gpu/ops/op.h"

namespace warpscope::plan {
namespace {

constexpr int kNever = -1;

/// The tensor whose memory `tensor` is in: its own, or that of which it is a part.
std::size_t owner(const Program& program, int tensor) {
  const int parent = program.tensors[static_cast<std::size_t>(tensor)].parent;
  return static_cast<std::size_t>(parent < 0 ? tensor : parent);
}

/// The node after which each tensor is not used any more.
std::vector<int> last_uses(const Program& program, const std::vector<NodeCover>& nodes) {
  std::vector<int> last(program.tensors.size(), kNever);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const BoundOperand& each : nodes[n].operands)
      last[owner(program, each.tensor)] = static_cast<int>(n);
  }
  for (std::size_t t = 0; t < last.size(); ++t) {
    if (program.tensors[t].kept || program.tensors[t].persistent)
      last[t] = static_cast<int>(program.nodes.size());
  }
  return last;
}

/// The tensor in whose place node `n` may write the operand `written`, or -1.
int source_of(const Program& program, const NodeCover& node, int n, const BoundOperand& written,
              const std::vector<int>& last) {
  if (!written.operand.in_place_of) return -1;
  for (const BoundOperand& each : node.operands) {
    if (each.operand.name != *written.operand.in_place_of) continue;
    const Tensor& source = program.tensors[static_cast<std::size_t>(each.tensor)];
    const bool dies = last[static_cast<std::size_t>(each.tensor)] == n;
    const bool same_size =
        source.elements == program.tensors[static_cast<std::size_t>(written.tensor)].elements;
    if (dies && same_size && source.storage == Storage::planned) return each.tensor;
  }
  return -1;
}

/// Bytes of the tensor behind an operand: a part's whole counts.
std::size_t bytes_of_tensor(const Program& program, const BoundOperand& operand, core::Precision precision) {
  const std::size_t t = owner(program, operand.tensor);
  if (static_cast<int>(t) == operand.tensor) return ops::bytes_of(operand.operand, precision);
  const Tensor& tensor = program.tensors[t];
  return static_cast<std::size_t>(tensor.elements) * core::size_of(ops::element_type(tensor.role, precision));
}

/// Gives every planned tensor that some node touches a piece of memory; tensors that an op may write in place
/// of a dying input share that input's.
std::vector<int> assign_pieces(const Program& program, const std::vector<NodeCover>& nodes,
                               core::Precision precision, std::vector<MemoryPiece>& pieces) {
  const std::vector<int> last = last_uses(program, nodes);
  std::vector<int> piece_of(program.tensors.size(), -1);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const BoundOperand& each : nodes[n].operands) {
      const std::size_t t = owner(program, each.tensor);
      const Tensor& tensor = program.tensors[t];
      if (tensor.storage != Storage::planned) continue;
      if (piece_of[t] < 0) {
        const int source = source_of(program, nodes[n], static_cast<int>(n), each, last);
        if (source >= 0) piece_of[t] = piece_of[static_cast<std::size_t>(source)];
      }
      if (piece_of[t] < 0) {
        piece_of[t] = static_cast<int>(pieces.size());
        pieces.push_back({core::aligned(bytes_of_tensor(program, each, precision)), static_cast<int>(n)});
      }
      MemoryPiece& piece = pieces[static_cast<std::size_t>(piece_of[t])];
      if (std::ranges::find(piece.tensors, static_cast<int>(t)) == piece.tensors.end()) {
        piece.tensors.push_back(static_cast<int>(t));
      }
      piece.first = tensor.persistent ? 0 : std::min(piece.first, static_cast<int>(n));
      piece.last = std::max(piece.last, last[t]);
    }
  }
  return piece_of;
}

/// Places pieces from the largest to the smallest and returns the size of the arena.
std::size_t place(std::vector<MemoryPiece>& pieces) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return pieces[a].bytes > pieces[b].bytes; });
  std::vector<const MemoryPiece*> placed;  // by offset
  std::size_t total = 0;
  for (const std::size_t index : order) {
    MemoryPiece& piece = pieces[index];
    std::size_t offset = 0;
    for (const MemoryPiece* other : placed) {
      if (other->last < piece.first || piece.last < other->first) continue;
      if (offset + piece.bytes <= other->offset) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    piece.offset = offset;
    total = std::max(total, offset + piece.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &piece,
                         [](const MemoryPiece* a, const MemoryPiece* b) { return a->offset < b->offset; }),
        &piece);
  }
  return total;
}

}  // namespace

std::vector<std::size_t> workspace_bytes(const std::vector<NodeCover>& nodes, core::Precision precision) {
  std::vector<std::size_t> bytes;
  for (const NodeCover& node : nodes) {
    bytes.push_back(node.variant == nullptr ? 0 : ops::workspace_bytes(*node.variant, node.shape, precision));
  }
  return bytes;
}

MemoryPlan plan_memory(const Program& program, const std::vector<NodeCover>& nodes, core::Precision precision,
                       const std::vector<std::size_t>& workspace_bytes) {
  MemoryPlan plan;
  std::vector<MemoryPiece>& pieces = plan.pieces;
  const std::vector<int> piece_of = assign_pieces(program, nodes, precision, pieces);
  const std::size_t first_workspace = pieces.size();
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    pieces.push_back({core::aligned(workspace_bytes[n]), static_cast<int>(n), static_cast<int>(n)});
  }
  plan.bytes = place(pieces);
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    plan.tensor_offset.push_back(piece_of[t] < 0 ? 0 : pieces[static_cast<std::size_t>(piece_of[t])].offset);
  }
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    plan.workspace_offset.push_back(pieces[first_workspace + n].offset);
  }
  return plan;
}

}  // namespace warpscope::plan
