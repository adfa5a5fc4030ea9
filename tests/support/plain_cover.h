#pragma once
// A cover in which each op runs by itself, by no variant in particular: for tests of what follows from the
// contracts.

#include <algorithm>
#include <list>
#include <vector>

#include "gpu/plan/cover.h"

namespace warpscope::tests {

inline std::vector<plan::NodeCover> plain_cover(const plan::Program& program) {
  static std::list<ops::Variant> variants;  // one an op; covers point at them
  std::vector<plan::NodeCover> nodes;
  for (const plan::Node& node : program.nodes) {
    const auto known = std::find_if(variants.begin(), variants.end(),
                                    [&](const ops::Variant& v) { return v.op == node.op; });
    const ops::Variant& variant =
        known != variants.end()
            ? *known
            : variants.emplace_back(ops::Variant{.op = node.op, .name = "plain", .summary = ""});
    plan::NodeCover cover;
    cover.variant = &variant;
    cover.shape = node.shape;
    const auto operands = ops::operands_of(variant, node.shape);
    for (std::size_t i = 0; i < operands.size(); ++i)
      cover.operands.push_back({operands[i], node.tensors[i]});
    nodes.push_back(std::move(cover));
  }
  return nodes;
}

}  // namespace warpscope::tests
