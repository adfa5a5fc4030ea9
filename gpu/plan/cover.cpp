#include "gpu/plan/cover.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/plan/chain_match.h"

namespace warpscope::plan {
namespace {

using ops::Access;
using ops::Op;
using ops::OpSet;
using ops::Variant;

std::string place(const Node& node) {
  return node.layer.empty() ? "" : " in " + node.layer;
}

/// Whether the chain of `link` is made for the op of `node`, as far as only that tells.
bool is_made_for(const ops::Link& link, const Node& node, ops::OpShape call) {
  return node.op == link.op && (link.takes == nullptr || link.takes(node.shape, call));
}

/// Whether what `node` reads comes of all the ops that `variant` needs before its own.
bool has_ops_before(const Program& program, const Node& node, const Variant& variant) {
  const std::vector<const ops::Link*> links = required_before(variant);
  return std::ranges::all_of(links, [&](const ops::Link* link) {
    return std::ranges::any_of(program.nodes, [&](const Node& other) {
      const auto operands = ops::contract(other.op).operands;
      if (!is_made_for(*link, other, node.shape)) return false;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const bool read = std::ranges::find(node.tensors, other.tensors[i]) != node.tensors.end();
        if (operands[i].access != Access::read && read) return true;
      }
      return false;
    });
  });
}

/// How far the search for a node's call has come.
struct Attempt {
  std::vector<const Variant*> candidates;  ///< the best first
  std::size_t candidate = 0;
  OpSet left_out;  ///< of the candidate's chain
  ChainMatch match;
  std::string why_not_best;  ///< why it is not the first candidate
  std::string why_left_out;  ///< why this candidate covers less than is there
  std::string measured;      ///< why the first candidate comes before those of the rules

  const Variant& variant() const { return *candidates[candidate]; }

  /// Goes on to the next candidate. False if there is none.
  bool pass_over(const std::string& why) {
    if (candidate == 0) why_not_best = why;
    ++candidate;
    left_out = {};
    why_left_out = {};
    return candidate < candidates.size();
  }

  std::string reason() const {
    const std::string& why = why_left_out.empty() ? match.note : why_left_out;
    if (candidate == 0 && !measured.empty()) {
      return why.empty() ? measured : fmt::format("{}; {}", measured, why);
    }
    if (candidate == 0) return why;
    const std::string instead = fmt::format("not {}: {}", candidates.front()->name, why_not_best);
    return why.empty() || why == why_not_best ? instead : fmt::format("{}; {}", instead, why);
  }
};

/// Finds calls that fit together: starts with the largest of each node and takes back what does not fit.
class Coverer {
 public:
  Coverer(const Program& program, const Selection& selection, const Machine& machine,
          const MeasuredChoices& measured)
      : variants_(machine.variants),
        program_(program),
        selection_(selection),
        device_(machine.device),
        attempts_(program.nodes.size()) {
    for (std::size_t n = 0; n < program.nodes.size(); ++n) {
      attempts_[n].candidates = candidates_of(program.nodes[n]);
      if (!measured.empty()) put_measured_first(n, measured);
    }
  }

  std::vector<NodeCover> run() {
    for (std::size_t n = 0; n < attempts_.size(); ++n) match(n);
    do {
      find_covered();
      find_launched();
    } while (mend());
    return result();
  }

 private:
  std::string alternatives(const Node& node) const;
  [[noreturn]] void refuse(const Node& node, std::string_view name, const std::string& reason) const;
  std::vector<const Variant*> candidates_of(const Node& node) const;
  void put_measured_first(std::size_t n, const MeasuredChoices& measured);
  bool is_chosen(std::size_t n) const { return selection_.variants.contains(program_.nodes[n].op); }
  bool yields(std::size_t n) const;
  void match(std::size_t n);
  void pass_over(std::size_t n, const std::string& why);
  void take_back(std::size_t n, Op op, const std::string& reason);
  void find_covered();
  void find_launched();
  bool is_needed(std::size_t n) const;
  bool mend_shown(std::size_t n);
  bool mend();
  bool mend_read(std::size_t reader, const BoundOperand& read);
  std::vector<NodeCover> result() const;

