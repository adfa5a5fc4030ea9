#include "gpu/plan/memory.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "gpu/ops/op.h"

namespace warpscope::plan {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr int kNever = -1;

struct Block {
  std::size_t bytes = 0;
  int first = std::numeric_limits<int>::max();
  int last = kNever;
  std::size_t offset = 0;
};

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// The node after which each tensor is not used any more.
std::vector<int> last_uses(const Program& program) {
  std::vector<int> last(program.tensors.size(), kNever);
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    for (const int tensor : program.nodes[n].tensors) {
      const int parent = program.tensors[static_cast<std::size_t>(tensor)].parent;
      last[static_cast<std::size_t>(parent < 0 ? tensor : parent)] = static_cast<int>(n);
    }
  }
  for (std::size_t t = 0; t < last.size(); ++t) {
    if (program.tensors[t].kept || program.tensors[t].persistent)
      last[t] = static_cast<int>(program.nodes.size());
  }
  return last;
}

/// Gives every planned tensor a block; tensors that an op may write in place of a dying input share that
/// input's.
std::vector<int> assign_blocks(const Program& program, core::Precision precision,
                               std::vector<Block>& blocks) {
  const std::vector<int> last = last_uses(program);
  std::vector<int> block_of(program.tensors.size(), -1);
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    const Node& node = program.nodes[n];
    if (node.absorbed_by >= 0) continue;
    const auto operands = ops::contract(node.op).operands;
    for (std::size_t i = 0; i < node.tensors.size(); ++i) {  // those of absorbed ops too
      const auto operand = static_cast<std::size_t>(node.tensors[i]);
      const int parent = program.tensors[operand].parent;
      const std::size_t t = parent < 0 ? operand : static_cast<std::size_t>(parent);
      const Tensor& tensor = program.tensors[t];
      if (tensor.storage != Storage::planned) continue;
      if (block_of[t] < 0) {
        const std::size_t bytes = static_cast<std::size_t>(tensor.elements) *
                                  core::size_of(ops::element_type(tensor.role, precision));
        if (i < operands.size() && operands[i].in_place_of >= 0) {
          const auto source =
              static_cast<std::size_t>(node.tensors[static_cast<std::size_t>(operands[i].in_place_of)]);
          const bool dies = last[source] == static_cast<int>(n);
          const bool planned = program.tensors[source].storage == Storage::planned;
          if (dies && planned && program.tensors[source].elements == tensor.elements)
            block_of[t] = block_of[source];
        }
        if (block_of[t] < 0) {
          block_of[t] = static_cast<int>(blocks.size());
          blocks.push_back({aligned(bytes)});
        }
      }
      Block& block = blocks[static_cast<std::size_t>(block_of[t])];
      block.first = tensor.persistent ? 0 : std::min(block.first, static_cast<int>(n));
      block.last = std::max(block.last, last[t]);
    }
  }
  return block_of;
}

/// Places blocks from the largest to the smallest and returns the size of the arena.
std::size_t place(std::vector<Block>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<const Block*> placed;  // by offset
  std::size_t total = 0;
  for (const std::size_t index : order) {
    Block& block = blocks[index];
    std::size_t offset = 0;
    for (const Block* other : placed) {
      if (other->last < block.first || block.last < other->first) continue;
      if (offset + block.bytes <= other->offset) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    block.offset = offset;
    total = std::max(total, offset + block.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &block,
                                   [](const Block* a, const Block* b) { return a->offset < b->offset; }),
                  &block);
  }
  return total;
}

}  // namespace

MemoryPlan plan_memory(const Program& program, core::Precision precision,
                       const std::vector<std::size_t>& workspace_bytes) {
  std::vector<Block> blocks;
  const std::vector<int> block_of = assign_blocks(program, precision, blocks);
  const std::size_t first_workspace = blocks.size();
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    blocks.push_back({aligned(workspace_bytes[n]), static_cast<int>(n), static_cast<int>(n)});
  }
  MemoryPlan plan;
  plan.bytes = place(blocks);
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    plan.tensor_offset.push_back(block_of[t] < 0 ? 0 : blocks[static_cast<std::size_t>(block_of[t])].offset);
  }
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    plan.workspace_offset.push_back(blocks[first_workspace + n].offset);
  }
  return plan;
}

}  // namespace warpscope::plan
