#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "gpu/profiling/bench.h"

namespace warpscope::profiling {

void rank(std::vector<BenchRow*> rows) {
  std::erase_if(rows, [](const BenchRow* row) { return !row->skipped.empty() || row->samples == 0; });
  std::ranges::stable_sort(rows, [](const BenchRow* a, const BenchRow* b) { return a->median < b->median; });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool tied = i > 0 && rows[i]->p10 <= rows[i - 1]->p90;
    rows[i]->rank = tied ? rows[i - 1]->rank : static_cast<int>(i) + 1;
  }
}

namespace {

using core::Precision;
using ops::Op;
using ops::OpShape;
using ops::Variant;

bool timed(const BenchRow& row, Precision precision) {
  return row.precision == precision && !row.sum && row.timed();
}

/// The fastest of the rows that time `op` by itself on `shape`, or nullptr.
const BenchRow* best_by_itself(const std::vector<BenchRow>& rows, Op op, const OpShape& shape,
                               Precision precision) {
  const BenchRow* best = nullptr;
  for (const BenchRow& row : rows) {
    if (row.what.op != op || !timed(row, precision) || row.what.shape != by_itself(shape)) continue;
    if (best == nullptr || row.median < best->median) best = &row;
  }
  return best;
}

/// Whether calls of `variant` compute `op` again for themselves: it comes before their own in the chain.
bool computes_again(const Variant& variant, Op op) {
  for (const ops::Link& link : variant.chain) {
    if (link.op == variant.op) return false;
    if (link.op == op) return true;
  }
  return false;
}

/// What one selection after the other is judged by.
class Judge {
 public:
  Judge(const std::vector<BenchRow>& rows, Precision precision, const plan::Machine& machine)
      : all_(machine.variants), rows_(rows), precision_(precision), device_(machine.device) {
    for (const BenchRow& row : rows) {
      if (row.precision != precision || row.sum) continue;
      auto& known = places_[row.what.op];
      const OpShape place = by_itself(row.what.shape);
      if (std::ranges::find(known, place) == known.end()) known.push_back(place);
    }
  }

  /// A variant on all cases of its op, or what runs them if nothing is chosen.
  struct Candidate {
    const Variant* variant = nullptr;  ///< nullptr: nothing is chosen
    double total = std::numeric_limits<double>::infinity();
    ops::OpSet covers;  ///< in any case
  };

  /// The best of the variants that read and write what the contracts say.
  Candidate best_of(Op op) const {
    return best_among(op, [](const Variant& variant) { return variant.formats.empty(); });
  }
  /// The best of those with the private operand `format` of `name`.
  Candidate best_of(Op op, ops::Name name, const ops::Format* format) const {
    return best_among(op, [&](const Variant& variant) { return has(variant, name, format); });
  }

  /// All private operands of variants of the device, each with the ops that have it.
  std::map<std::pair<ops::Name, const ops::Format*>, std::set<Op>> partners() const {
    std::map<std::pair<ops::Name, const ops::Format*>, std::set<Op>> found;
    for (const Variant& variant : all_) {
      if (variant.device != device_.kind) continue;
      for (const ops::PrivateOperand& each : variant.formats)
        found[{each.name, each.format}].insert(variant.op);
    }
    return found;
  }

  std::vector<Op> timed_ops() const {
    std::set<Op> found;
    for (const BenchRow& row : rows_) {
      if (timed(row, precision_)) found.insert(row.what.op);
    }
    return {found.begin(), found.end()};
  }

  bool has_cases(Op op) const { return places_.contains(op); }

  /// What the planner takes for each case if nothing is chosen: each time the variant of ours that comes last, first of
  /// those that need other ops and have them there. Endless if one of these was not timed.
  Candidate automatic(Op op) const {
    Candidate mix{nullptr, 0, {}};
    for (const OpShape& place : places_.at(op)) {
      const Variant* const variant = automatic(op, place);
      if (variant == nullptr || !add_case(mix, *variant, place)) return {};
    }
    return mix;
  }

