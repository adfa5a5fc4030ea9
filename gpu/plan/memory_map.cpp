#include "gpu/plan/memory_map.h"

#include <algorithm>
#include <string_view>

#include "gpu/ops/op.h"
#include "gpu/plan/cover.h"
#include "gpu/plan/memory.h"

namespace warpscope::plan {
namespace {

MemoryKind kind_of(const Program& program, const MemoryPiece& piece) {
  if (piece.tensors.empty()) return MemoryKind::workspace;
  const Tensor& tensor = program.tensors[static_cast<std::size_t>(piece.tensors.front())];
  if (tensor.role == ops::Role::weight) return MemoryKind::weights;
  if (tensor.role == ops::Role::scalar || tensor.role == ops::Role::control) return MemoryKind::figures;
  const Node& writer = program.nodes[static_cast<std::size_t>(piece.first)];
  const std::string_view op = ops::to_string(writer.op);
  return op.find(".backward") == std::string_view::npos ? MemoryKind::activations : MemoryKind::gradients;
}

std::string name_of(const Program& program, const MemoryPiece& piece) {
  std::string name;
  for (const int tensor : piece.tensors) {
    if (!name.empty()) name += ", ";
    name += program.tensors[static_cast<std::size_t>(tensor)].name;
  }
  return name;
}

/// The place of each node among those that are launched; covered ones have that of the next.
std::vector<std::size_t> places_of(const std::vector<NodeCover>& covers) {
  std::vector<std::size_t> places;
  std::size_t launched = 0;
  for (const NodeCover& node : covers) {
    places.push_back(launched);
    if (node.variant != nullptr) ++launched;
  }
  return places;
}

}  // namespace

const char* to_string(MemoryKind kind) {
  static constexpr const char* kNames[kMemoryKinds] = {"16-bit weights", "activations", "gradients",
                                                       "losses and sums", "workspace"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::size_t MemoryMap::peak_call() const {
  const auto most = std::ranges::max_element(
      calls, [](const MemoryCall& a, const MemoryCall& b) { return a.live_bytes < b.live_bytes; });
  return static_cast<std::size_t>(most - calls.begin());
}

MemoryMap memory_map(const models::Model& model, Purpose purpose, const Selection& selection, int batch,
                     const Machine& machine, const Recipe& recipe) {
  // The data set and the ring of step records are not in the plan's memory: their sizes do not matter.
  const Program program = lower(model, purpose, batch, batch, 1, selection.precision, recipe);
  const std::vector<NodeCover> covers = cover(program, selection, machine);
  const MemoryPlan plan =
      plan_memory(program, covers, selection.precision, workspace_bytes(covers, selection.precision));
  const std::vector<std::size_t> places = places_of(covers);
  MemoryMap map;
  map.bytes = plan.bytes;
  for (std::size_t n = 0; n < covers.size(); ++n) {
    if (covers[n].variant == nullptr) continue;
    map.calls.push_back({program.nodes[n].op, program.nodes[n].layer, describe(covers[n])});
  }
  for (const MemoryPiece& piece : plan.pieces) {
    if (piece.bytes == 0) continue;
    const auto first = static_cast<std::size_t>(piece.first), last = static_cast<std::size_t>(piece.last);
    const bool to_the_end = last >= places.size();
    const std::string& layer = program.nodes[first].layer;
    map.parts.push_back({name_of(program, piece), layer, kind_of(program, piece), piece.offset, piece.bytes,
                         places[first], to_the_end ? map.calls.size() - 1 : places[last]});
    if (piece.tensors.empty()) map.parts.back().name = layer;
  }
  for (const MemoryPart& part : map.parts) {
    for (std::size_t call = part.first; call <= part.last; ++call) map.calls[call].live_bytes += part.bytes;
  }
  return map;
}

}  // namespace warpscope::plan
