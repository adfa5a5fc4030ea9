#include "gpu/plan/cover.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/plan/chain_match.h"

namespace warpscope::plan {
namespace {

using ops::Access;
using ops::Op;
using ops::OpSet;
using ops::Variant;

/// The variants of `op` that would run, for error messages.
std::string alternatives(Op op, const core::DeviceInfo& device, core::Precision precision,
                         const ops::OpShape& shape) {
  std::vector<std::string> names;
  for (const Variant* variant : ops::variants_of(op, device.kind)) {
    if (ops::unavailable_reason(*variant, device, precision, &shape).empty()) names.push_back(variant->name);
  }
  if (!names.empty()) return fmt::format("valid here: {}", fmt::join(names, ", "));
  std::vector<std::string_view> precisions;
  for (const core::Precision other : core::selectable_precisions()) {
    const auto all = ops::variants_of(op, device.kind);
    const bool runs = std::any_of(all.begin(), all.end(), [&](const Variant* variant) {
      return ops::unavailable_reason(*variant, device, other, &shape).empty();
    });
    if (runs) precisions.push_back(core::to_string(other));
  }
  return fmt::format("no variant of it runs in {} on {}; precisions that do: {}", core::to_string(precision),
                     device.id(),
                     precisions.empty() ? "none" : fmt::format("{}", fmt::join(precisions, ", ")));
}

std::string place(const Node& node) {
  return node.layer.empty() ? "" : " in " + node.layer;
}

/// How far the search for a node's call has come.
struct Attempt {
  std::vector<const Variant*> candidates;  ///< the best first
  std::size_t candidate = 0;
  OpSet left_out;  ///< of the candidate's chain
  ChainMatch match;
  std::string reason;
};

/// Finds calls that fit together: starts with the largest of each node and takes back what does not fit.
class Coverer {
 public:
  Coverer(const Program& program, const Selection& selection, const core::DeviceInfo& device)
      : program_(program), selection_(selection), device_(device), attempts_(program.nodes.size()) {
    for (std::size_t n = 0; n < program.nodes.size(); ++n)
      attempts_[n].candidates = candidates_of(program.nodes[n]);
  }

  std::vector<NodeCover> run() {
    for (std::size_t n = 0; n < attempts_.size(); ++n) match(n);
    do {
      settle_downstream();
      find_launched();
    } while (mend());
    return result();
  }

 private:
  std::vector<const Variant*> candidates_of(const Node& node) const;
  [[noreturn]] void refuse(const Node& node, std::string_view name, const std::string& reason) const;
  void match(std::size_t n);
  void take_back(std::size_t n, Op op, const std::string& reason);
  void settle_downstream();
  void find_launched();
  bool mend();
  bool mend_read(std::size_t reader, const BoundOperand& read);
  std::vector<NodeCover> result() const;