 private:
  static bool has(const Variant& variant, ops::Name name, const ops::Format* format) {
    return std::ranges::any_of(variant.formats, [&](const ops::PrivateOperand& each) {
      return each.name == name && each.format == format;
    });
  }

  template <class Allowed>
  Candidate best_among(Op op, const Allowed& allowed) const {
    Candidate best;
    for (const Variant& variant : all_) {
      if (variant.op != op || variant.device != device_.kind || !allowed(variant)) continue;
      const Candidate candidate = judge(variant);
      if (candidate.total < best.total) best = candidate;
    }
    return best;
  }

  Candidate judge(const Variant& variant) const {
    Candidate candidate{&variant, 0, {}};
    const auto found = places_.find(variant.op);
    if (found == places_.end()) return {};
    for (const OpShape& place : found->second) {
      if (!add_case(candidate, variant, place)) return {};
    }
    return candidate;
  }

  /// The fastest call of `variant` at `place`. False if none was timed.
  bool add_case(Candidate& candidate, const Variant& variant, const OpShape& place) const {
    const BenchRow* best = nullptr;
    double least = 0;
    for (const BenchRow& row : rows_) {
      if (row.what.op != variant.op || row.variant != variant.name || !timed(row, precision_)) continue;
      if (by_itself(row.what.shape) != place) continue;
      const double net = row.median - saved(variant, row.what.shape);
      if (best != nullptr && net >= least) continue;
      best = &row;
      least = net;
    }
    if (best == nullptr) return false;
    candidate.total += least;
    for (const ops::CoveredOp& each : covered_ops(variant, best->what.shape)) {
      if (each.op != variant.op) candidate.covers.add(each.op);
    }
    return true;
  }

  /// What the ops that a call covers beside its own would take by themselves.
  double saved(const Variant& variant, const OpShape& shape) const {
    double sum = 0;
    for (const ops::CoveredOp& each : covered_ops(variant, shape)) {
      if (each.op == variant.op) continue;
      const BenchRow* row = best_by_itself(rows_, each.op, each.shape, precision_);
      if (row != nullptr) sum += row->median / (computes_again(variant, each.op) ? sharers(each.op) : 1);
    }
    return sum;
  }

  /// How many ops of the model have variants that compute `op` again for themselves: it is saved only if all do.
  int sharers(Op op) const {
    std::set<Op> found;
    for (const Variant& variant : all_) {
      if (variant.device == device_.kind && has_cases(variant.op) && computes_again(variant, op)) {
        found.insert(variant.op);
      }
    }
    return static_cast<int>(found.size());
  }

  const Variant* automatic(Op op, const OpShape& place) const {
    const Variant* last = nullptr;
    // The later ones count more: a library's only where we have none.
    for (const auto& [library, needs_others] : {std::pair(true, false), {false, false}, {false, true}}) {
      for (const Variant& variant : all_) {
        if (variant.op != op || variant.device != device_.kind || variant.library != library) continue;
        if (ops::is_users(variant)) continue;
        if (ops::needs_others(variant) == needs_others && can_run(variant, place)) last = &variant;
      }
    }
    return last;
  }

  /// Whether one of the cases at `place` is for `variant`.
  bool can_run(const Variant& variant, const OpShape& place) const {
    const std::vector<ops::OpSet> sets = ops::coverings(variant);
    return std::ranges::any_of(rows_, [&](const BenchRow& row) {
      const OpShape& shape = row.what.shape;
      return row.what.op == variant.op && by_itself(shape) == place &&
             std::ranges::find(sets, shape.covered) != sets.end() &&
             ops::unavailable_reason(variant, device_, precision_, &shape).empty();
    });
  }

