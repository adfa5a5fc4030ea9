#include "ui/panels/menu_choices.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/plan/chain_match.h"
#include "gpu/profiling/bench.h"

namespace warpscope::ui {

std::string variant_refusal(const ops::Variant& variant, const core::DeviceInfo& device,
                            core::Precision precision, std::span<const training::OpTiming* const> layers) {
  std::string everywhere = ops::unavailable_reason(variant, device, precision);
  // Layers without the op that it needs before its own run by another.
  if (!everywhere.empty() || !plan::required_before(variant).empty()) return everywhere;
  for (const training::OpTiming* layer : layers) {
    const ops::OpShape shape = ops::by_itself(layer->shape);
    std::string reason = ops::unavailable_reason(variant, device, precision, &shape);
    if (!reason.empty()) return reason;
  }
  return {};
}

std::string precision_refusal(const core::DeviceInfo& device, core::Precision precision) {
  try {
    plan::check_precision(device, precision);
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return {};
}

plan::Selection with_variant(const plan::Selection& selection, ops::Op op, std::string_view name) {
  plan::Selection changed = selection;
  if (name == plan::kAutomatic) {
    changed.variants.erase(op);
  } else {
    changed.variants[op] = name;
  }
  return changed;
}

std::string automatic_text(const KernelRow& row, const plan::Selection& selection,
                           const core::DeviceInfo& device) {
  if (!selection.variants.contains(row.op)) return running_text(row);
  const ops::Variant* variant = plan::automatic_variant(row.op, device, selection.precision);
  return variant == nullptr ? std::string() : variant->name;
}

std::string fastest_here_refusal(const profiling::LaboratoryState& laboratory, core::Precision precision,
                                 int batch) {
  if (laboratory.running == profiling::Job::bench) return "being measured: Laboratory, Bench";
  const bool measured = std::any_of(laboratory.bench.begin(), laboratory.bench.end(), [&](const auto& row) {
    return row.precision == precision && row.skipped.empty() && row.samples > 0;
  });
  if (!measured) return "measure first: Laboratory, Bench";
  if (laboratory.bench_batch != batch) {
    return fmt::format("measured at batch {}, this is {}: measure again", laboratory.bench_batch, batch);
  }
  return {};
}

plan::Selection fastest_here(const profiling::LaboratoryState& laboratory, const plan::Selection& selection,
                             const core::DeviceInfo& device) {
  return profiling::fastest_of(laboratory.bench, selection.precision, device, selection);
}

std::string variant_tip(const ops::Variant& variant) {
  std::string tip = variant.summary;
  if (variant.library) tip = "library: " + tip;
  if (!variant.deterministic) tip += " Not deterministic: two runs differ in the last bits.";
  const ops::OpSet most = ops::coverings(variant).back();
  if (!most.empty())
    tip += fmt::format("\nCovers {}, where they stand so and nobody else reads what is between.",
                       ops::describe(most));
  return tip;
}

}  // namespace warpscope::ui
