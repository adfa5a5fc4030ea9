#include "gpu/verify/verify.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/file.h"
#include "gpu/plan/selection.h"
#include "gpu/verify/finite_differences.h"
#include "gpu/verify/network_check.h"
#include "gpu/verify/op_shapes.h"
#include "gpu/verify/reference_cases.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Op;
using ops::Variant;

/// What takes less memory.
constexpr std::string_view kLess = "check fewer operations at a time";

/// A row to be filled: a variant in a precision, a selection of a network, or finite differences (no
/// variant).
struct Job {
  VerifyRow row;
  const Variant* variant = nullptr;
  std::vector<ops::OpShape> calls = {};  ///< of the variant
};

bool contains(const std::vector<Op>& ops, Op op) {
  return ops.empty() || std::ranges::find(ops, op) != ops.end();
}

/// The jobs of one variant: one for each of its precisions that is wanted, one that says why where there is
/// none.
void add_variant(const Variant& variant, const core::DeviceInfo& device,
                 const std::vector<Precision>& precisions, std::vector<Job>& jobs) {
  Job job;
  job.row.op = variant.op;
  job.row.variant = variant.name;
  job.row.declared_deterministic = variant.deterministic;
  job.variant = &variant;
  bool any = false;
  for (const Precision precision : precisions) {
    const auto has = precisions_of(variant);
    if (std::ranges::find(has, precision) == has.end()) continue;
    any = true;
    job.row.precision = precision;
    job.row.skipped = unavailable_reason(variant, device, precision);
    jobs.push_back(job);
  }
  if (any) return;
  job.row.precision = precisions.front();
  job.row.skipped = unavailable_reason(variant, device, precisions.front());
  jobs.push_back(job);
}

std::vector<Job> jobs_of(Op op, const plan::Machine& machine, const VerifyOptions& options) {
  std::vector<Job> jobs;
  if (!contains(options.ops, op)) return jobs;
  const auto differentiated = differentiated_ops();
  const bool has_differences = std::ranges::find(differentiated, op) != differentiated.end();
  if (has_differences && std::string_view(kFiniteDifferences).find(options.only) != std::string_view::npos) {
    Job job;
    job.row.op = op;
    job.row.variant = kFiniteDifferences;
    job.row.precision = Precision::fp64;
    jobs.push_back(job);
  }
  for (const Variant* variant : ops::variants_of(machine.variants, op, machine.device.kind)) {
    if (variant->name.find(options.only) == std::string::npos) continue;
    if (variant->library && !options.libraries) continue;
    add_variant(*variant, machine.device, core::or_selectable(options.precisions), jobs);
  }
  return jobs;
}

std::string tolerance_text(Precision precision, std::int64_t terms) {
  return fmt::format("4u√n + 2{}, n = {}", precision == Precision::fp32 ? "u" : "v", terms);
}

void take(VerifyRow& row, const Check& check) {
  row.worst_error = check.worst_error;
  row.tolerance = check.tolerance;
  row.terms = check.terms;
  row.same_bits = check.same_bits;
  row.workspace = check.workspace;
}

/// Notes the set of ops that a call covered, if it is larger than those before it.
void note_covered(VerifyRow& row, const ops::OpSet& covered, std::vector<ops::OpSet>& sets) {
  if (std::ranges::find(sets, covered) != sets.end()) return;
  const bool largest =
      std::ranges::all_of(sets, [&](const ops::OpSet& set) { return set.size() < covered.size(); });
  sets.push_back(covered);
  if (largest) row.covers = describe(covered);
  row.sets = static_cast<int>(sets.size());
}

/// All calls of one variant in one precision.
void check_calls(Job& job, const ops::Context& context, ReferenceCases& cases) {
  VerifyRow& row = job.row;
  const Variant& variant = *job.variant;
  Check all;
  int failed = 0;
  std::vector<ops::OpSet> sets;
  for (const ops::OpShape& call : job.calls) {
    if (!unavailable_reason(variant, context.device->info(), row.precision, &call).empty()) {
      ++row.refused;
      continue;
    }
    Check check;
    try {
      check = check_case(variant, context, row.precision, cases.get(variant, call, row.precision));
    } catch (const std::exception& error) {
      check.failure = fmt::format("{} on {}: {}", describe(row), describe(variant.op, call),
                                  core::sentence_of(error, kLess));
    }
    if (!variant.chain.empty()) note_covered(row, call.covered, sets);
    check.failure.empty() ? ++row.checked : ++failed;
    all = worse(all, check);
  }
  take(row, all);
  row.derivation = tolerance_text(row.precision, row.terms);
  row.failure = all.failure;
  if (failed > 1) row.failure += fmt::format(" (and {})", files::counted(failed - 1, "more call"));
  if (row.checked + failed == 0) row.failure = fmt::format("{} refuses every shape", describe(row));
}