  const ops::VariantTable& variants_;
  const Program& program_;
  const Selection& selection_;
  const core::DeviceInfo& device_;
  std::vector<Attempt> attempts_;
  std::vector<int> covered_after_;  ///< the node whose call covers this one behind its own op, or -1
  std::vector<bool> launched_;
};

/// The variants of the node's op that would run, for error messages.
std::string Coverer::alternatives(const Node& node) const {
  const std::vector<const Variant*> all = ops::variants_of(variants_, node.op, device_.kind);
  const auto runs = [&](const Variant* variant, core::Precision precision) {
    return ops::unavailable_reason(*variant, device_, precision, &node.shape).empty();
  };
  std::vector<std::string_view> names;
  for (const Variant* variant : all) {
    if (runs(variant, selection_.precision) && !ops::needs_others(*variant)) names.push_back(variant->name);
  }
  if (!names.empty()) return fmt::format("valid here: {}", fmt::join(names, ", "));
  std::vector<std::string_view> precisions;
  for (const core::Precision other : core::selectable_precisions()) {
    if (std::ranges::any_of(all, [&](const Variant* variant) { return runs(variant, other); })) {
      precisions.push_back(core::to_string(other));
    }
  }
  return fmt::format("no variant of it runs in {} on {}; precisions that do: {}",
                     core::to_string(selection_.precision), device_.id(),
                     precisions.empty() ? "none" : fmt::format("{}", fmt::join(precisions, ", ")));
}

void Coverer::refuse(const Node& node, std::string_view name, const std::string& reason) const {
  throw core::BadInput(fmt::format("{}={} cannot run{}: {}; {}", ops::to_string(node.op), name, place(node),
                                   reason, alternatives(node)));
}

std::vector<const Variant*> Coverer::candidates_of(const Node& node) const {
  std::vector<const Variant*> all = ops::variants_of(variants_, node.op, device_.kind);
  std::ranges::reverse(all);  // the best first
  std::vector<const Variant*> candidates;
  if (const auto chosen = selection_.variants.find(node.op); chosen != selection_.variants.end()) {
    const auto found =
        std::ranges::find_if(all, [&](const Variant* each) { return each->name == chosen->second; });
    if (found == all.end()) {
      refuse(node, chosen->second, fmt::format("there is no such variant on {}", device_.id()));
    }
    // Where an op that it needs before its own is missing, that is the reason, and the others take the node.
    const ops::OpShape* shape = has_ops_before(program_, node, **found) ? &node.shape : nullptr;
    const std::string reason = ops::unavailable_reason(**found, device_, selection_.precision, shape);
    if (!reason.empty()) refuse(node, chosen->second, reason);
    candidates.push_back(*found);
    all.erase(found);
  }
  // A variant that needs other ops is the best where they are there, and none elsewhere (match()).
  const auto own = std::stable_partition(all.begin(), all.end(),
                                         [](const Variant* each) { return ops::needs_others(*each); });
  all.erase(std::remove_if(all.begin(), own,
                           [&](const Variant* each) { return !has_ops_before(program_, node, *each); }),
            own);
  for (const bool library : {false, true}) {
    for (const Variant* each : all) {
      if (each->library != library || ops::is_users(*each)) continue;
      if (ops::unavailable_reason(*each, device_, selection_.precision).empty()) candidates.push_back(each);
    }
  }
  if (!candidates.empty()) return candidates;
  throw core::BadInput(fmt::format("{}{}: {}", ops::to_string(node.op), place(node), alternatives(node)));
}

/// Where nobody has chosen a variant, the measured one comes before the others.
void Coverer::put_measured_first(std::size_t n, const MeasuredChoices& measured) {
  const Node& node = program_.nodes[n];
  if (is_chosen(n)) return;
  const auto choice = measured.find(call_key(node.op, selection_.precision, node.shape));
  if (choice == measured.end()) return;
  std::vector<const Variant*>& candidates = attempts_[n].candidates;
  const auto found = std::ranges::find_if(
      candidates, [&](const Variant* each) { return each->name == choice->second.variant; });
  if (found == candidates.end()) return;
  std::rotate(candidates.begin(), found, found + 1);
  attempts_[n].measured = describe(choice->second);
}

/// Whether the best candidate leaves the node to another, whose call covers more.
bool Coverer::yields(std::size_t n) const {
  const Attempt& attempt = attempts_[n];
  if (!attempt.variant().yields_to || !attempt.measured.empty()) return false;
  const OpSet others = attempt.variant().yields_to(program_.nodes[n].shape);
  if (others.empty()) return false;
  return std::any_of(attempt.candidates.begin() + 1, attempt.candidates.end(), [&](const Variant* each) {
    if (each->library) return false;
    const ChainMatch match = match_chain(program_, n, *each, {}, selection_);
    return match.failure.empty() && match.covered.has_any(others);
  });
}

/// Gives a node the best call that fits around it.
void Coverer::match(std::size_t n) {
  Attempt& attempt = attempts_[n];
  const bool untried = attempt.left_out.empty() && attempt.candidate == 0 && !is_chosen(n);
  attempt.match = match_chain(program_, n, attempt.variant(), attempt.left_out, selection_);
  const bool fits = attempt.match.failure.empty();
  const bool elsewhere = fits ? untried && yields(n) : attempt.match.absent || attempt.variant().special;
  if (fits && !elsewhere) return;
  if (elsewhere && untried && attempt.candidates.size() > 1) {
    // It is made for another place in a network or other shapes, which is nothing that anybody has to be told.
    attempt.candidates.erase(attempt.candidates.begin());
    attempt.measured.clear();
    return match(n);
  }
  pass_over(n, attempt.match.failure);
}

/// Gives a node the next best call, for this reason.
void Coverer::pass_over(std::size_t n, const std::string& why) {
  Attempt& attempt = attempts_[n];
  if (!attempt.pass_over(why)) {
    refuse(program_.nodes[n], attempt.candidates.front()->name, attempt.why_not_best);
  }
  match(n);
}

/// Leaves `op` out of the call of node `n`, for this reason.
void Coverer::take_back(std::size_t n, Op op, const std::string& reason) {
  Attempt& attempt = attempts_[n];
  if (is_required(attempt.variant(), op)) return pass_over(n, reason);
  attempt.left_out.add(op);
  attempt.why_left_out = reason;
  match(n);
}

/// Notes which nodes run inside the call of one before them. A node that two would cover stays with the
/// first.
void Coverer::find_covered() {
  for (bool done = false; !done;) {
    done = true;
    covered_after_.assign(attempts_.size(), -1);
    for (std::size_t n = 0; n < attempts_.size() && done; ++n) {
      if (covered_after_[n] >= 0) continue;
      for (const MatchedLink& link : attempts_[n].match.links) {
        if (link.before || link.node == static_cast<int>(n)) continue;
        int& owner = covered_after_[static_cast<std::size_t>(link.node)];
        if (owner >= 0) {
          take_back(n, link.link->op, "another call covers it");
          done = false;
          break;
        }
        owner = static_cast<int>(n);
      }
    }
  }
}

/// Notes which nodes are launched: all but those inside the call of one before them, and those that others
/// compute again, unless somebody needs what they write.
void Coverer::find_launched() {
  std::vector<bool> computed_again(attempts_.size(), false);
  for (std::size_t n = 0; n < attempts_.size(); ++n) {
    if (covered_after_[n] >= 0) continue;
    for (const MatchedLink& link : attempts_[n].match.links) {
      if (link.before) computed_again[static_cast<std::size_t>(link.node)] = true;
    }
  }
  launched_.assign(attempts_.size(), false);
  for (std::size_t n = 0; n < attempts_.size(); ++n)
    launched_[n] = covered_after_[n] < 0 && !computed_again[n];
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t n = 0; n < attempts_.size(); ++n) {
      if (launched_[n] || covered_after_[n] >= 0 || !is_needed(n)) continue;
      launched_[n] = changed = true;
    }
  }
}