  const Program& program_;
  const Selection& selection_;
  const core::DeviceInfo& device_;
  std::vector<Attempt> attempts_;
  std::vector<int> covered_after_;  ///< the node whose call covers this one behind its own op, or -1
  std::vector<bool> launched_;
};

std::vector<const Variant*> Coverer::candidates_of(const Node& node) const {
  std::vector<const Variant*> candidates;
  const auto chosen = selection_.variants.find(node.op);
  if (chosen != selection_.variants.end()) {
    const Variant* variant = ops::find_variant(node.op, device_.kind, chosen->second);
    if (variant == nullptr) {
      refuse(node, chosen->second, fmt::format("there is no such variant on {}", device_.id()));
    }
    const std::string reason = ops::unavailable_reason(*variant, device_, selection_.precision, &node.shape);
    if (!reason.empty()) refuse(node, variant->name, reason);
    candidates.push_back(variant);
  }
  const std::size_t choices = candidates.size();
  std::vector<const Variant*> all = ops::variants_of(node.op, device_.kind);
  std::reverse(all.begin(), all.end());  // the best first
  for (const bool library : {false, true}) {
    for (const Variant* each : all) {
      if (each->library != library || (choices == 1 && each == candidates.front())) continue;
      if (!ops::unavailable_reason(*each, device_, selection_.precision).empty()) continue;
      candidates.push_back(each);
    }
  }
  if (!candidates.empty()) return candidates;
  throw core::BadInput(fmt::format("{}{}: {}", ops::to_string(node.op), place(node),
                                   alternatives(node.op, device_, selection_.precision, node.shape)));
}

void Coverer::refuse(const Node& node, std::string_view name, const std::string& reason) const {
  throw core::BadInput(fmt::format("{}={} cannot run{}: {}; {}", ops::to_string(node.op), name, place(node),
                                   reason, alternatives(node.op, device_, selection_.precision, node.shape)));
}

/// Gives a node the best call that fits around it.
void Coverer::match(std::size_t n) {
  Attempt& attempt = attempts_[n];
  const bool chosen = selection_.variants.contains(program_.nodes[n].op);
  for (; attempt.candidate < attempt.candidates.size(); ++attempt.candidate, attempt.left_out = {}) {
    const Variant& variant = *attempt.candidates[attempt.candidate];
    attempt.match = match_chain(program_, n, variant, attempt.left_out, selection_);
    if (attempt.match.failure.empty()) {
      if (attempt.reason.empty()) attempt.reason = attempt.match.note;
      return;
    }
    if (attempt.reason.empty() && ((chosen && attempt.candidate == 0) || !attempt.match.note.empty())) {
      attempt.reason = fmt::format("not {}: {}", variant.name, attempt.match.failure);
    }
  }
  refuse(program_.nodes[n], attempt.candidates.front()->name, attempt.match.failure);
}

/// Leaves `op` out of the call of node `n`, for this reason.
void Coverer::take_back(std::size_t n, Op op, const std::string& reason) {
  Attempt& attempt = attempts_[n];
  const bool required = is_required(*attempt.candidates[attempt.candidate], op);
  attempt.reason = fmt::format(
      "{}{}", required ? fmt::format("not {}: ", attempt.candidates[attempt.candidate]->name) : "", reason);
  if (required) {
    ++attempt.candidate;
    attempt.left_out = {};
    if (attempt.candidate == attempt.candidates.size()) {
      refuse(program_.nodes[n], attempt.candidates.front()->name, reason);
    }
  } else {
    attempt.left_out.add(op);
  }
  match(n);
}

/// Notes which nodes run inside the call of one before them. A node that two would cover stays with the
/// first.
void Coverer::settle_downstream() {
  for (bool settled = false; !settled;) {
    settled = true;
    covered_after_.assign(attempts_.size(), -1);
    for (std::size_t n = 0; n < attempts_.size() && settled; ++n) {
      if (covered_after_[n] >= 0) continue;
      for (const MatchedLink& link : attempts_[n].match.links) {
        if (link.before || link.node == static_cast<int>(n)) continue;
        int& owner = covered_after_[static_cast<std::size_t>(link.node)];
        if (owner >= 0) {
          take_back(n, link.link->op, "another call covers it");
          settled = false;
          break;
        }
        owner = static_cast<int>(n);
      }
    }
  }
}

/// Notes which nodes are launched: all but those inside the call of one before them, and those that others
/// compute again, unless somebody reads what they write.
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
      if (launched_[n] || covered_after_[n] >= 0) continue;
      const auto& written = attempts_[n].match.operands;
      for (std::size_t m = 0; m < attempts_.size() && !launched_[n]; ++m) {
        if (!launched_[m]) continue;
        launched_[n] = std::any_of(written.begin(), written.end(), [&](const BoundOperand& w) {
          return w.operand.access != Access::read && reads(attempts_[m].match, w.tensor);
        });
      }
      changed = changed || launched_[n];
    }
  }
}

/// Takes back one thing that does not fit. False if all fits.
bool Coverer::mend() {
  for (std::size_t n = 0; n < attempts_.size(); ++n) {
    if (!launched_[n]) continue;
    for (const BoundOperand& operand : attempts_[n].match.operands) {
      if (operand.operand.access != Access::write && mend_read(n, operand)) return true;
    }
  }
  // What people look at is read as well.
  for (std::size_t n = 0; n < attempts_.size(); ++n) {
    if (!launched_[n]) continue;
    for (const Unstored& each : attempts_[n].match.unstored) {
      if (!program_.tensors[static_cast<std::size_t>(each.tensor)].kept) continue;
      take_back(n, each.reader, "what is shown must be stored");
      return true;
    }
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
      node.variant = attempt.candidates[attempt.candidate];
      node.shape.covered = attempt.match.covered;
      node.operands = attempt.match.operands;
      for (const MatchedLink& link : attempt.match.links) {
        if (link.node != static_cast<int>(n)) node.covers.push_back(link.node);
      }
      node.reason = attempt.reason;
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

std::vector<NodeCover> cover(const Program& program, const Selection& selection,
                             const core::DeviceInfo& device) {
  return Coverer(program, selection, device).run();
}

std::string describe(const NodeCover& node) {
  if (node.variant == nullptr) return "covered";
  if (node.shape.covered.empty()) return node.variant->name;
  return fmt::format("{}, with {}", node.variant->name, ops::describe(node.shape.covered));
}

}  // namespace warpscope::plan