void check_differences(VerifyRow& row, std::uint64_t seed) {
  row.tolerance = kDifferenceTolerance;
  row.derivation = "rounding of sums over the step";
  try {
    row.worst_error = difference_error(row.op, seed);
    if (row.worst_error <= row.tolerance) {
      row.checked = 1;
      return;
    }
    row.failure = fmt::format("{}: the reference is off by {:.3g}, more than {:.3g}", describe(row),
                              row.worst_error, row.tolerance);
  } catch (const std::exception& error) {
    row.failure = fmt::format("{}: {}", describe(row), core::sentence_of(error, kLess));
  }
}

/// Every op that has a variant called `name` which runs in `precision` by that; the others by what is
/// automatic.
plan::Selection selection_of(const std::string& name, const plan::Machine& machine, Precision precision) {
  plan::Selection selection{precision, {}};
  for (const ops::OpContract& contract : ops::contracts()) {
    const Variant* variant = ops::find_variant(machine.variants, contract.op, machine.device.kind, name);
    if (variant != nullptr && unavailable_reason(*variant, machine.device, precision).empty()) {
      selection.variants[contract.op] = name;
    }
  }
  return selection;
}

/// Whether an op runs by a library's variant, chosen or automatic.
bool uses_library(const plan::Selection& selection, const plan::Machine& machine) {
  return std::any_of(ops::contracts().begin(), ops::contracts().end(), [&](const ops::OpContract& contract) {
    const auto chosen = selection.variants.find(contract.op);
    const Variant* variant =
        chosen == selection.variants.end()
            ? plan::automatic_variant(contract.op, machine, selection.precision)
            : ops::find_variant(machine.variants, contract.op, machine.device.kind, chosen->second);
    return variant != nullptr && variant->library;
  });
}

struct NetworkJob {
  VerifyRow row;
  plan::Selection selection;
};