/// Whether something that node `n` writes, or one that its call covers behind it, outlives the launches or is
/// read by one of them, stored or not.
bool Coverer::is_needed(std::size_t n) const {
  for (const MatchedLink& link : attempts_[n].match.links) {
    if (link.before) continue;
    const Node& node = program_.nodes[static_cast<std::size_t>(link.node)];
    const auto operands = ops::contract(node.op).operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].access == Access::read) continue;
      const Tensor& tensor = program_.tensors[static_cast<std::size_t>(node.tensors[i])];
      if (tensor.storage != Storage::planned || tensor.kept || tensor.persistent) return true;
      for (std::size_t m = 0; m < attempts_.size(); ++m) {
        if (launched_[m] && reads(attempts_[m].match, node.tensors[i])) return true;
      }
    }
  }
  return false;
}

/// Takes back one thing that does not fit. False if all fits.
bool Coverer::mend() {
  for (std::size_t n = 0; n < attempts_.size(); ++n) {
    if (!launched_[n]) continue;
    for (const BoundOperand& operand : attempts_[n].match.operands) {
      if (operand.operand.access != Access::write && mend_read(n, operand)) return true;
    }
  }
  for (std::size_t n = 0; n < attempts_.size(); ++n) {
    if (launched_[n] && mend_shown(n)) return true;
  }
  return false;
}

