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

/// The tensor whose memory `tensor` is in.
int memory_of(const Program& program, int tensor) {
  const int parent = program.tensors[static_cast<std::size_t>(tensor)].parent;
  return parent < 0 ? tensor : parent;
}

bool writes_what_other_reads(const Program& program, const Node& node, const Node& other) {
  const auto written = ops::contract(node.op).operands;
  const auto read = ops::contract(other.op).operands;
  for (std::size_t w = 0; w < written.size(); ++w) {
    for (std::size_t r = 0; r < read.size(); ++r) {
      if (written[w].access == Access::read || read[r].access == Access::write) continue;
      if (memory_of(program, node.tensors[w]) == memory_of(program, other.tensors[r])) return true;
    }
  }
  return false;
}

/// One attempt to find a chain.
class Matcher {
 public:
  Matcher(const Program& program, std::size_t node, const Variant& variant, const OpSet& left_out,
          const Selection& selection)
      : program_(program), own_(node), variant_(variant), left_out_(left_out), selection_(selection) {
    tensors_.values.fill(kUnbound);
    match_.shape = program.nodes[node].shape;
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
    matched_.push_back(&node);
  }

  bool is_matched(const Node& node) const { return std::ranges::find(matched_, &node) != matched_.end(); }

  /// Whether all that node `m` reads is there when the own op runs, or comes of the call itself.
  bool is_ready(std::size_t m) const {
    for (std::size_t w = own_ + 1; w < m; ++w) {
      const Node& between = program_.nodes[w];
      if (!is_matched(between) && writes_what_other_reads(program_, between, program_.nodes[m])) return false;
    }
    return true;
  }

  /// Whether the op of `node` has the window that the chain computes: kernels are no part of what tensors show.
  bool has_window_of(const Link& link, const Node& node) const {
    if (link.shape == nullptr || link.takes != nullptr) return true;
    const ops::OpShape computed = link.shape(program_.nodes[own_].shape);
    return computed.kernel_height == node.shape.kernel_height &&
           computed.kernel_width == node.shape.kernel_width;
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

  /// Those of the update come once a step, the others once a micro-batch.
  bool is_of_update(std::size_t m) const { return m >= program_.update; }

  MatchedLink find(const Link& link, bool before) {
    const bool left_out = left_out_.has(link.op);
    bool absent = !left_out;
    std::string why = fmt::format("{} {}", left_out ? "without" : "there is no", to_string(link.op));
    for (std::size_t m = 0; m < program_.nodes.size() && !left_out; ++m) {
      if ((m < own_) != before || m == own_ || is_of_update(m) != is_of_update(own_)) continue;
      const Node& node = program_.nodes[m];
      if (!match_.covered.has_all(link.needs) || match_.covered.has_any(link.excludes)) break;
      if (!fits(link, node)) continue;
      if (!before && !is_ready(m)) {
        absent = false;
        continue;
      }
      if (ops::OpShape call = match_.shape; link.takes != nullptr && !link.takes(node.shape, call)) {
        why = fmt::format("there is no {} that it takes", to_string(link.op));
        continue;
      }
      if (!has_window_of(link, node)) {
        why = fmt::format("{} has a window of {}x{}", to_string(link.op), node.shape.kernel_height,
                          node.shape.kernel_width);
        match_.note = why;
        absent = false;
        break;
      }
      if (const auto chosen = selection_.variants.find(link.op); chosen != selection_.variants.end()) {
        why = fmt::format("{}={} was chosen and runs by itself", to_string(link.op), chosen->second);
        match_.note = why;
        absent = false;
        break;
      }
      if (link.takes != nullptr) link.takes(node.shape, match_.shape);
      bind(link, node);
      return {&link, static_cast<int>(m), before};
    }
    if (!link.optional) {
      if (match_.failure.empty()) {
        match_.failure = why;
        match_.absent = absent && match_.note.empty();
      }
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
  std::vector<const Node*> matched_;
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

/// The tensors that the variant omits.
void find_omitted(const Program& program, const Variant& variant, ChainMatch& match) {
  for (const MatchedLink& each : match.links) {
    const Node& node = program.nodes[static_cast<std::size_t>(each.node)];
    const auto own = ops::contract(node.op).operands;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Name name = ops::call_name(variant, match.covered, each.link, own[i].name);
      if (std::ranges::find(variant.omitted, name) == variant.omitted.end()) continue;
      match.unstored.push_back({node.tensors[i], node.op, each.before});
    }
  }
}

/// The tensors that pass between ops of the call and that it does not write to memory.
void find_unstored(const Program& program, ChainMatch& match) {
  const std::vector<Use> uses = uses_of(program, match.links);
  const auto is_stored = [&](int tensor) {
    return std::ranges::any_of(match.operands, [&](const BoundOperand& each) {
      return each.tensor == tensor && each.operand.access == Access::write;
    });
  };
  for (const Use& write : uses) {
    if (write.access == Access::read || is_stored(write.tensor)) continue;
    for (const Use& read : uses) {
      if (read.access == Access::write || read.tensor != write.tensor || read.link == write.link) continue;
      match.unstored.push_back({write.tensor, read.link->link->op, write.link->before});
    }
  }
}

/// Whether anything but the ops of the call reads `tensor`, or it outlives the launches.
bool is_for_others(const Program& program, const ChainMatch& match, int tensor) {
  const Tensor& its = program.tensors[static_cast<std::size_t>(tensor)];
  if (its.storage != Storage::planned || its.kept || its.persistent) return true;
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    const Node& node = program.nodes[n];
    const bool own = std::ranges::any_of(
        match.links, [&](const MatchedLink& each) { return each.node == static_cast<int>(n); });
    if (!own && std::ranges::find(node.tensors, tensor) != node.tensors.end()) return true;
  }
  return false;
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
    const auto& optional = variant.stored_for_others;
    const bool may_go = std::ranges::find(optional, operand.name) != optional.end();
    const bool goes =
        may_go && operand.access == Access::write && !is_for_others(program, match, bound.tensor);
    if (!goes) match.operands.push_back(bound);
  }
}

/// What match_chain() gives for one choice of ops to leave out; `refusal` is what the variant says to it.
ChainMatch match_without(const Program& program, std::size_t node, const Variant& variant,
                         const OpSet& left_out, const Selection& selection, std::string& refusal) {
  ChainMatch match;
  if (variant.chain.empty()) {
    match.shape = program.nodes[node].shape;
    match.links.push_back({nullptr, static_cast<int>(node), false});
  } else {
    match = Matcher(program, node, variant, left_out, selection).run();
    if (!match.failure.empty()) return match;
  }
  ops::OpShape& shape = match.shape;
  shape.covered = match.covered;
  if (variant.refuses) refusal = variant.refuses(shape);
  if (!refusal.empty()) {
    match.failure = refusal;
    return match;
  }
  bind_operands(program, variant, shape, match);
  find_unstored(program, match);
  find_omitted(program, variant, match);
  return match;
}

/// The ops of the chain that `set` lacks.
OpSet others_than(const Variant& variant, const OpSet& set) {
  OpSet others;
  for (const Link& link : variant.chain) {
    if (link.op != variant.op && !set.has(link.op)) others.add(link.op);
  }
  return others;
}

}  // namespace