/// What is automatic, and one selection for each variant name that makes a difference, in each precision.
std::vector<NetworkJob> network_jobs(const plan::Machine& machine, const VerifyOptions& options) {
  std::vector<NetworkJob> jobs;
  if (!options.ops.empty()) return jobs;
  std::vector<std::string> names = plan::variant_names(machine);
  names.insert(names.begin(), std::string(plan::kAutomatic));
  for (const Precision precision : core::or_selectable(options.precisions)) {
    std::vector<plan::Selection> seen;
    for (const std::string& name : names) {
      NetworkJob job;
      job.selection = selection_of(name, machine, precision);
      if (std::ranges::find(seen, job.selection) != seen.end()) continue;
      seen.push_back(job.selection);
      if (name.find(options.only) == std::string::npos) continue;
      job.row.network = true;
      job.row.variant = name;
      job.row.precision = precision;
      if (options.libraries || !uses_library(job.selection, machine)) jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

void check_selection(NetworkJob& job, const std::vector<NetworkCase>& networks, const ops::Context& context) {
  VerifyRow& row = job.row;
  try {
    Check worst;
    for (const NetworkCase& network : networks) {
      const NetworkCheck check = check_network(network, context, job.selection);
      row.declared_deterministic = row.declared_deterministic && check.declared_deterministic;
      const bool same_bits = worst.same_bits && check.same_bits;
      if (check.worst_error * worst.tolerance >= worst.worst_error * check.tolerance) {
        worst = check;
        row.derivation =
            fmt::format("√{} (4u√n + 2v) + √{:.2g}, n = {}", network.path, network.corners, network.terms);
      }
      worst.same_bits = same_bits;
      if (!check.failure.empty()) row.failure = fmt::format("{}: {}", describe(row), check.failure);
      if (check.failure.empty()) ++row.checked;
    }
    take(row, worst);
    if (row.failure.empty() && row.declared_deterministic && !row.same_bits) {
      row.failure = fmt::format("{}: gave other bits the second time", describe(row));
    }
    if (!row.failure.empty()) row.checked = 0;
  } catch (const core::BadInput& error) {
    row.skipped = error.what();
  } catch (const std::exception& error) {
    row.failure = fmt::format("{}: {}", describe(row), core::sentence_of(error, kLess));
  }
}

/// The run of verify(): what was done, and whether to go on.
struct Run {
  const ops::Context& context;
  const VerifyOptions& options;
  const Progress& progress;
  const RowSink& sink;
  int total = 0;
  bool cancelled = false;
  std::vector<VerifyRow> rows = {};

  bool go_on(const std::string& text) {
    if (!cancelled && progress) cancelled = !progress(static_cast<int>(rows.size()), total, text);
    return !cancelled;
  }
  void finish(const VerifyRow& row) {
    rows.push_back(row);
    if (sink) sink(row);
  }

  void check_op(Op op, std::vector<Job>& jobs) {
    auto shapes = shapes_of(op);
    const auto random = random_shapes_of(op, options.shapes, options.seed, options.flops);
    shapes.insert(shapes.end(), random.begin(), random.end());
    const bool cuda = context.device->kind() == core::DeviceKind::cuda;
    const auto large = cuda ? large_shapes_of(op) : std::vector<ops::OpShape>();
    ReferenceCases cases(op, options.seed);
    for (Job& job : jobs) {
      if (job.variant == nullptr || !job.row.skipped.empty()) continue;
      job.calls = calls_of(*job.variant, shapes, large);
      want(job, cases);
    }
    cases.make([&] { return go_on(fmt::format("{}: results of the reference", ops::to_string(op))); });
    for (Job& job : jobs) {
      if (!go_on(describe(job.row))) return;
      if (job.row.skipped.empty()) {
        job.variant == nullptr ? check_differences(job.row, options.seed) : check_calls(job, context, cases);
      }
      finish(job.row);
    }
  }

  void want(const Job& job, ReferenceCases& cases) const {
    for (const ops::OpShape& call : job.calls) {
      if (!unavailable_reason(*job.variant, context.device->info(), job.row.precision, &call).empty())
        continue;
      cases.want(*job.variant, call, job.row.precision);
    }
  }

  void check_networks(std::vector<NetworkJob>& jobs) {
    std::vector<NetworkCase> networks;
    std::optional<Precision> made_for;
    for (NetworkJob& job : jobs) {
      if (!go_on(describe(job.row))) return;
      if (made_for != job.row.precision) {
        networks.clear();
        for (const models::Model& model : {small_network(), small_classifier(), small_joint_network(),
                                           small_text_network(models::LayerKind::one_hot),
                                           small_text_network(models::LayerKind::embedding)}) {
          networks.push_back(make_network_case(job.row.precision, options.seed, model));
        }
        made_for = job.row.precision;
      }
      check_selection(job, networks, context);
      finish(job.row);
    }
  }
};

}  // namespace

std::string describe(const VerifyRow& row) {
  return fmt::format("{} {} {}", row.network ? "network gradients" : ops::to_string(row.op), row.variant,
                     core::to_string(row.precision));
}

std::string variant_text(const VerifyRow& row) {
  if (row.covers.empty()) return row.variant;
  return fmt::format("{}; with {} ({})", row.variant, row.covers, files::counted(row.sets, "set"));
}

std::vector<VerifyRow> verify(const ops::Context& context, const VerifyOptions& options,
                              const Progress& progress, const RowSink& sink) {
  Run run{context, options, progress, sink};
  std::vector<std::pair<Op, std::vector<Job>>> by_op;
  for (const ops::OpContract& contract : ops::contracts()) {
    by_op.emplace_back(contract.op, jobs_of(contract.op, context, options));
    run.total += static_cast<int>(by_op.back().second.size());
  }
  std::vector<NetworkJob> networks = network_jobs(context, options);
  run.total += static_cast<int>(networks.size());
  for (auto& [op, jobs] : by_op) {
    if (!run.cancelled && !jobs.empty()) run.check_op(op, jobs);
  }
  if (!run.cancelled) run.check_networks(networks);
  return std::move(run.rows);
}

}  // namespace warpscope::verify
