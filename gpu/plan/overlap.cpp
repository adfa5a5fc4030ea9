#include "gpu/plan/overlap.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "gpu/ops/op.h"

namespace warpscope::plan {
namespace {

constexpr std::int64_t kMostPieces = 4;

bool adds_over_ranks(const Node& node) {
  return ops::contract(node.op).adds_over_ranks;
}

/// The tensor of the operand `name` of a call.
int tensor_of(const NodeCover& node, ops::Name name) {
  const auto found =
      std::ranges::find(node.operands, name, [](const BoundOperand& each) { return each.operand.name; });
  return found == node.operands.end() ? -1 : found->tensor;
}

/// The node that adds micro-batches up to what the sum takes, if there is one, and the gradients it begins with: -1 if
/// they do not come in pieces.
struct Source {
  std::optional<std::size_t> adding;
  int gradients = -1;
};

Source summed_from(const Program& program, const std::vector<NodeCover>& nodes, std::size_t sum) {
  const int summed = tensor_of(nodes[sum], ops::Name::gradients);
  const auto is_buffer = [&](int tensor) {
    return tensor >= 0 && program.tensors[static_cast<std::size_t>(tensor)].storage == Storage::gradients;
  };
  if (is_buffer(summed)) return {{}, summed};
  for (std::size_t n = 0; n < sum; ++n) {
    if (nodes[n].variant == nullptr || tensor_of(nodes[n], ops::Name::sums) != summed) continue;
    const int gradients = tensor_of(nodes[n], ops::Name::gradients);
    const bool cut = !ops::contract(program.nodes[n].op).in_pieces.empty() && nodes[n].shape.shards == 1;
    if (cut && is_buffer(gradients)) return {n, gradients};
  }
  return {};
}

/// What touches a parameter's gradient last.
struct LastTouch {
  std::size_t node = 0;  ///< of the program, which is that of all ranks
  std::size_t call = 0;  ///< of this rank's GPU: the node whose call covers it
};

/// Where parameters begin in the gradients of the sum, and what touches those from there to the next last.
std::map<std::int64_t, LastTouch> last_touches(const Program& program, const std::vector<NodeCover>& nodes,
                                               std::size_t sum, const Source& source) {
  const Tensor& all = program.tensors[static_cast<std::size_t>(source.gradients)];
  std::map<std::int64_t, LastTouch> last{{0, {}}};
  const auto touch_of = [&](int index) -> LastTouch* {
    const Tensor& tensor = program.tensors[static_cast<std::size_t>(index)];
    if (tensor.storage != Storage::gradients || tensor.offset < all.offset) return nullptr;
    return &last[static_cast<std::int64_t>(tensor.offset - all.offset)];
  };
  for (std::size_t n = 0; n < sum; ++n) {
    if (n == source.adding) continue;
    for (const int index : program.nodes[n].tensors) {
      LastTouch* touch = touch_of(index);
      if (touch == nullptr) continue;
      touch->node = n;
      const int covered_by = nodes[n].covered_by;
      touch->call = std::max(touch->call, covered_by < 0 ? n : static_cast<std::size_t>(covered_by));
    }
    for (const BoundOperand& each : nodes[n].operands) {
      LastTouch* touch = touch_of(each.tensor);
      if (touch != nullptr) touch->call = std::max(touch->call, n);
    }
  }
  return last;
}

}  // namespace

Overlap overlap_of(const Program& program, const std::vector<NodeCover>& nodes) {
  const auto sums = std::ranges::count_if(program.nodes, adds_over_ranks);
  if (sums != 1) return {};
  const auto sum =
      static_cast<std::size_t>(std::ranges::find_if(program.nodes, adds_over_ranks) - program.nodes.begin());
  const std::int64_t least = nodes[sum].variant == nullptr ? 0 : nodes[sum].variant->least_piece;
  const Source source = summed_from(program, nodes, sum);
  if (least == 0 || source.gradients < 0) return {};

  Overlap overlap{sum, source.adding, {}};
  const std::int64_t count = program.nodes[sum].shape.count;
  const std::int64_t size = std::max(least, ops::divide_up(count, kMostPieces));
  const auto touches = last_touches(program, nodes, sum, source);
  const auto layer_of = [&](const auto& touch) -> const std::string& {
    return program.nodes[touch.second.node].layer;
  };
  std::int64_t end = count;
  std::size_t after = 0;
  for (auto each = touches.rbegin(); each->first > 0; ++each) {
    after = std::max(after, each->second.call);
    // What comes with the first layer is exposed, so that is cut off however little lies behind it.
    const std::string& first = layer_of(*touches.begin());
    const bool ends = layer_of(*each) != first && layer_of(*std::next(each)) == first;
    if (end - each->first < (ends ? least : size)) continue;
    overlap.pieces.push_back({each->first, end, after});
    end = each->first;
  }
  if (overlap.pieces.empty()) return {};
  overlap.pieces.push_back({0, end, sum});
  return overlap;
}

}  // namespace warpscope::plan