ChainMatch match_chain(const Program& program, std::size_t node, const Variant& variant,
                       const OpSet& left_out, const Selection& selection) {
  std::string first_refusal;
  ChainMatch match;
  std::vector<OpSet> sets = ops::coverings(variant);
  // The most ops first: all, of which some may exclude each other.
  std::ranges::reverse(sets);
  if (const OpSet all = ops::coverable_ops(variant); sets.front() != all) sets.insert(sets.begin(), all);
  bool found = false;
  for (const OpSet& set : sets) {
    if (found && set.size() <= match.covered.size()) break;  // it can be no larger
    std::string refusal;
    const OpSet without = left_out | others_than(variant, set);
    ChainMatch tried = match_without(program, node, variant, without, selection, refusal);
    if (!refusal.empty() && first_refusal.empty()) first_refusal = refusal;
    const bool runs = refusal.empty() && tried.failure.empty();
    if (!found || (runs && tried.covered.size() > match.covered.size())) match = std::move(tried);
    found = found || runs;
    if (refusal.empty() && first_refusal.empty()) break;
  }
  if (match.failure.empty() && match.note.empty()) match.note = first_refusal;
  if (!match.failure.empty() && !first_refusal.empty()) {
    match.failure = first_refusal;
    match.absent = false;
  }
  return match;
}

bool is_required(const Variant& variant, Op op) {
  return std::ranges::none_of(variant.chain,
                              [&](const Link& link) { return link.op == op && link.optional; });
}

std::vector<const Link*> required_before(const Variant& variant) {
  std::vector<const Link*> links;
  for (const Link& link : variant.chain) {
    if (link.op == variant.op) break;
    if (!link.optional) links.push_back(&link);
  }
  return links;
}

bool reads(const ChainMatch& match, int tensor) {
  return std::ranges::any_of(match.operands, [&](const BoundOperand& each) {
    return each.tensor == tensor && each.operand.access != Access::write;
  });
}

Op owner_of(const Program& program, const ChainMatch& match, int tensor) {
  for (const MatchedLink& each : match.links) {
    const Node& node = program.nodes[static_cast<std::size_t>(each.node)];
    if (std::ranges::find(node.tensors, tensor) != node.tensors.end()) return node.op;
  }
  return program.nodes[static_cast<std::size_t>(match.links.front().node)].op;
}

}  // namespace warpscope::plan
