#include "gpu/plan/chain_match.h"

#include <algorithm>

#include <fmt/format.h>

namespace warpscope::plan {
namespace {

using ops::Access;
using ops::Link;
using ops::Name;
using ops::Op;
using ops::OpSet;
using ops::Variant;

constexpr int kUnbound = -1;

Name renamed(const Link& link, Name its) {
  for (const ops::Rename& rename : link.renames) {
    if (rename.its == its) return rename.ours;
  }
  return its;
}

/// One attempt to find a chain.
class Matcher {
 public:
  Matcher(const Program& program, std::size_t node, const Variant& variant, const OpSet& left_out,
          const Selection& selection)
      : program_(program), own_(node), variant_(variant), left_out_(left_out), selection_(selection) {
    tensors_.values.fill(kUnbound);
  }

  ChainMatch run() {
    std::vector<MatchedLink> found(variant_.chain.size());
    std::size_t own = 0;
    while (variant_.chain[own].op != variant_.op) ++own;
    found[own] = {&variant_.chain[own], static_cast<int>(own_), false};
    bind(variant_.chain[own], program_.nodes[own_]);
    for (std::size_t i = own + 1; i < found.size(); ++i) found[i] = find(variant_.chain[i], false);
    for (std::size_t i = own; i-- > 0;) found[i] = find(variant_.chain[i], true);
    for (const MatchedLink& each : found) {
      if (each.node >= 0) match_.links.push_back(each);
    }
    return std::move(match_);
  }

 private:
  void bind(const Link& link, const Node& node) {
    const auto operands = ops::contract(node.op).operands;
    for (std::size_t i = 0; i < operands.size(); ++i)
      tensors_[renamed(link, operands[i].name)] = node.tensors[i];
    if (node.op != variant_.op) match_.covered.add(node.op);
  }

  /// Whether `node` has the tensors that are known of this link, one at least.
  bool fits(const Link& link, const Node& node) const {
    if (node.op != link.op) return false;
    bool touches = false;
    const auto operands = ops::contract(node.op).operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const int known = tensors_[renamed(link, operands[i].name)];
      if (known != kUnbound && known != node.tensors[i]) return false;
      touches = touches || known != kUnbound;
    }
    return touches;
  }

  MatchedLink find(const Link& link, bool before) {
    std::string why = left_out_.has(link.op) ? "" : fmt::format("no {} is there", to_string(link.op));
    for (std::size_t m = 0; m < program_.nodes.size() && !left_out_.has(link.op); ++m) {
      if ((m < own_) != before || m == own_) continue;
      const Node& node = program_.nodes[m];
      if (!match_.covered.has_all(link.needs) || !fits(link, node)) continue;
      if (const auto chosen = selection_.variants.find(link.op); chosen != selection_.variants.end()) {
        why = fmt::format("{}={} was chosen and runs by itself", to_string(link.op), chosen->second);
        match_.note = why;
        break;
      }
      bind(link, node);
      return {&link, static_cast<int>(m), before};
    }
    if (!link.optional) {
      if (match_.failure.empty()) match_.failure = why;
    } else if (link.without && tensors_[link.without->its] != kUnbound) {
      tensors_[link.without->ours] = tensors_[link.without->its];
    }
    return {};
  }

  const Program& program_;
  std::size_t own_;
  const Variant& variant_;
  const OpSet& left_out_;
  const Selection& selection_;
  ops::ByName<int> tensors_;
  ChainMatch match_;
};

struct Use {
  int tensor;
  Access access;
  const MatchedLink* link;
};

std::vector<Use> uses_of(const Program& program, const std::vector<MatchedLink>& links) {
  std::vector<Use> uses;
  for (const MatchedLink& each : links) {
    const Node& node = program.nodes[static_cast<std::size_t>(each.node)];
    const auto operands = ops::contract(node.op).operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      uses.push_back({node.tensors[i], operands[i].access, &each});
    }
  }
  return uses;
}

void find_unstored(const Program& program, ChainMatch& match) {
  const std::vector<Use> uses = uses_of(program, match.links);
  for (const Use& write : uses) {
    if (write.access == Access::read) continue;
    for (const Use& read : uses) {
      if (read.access == Access::write || read.tensor != write.tensor || read.link == write.link) continue;
      match.unstored.push_back({write.tensor, read.link->link->op, write.link->before});
    }
  }
}

/// The tensors behind the operands of the call.
void bind_operands(const Program& program, const Variant& variant, const ops::OpShape& shape,
                   ChainMatch& match) {
  for (const ops::CallOperand& operand : ops::operands_of(variant, shape)) {
    BoundOperand bound{operand, kUnbound};
    for (const MatchedLink& each : match.links) {
      const Node& node = program.nodes[static_cast<std::size_t>(each.node)];
      const auto own = ops::contract(node.op).operands;
      for (std::size_t i = 0; i < own.size(); ++i) {
        const Name name = ops::call_name(variant, match.covered, each.link, own[i].name);
        if (name == operand.name) bound.tensor = node.tensors[i];
      }
    }
    match.operands.push_back(bound);
  }
}

/// The last optional op of the match, which is the first to go.
const Link* last_optional(const ChainMatch& match) {
  const auto last = std::find_if(match.links.rbegin(), match.links.rend(), [](const MatchedLink& each) {
    return each.link != nullptr && each.link->optional;
  });
  return last == match.links.rend() ? nullptr : last->link;
}

}  // namespace

ChainMatch match_chain(const Program& program, std::size_t node, const Variant& variant,
                       const OpSet& left_out, const Selection& selection) {
  OpSet without = left_out;
  for (;;) {
    ChainMatch match;
    if (variant.chain.empty()) {
      match.links.push_back({nullptr, static_cast<int>(node), false});
    } else {
      match = Matcher(program, node, variant, without, selection).run();
      if (!match.failure.empty()) return match;
    }
    ops::OpShape shape = program.nodes[node].shape;
    shape.covered = match.covered;
    match.failure = variant.refuses == nullptr ? "" : variant.refuses(shape);
    const Link* last = match.failure.empty() ? nullptr : last_optional(match);
    if (last == nullptr) {
      if (match.failure.empty()) {
        find_unstored(program, match);
        bind_operands(program, variant, shape, match);
      }
      return match;
    }
    without.add(last->op);
  }
}

bool is_required(const Variant& variant, Op op) {
  return std::none_of(variant.chain.begin(), variant.chain.end(),
                      [&](const Link& link) { return link.op == op && link.optional; });
}

bool reads(const ChainMatch& match, int tensor) {
  return std::any_of(match.operands.begin(), match.operands.end(), [&](const BoundOperand& each) {
    return each.tensor == tensor && each.operand.access != Access::write;
  });
}

Op owner_of(const Program& program, const ChainMatch& match, int tensor) {
  for (const MatchedLink& each : match.links) {
    const Node& node = program.nodes[static_cast<std::size_t>(each.node)];
    if (std::find(node.tensors.begin(), node.tensors.end(), tensor) != node.tensors.end()) return node.op;
  }
  return program.nodes[static_cast<std::size_t>(match.links.front().node)].op;
}

}  // namespace warpscope::plan
