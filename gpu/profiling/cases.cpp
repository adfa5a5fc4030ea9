#include <algorithm>
#include <set>

#include "gpu/core/error.h"
#include "gpu/plan/cover.h"
#include "gpu/plan/program.h"
#include "gpu/profiling/bench.h"

namespace warpscope::profiling {
namespace {

constexpr std::int64_t kImages = 10000;  // of the data set that batches are gathered from
constexpr std::int64_t kRing = 4096;

/// The automatic selection, and for each name of a variant that covers other ops the one that chooses it
/// wherever it is.
std::vector<plan::Selection> covering_selections(const plan::Machine& machine, core::Precision precision) {
  std::vector<plan::Selection> selections{plan::Selection{precision, {}}};
  std::set<std::string> names;
  for (const ops::Variant& variant : machine.variants) {
    if (variant.chain.empty() || !ops::unavailable_reason(variant, machine.device, precision).empty())
      continue;
    names.insert(variant.name);
  }
  for (const std::string& name : names) {
    plan::Selection selection = selections.front();
    for (const ops::Variant& variant : machine.variants) {
      if (variant.chain.empty() || variant.name != name) continue;
      if (ops::unavailable_reason(variant, machine.device, precision).empty())
        selection.variants[variant.op] = name;
    }
    selections.push_back(std::move(selection));
  }
  return selections;
}

}  // namespace

std::vector<BenchCase> cases_of(const models::Model& model, int batch, core::Precision precision,
                                const plan::Machine& machine) {
  std::vector<BenchCase> cases;
  const auto add = [&](const plan::Node& node, const ops::OpShape& shape) {
    const bool known = std::ranges::any_of(cases, [&](const BenchCase& known_case) {
      return known_case.op == node.op && known_case.shape == shape;
    });
    if (!known) cases.push_back({node.op, node.layer, shape});
  };
  const auto lower = [&](plan::Purpose purpose) {
    return plan::lower(model, purpose, batch, kImages, kRing, precision);
  };
  const plan::Program training = lower(plan::Purpose::training);
  for (const plan::Node& node : training.nodes) add(node, node.shape);
  for (const plan::Node& node : lower(plan::Purpose::inference).nodes) {
    if (ops::contract(node.op).scope == ops::Scope::display) add(node, node.shape);  // the pictures
  }
  for (const plan::Selection& selection : covering_selections(machine, precision)) {
    try {
      const std::vector<plan::NodeCover> covers = plan::cover(training, selection, machine);
      for (std::size_t n = 0; n < covers.size(); ++n) {
        if (!covers[n].shape.covered.empty()) add(training.nodes[n], covers[n].shape);
      }
    } catch (const core::BadInput&) {
      // Not every variant takes every shape of the model; others cover the rest.
    }
  }
  std::ranges::stable_sort(cases, [](const BenchCase& a, const BenchCase& b) { return a.op < b.op; });
  return cases;
}

}  // namespace warpscope::profiling