  const ops::VariantTable& all_;
  const std::vector<BenchRow>& rows_;
  Precision precision_;
  const core::DeviceInfo& device_;
  std::map<Op, std::vector<OpShape>> places_;  ///< the shapes of each op, whatever its calls cover
};

using Winners = std::map<Op, Judge::Candidate>;

/// Chooses nothing where the planner by itself does no worse. What several ops were given together, `pairs`, is left to
/// it together.
void leave_to_planner(const Judge& judge, std::vector<std::set<Op>> pairs, Winners& best) {
  std::set<Op> paired;
  for (const std::set<Op>& pair : pairs) paired.insert(pair.begin(), pair.end());
  for (const auto& [op, candidate] : best) {
    if (!paired.contains(op)) pairs.push_back({op});
  }
  for (const std::set<Op>& ops : pairs) {
    double chosen = 0;
    double automatic = 0;
    Winners mixes;
    for (const Op op : ops) {
      mixes[op] = judge.automatic(op);
      chosen += best[op].total;
      automatic += mixes[op].total;
    }
    if (automatic > chosen) continue;
    for (const auto& [op, mix] : mixes) best[op] = mix;
  }
}

/// The best variant of each op that was timed, as far as one has to be chosen.
Winners winners(const Judge& judge) {
  Winners best;
  std::vector<std::set<Op>> pairs;
  for (const Op op : judge.timed_ops()) best[op] = judge.best_of(op);
  for (const auto& [operand, partners] : judge.partners()) {
    double together = 0;
    double apart = 0;
    Winners candidates;
    for (const Op op : partners) {
      if (!judge.has_cases(op)) continue;  // no part of the model
      candidates[op] = judge.best_of(op, operand.first, operand.second);
      together += candidates[op].total;
      const auto found = best.find(op);
      apart += found == best.end() ? 0 : found->second.total;
    }
    if (!(together < apart)) continue;
    pairs.emplace_back();
    for (auto& [op, candidate] : candidates) {
      best[op] = candidate;
      pairs.back().insert(op);
    }
  }
  std::erase_if(best, [](const auto& each) { return each.second.variant == nullptr; });
  leave_to_planner(judge, std::move(pairs), best);
  return best;
}

}  // namespace

std::optional<BenchRow> sum_of_single_ops(const std::vector<BenchRow>& rows,
                                          const std::vector<BenchRow>& group,
                                          const ops::VariantTable& variants) {
  if (group.empty() || group.front().what.shape.covered.empty()) return std::nullopt;
  const BenchRow& like = group.front();
  const auto variant = std::ranges::find_if(variants, [&](const Variant& each) {
    return each.op == like.what.op && each.name == like.variant && !each.chain.empty();
  });
  if (variant == variants.end()) return std::nullopt;
  BenchRow sum = like;
  sum.variant = kSingleOps;
  sum.sum = true;
  sum.library = false;
  sum.skipped.clear();
  sum.samples = std::numeric_limits<int>::max();
  sum.median = sum.p10 = sum.p90 = 0;
  sum.launches = 0;
  sum.workspace = 0;
  sum.resources = {};
  for (const ops::CoveredOp& each : covered_ops(*variant, like.what.shape)) {
    const BenchRow* best = best_by_itself(rows, each.op, each.shape, like.precision);
    if (best == nullptr) return std::nullopt;
    sum.samples = std::min(sum.samples, best->samples);
    sum.median += best->median;
    sum.p10 += best->p10;
    sum.p90 += best->p90;
    sum.launches += best->launches;
    sum.workspace = std::max(sum.workspace, best->workspace);
  }
  return sum;
}

plan::Selection fastest_of(const std::vector<BenchRow>& rows, Precision precision,
                           const plan::Machine& machine, plan::Selection otherwise) {
  const Judge judge(rows, precision, machine);
  const Winners best = winners(judge);
  ops::OpSet covered;
  for (const auto& [op, winner] : best) {
    for (const Op other : judge.timed_ops()) {
      if (winner.covers.has(other)) covered.add(other);
    }
  }
  for (const auto& [op, winner] : best) {
    otherwise.variants.erase(op);
    // What is chosen runs by itself, so that nothing would cover it.
    if (covered.has(op) || winner.variant == nullptr) continue;
    otherwise.variants[op] = winner.variant->name;
  }
  return otherwise;
}

}  // namespace warpscope::profiling