/// What people look at is stored, and as the contract says. If the call of node `n` does otherwise, takes back
/// what is in the way and says true.
bool Coverer::mend_shown(std::size_t n) {
  const auto is_shown = [&](int tensor) { return program_.tensors[static_cast<std::size_t>(tensor)].kept; };
  for (const Unstored& each : attempts_[n].match.unstored) {
    if (each.recomputed || !is_shown(each.tensor)) continue;
    take_back(n, each.reader, "what is shown must be stored");
    return true;
  }
  for (const BoundOperand& each : attempts_[n].match.operands) {
    if (each.operand.format == nullptr || !is_shown(each.tensor)) continue;
    take_back(n, owner_of(program_, attempts_[n].match, each.tensor),
              fmt::format("what is shown must not be stored as {}", each.operand.format->name));
    return true;
  }
  return false;
}

/// Whether what node `reader` reads is there, in its format; if not, takes back what is in the way and says
/// true.
bool Coverer::mend_read(std::size_t reader, const BoundOperand& read) {
  const auto told = [&] {
    return fmt::format("{}{} reads {}", ops::to_string(program_.nodes[reader].op),
                       place(program_.nodes[reader]),
                       program_.tensors[static_cast<std::size_t>(read.tensor)].name);
  };
  for (std::size_t n = 0; n < attempts_.size(); ++n) {
    if (!launched_[n]) continue;
    for (const Unstored& each : attempts_[n].match.unstored) {
      if (each.tensor != read.tensor || each.recomputed) continue;
      take_back(n, each.reader, told());
      return true;
    }
    for (const BoundOperand& write : attempts_[n].match.operands) {
      if (write.tensor != read.tensor || write.operand.access == Access::read) continue;
      if (write.operand.format == read.operand.format) continue;
      const ops::Format* own = write.operand.format != nullptr ? write.operand.format : read.operand.format;
      const bool at_writer = write.operand.format != nullptr;
      take_back(at_writer ? n : reader,
                owner_of(program_, attempts_[at_writer ? n : reader].match, read.tensor),
                at_writer ? fmt::format("{}, not as {}", told(), own->name)
                          : fmt::format("{} is not stored as {}", to_string(read.operand.name), own->name));
      return true;
    }
  }
  return false;
}

std::vector<NodeCover> Coverer::result() const {
  std::vector<NodeCover> nodes;
  for (std::size_t n = 0; n < attempts_.size(); ++n) {
    const Attempt& attempt = attempts_[n];
    NodeCover node;
    node.shape = program_.nodes[n].shape;
    node.covered_by = covered_after_[n];
    if (launched_[n]) {
      node.variant = &attempt.variant();
      node.shape = attempt.match.shape;
      node.operands = attempt.match.operands;
      for (const MatchedLink& link : attempt.match.links) {
        if (link.node != static_cast<int>(n)) node.covers.push_back(link.node);
      }
      node.reason = attempt.reason();
    }
    nodes.push_back(std::move(node));
  }
  // What others compute again is covered by the first of them.
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const int other : nodes[n].covers) {
      NodeCover& covered = nodes[static_cast<std::size_t>(other)];
      if (covered.variant == nullptr && covered.covered_by < 0) covered.covered_by = static_cast<int>(n);
    }
  }
  return nodes;
}

}  // namespace

std::vector<NodeCover> cover(const Program& program, const Selection& selection, const Machine& machine,
                             const MeasuredChoices& measured) {
  return Coverer(program, selection, machine, measured).run();
}

std::string describe(const NodeCover& node) {
  if (node.variant == nullptr) return "covered";
  if (node.shape.covered.empty()) return node.variant->name;
  return fmt::format("{}, with {}", node.variant->name, ops::describe(node.shape.covered));
}

}  // namespace warpscope::plan
