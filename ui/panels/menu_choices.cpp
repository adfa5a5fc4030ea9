#include "ui/panels/menu_choices.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/recipe.h"
#include "gpu/plan/chain_match.h"
#include "ui/panels/selection_text.h"

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

std::string precision_refusal(const plan::Machine& machine, core::Precision precision) {
  try {
    plan::check_precision(machine, precision);
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
                           const plan::Machine& machine) {
  if (!selection.variants.contains(row.op)) return running_text(row);
  const ops::Variant* variant = plan::automatic_variant(row.op, machine, selection.precision);
  return variant == nullptr ? std::string() : variant->name;
}

profiling::StepSetup step_setup(const training::Snapshot& snapshot) {
  return {snapshot.settings->batch, snapshot.settings->optimizer, snapshot.settings->augment};
}

models::Model step_model(const models::Model& model, const training::Snapshot& snapshot) {
  const bool head = snapshot.settings->optimizer.joint > 0 && snapshot.data != nullptr;
  return head ? models::with_head(model, static_cast<int>(snapshot.data->classes.size())) : model;
}

const profiling::Advice* advice_of(const jobs::LaboratoryState& laboratory, core::Precision precision) {
  const auto found =
      std::find_if(laboratory.advice.begin(), laboratory.advice.end(),
                   [&](const profiling::Advice& advice) { return advice.present.precision == precision; });
  return found == laboratory.advice.end() ? nullptr : &*found;
}

std::string advice_outdated(const profiling::Advice& advice, const training::Snapshot& snapshot) {
  const profiling::StepSetup now = step_setup(snapshot);
  if (snapshot.network && advice.model != step_model(*snapshot.network, snapshot))
    return "measured with another network";
  if (advice.setup.batch != now.batch) {
    return fmt::format("measured at batch {}, this is {}", advice.setup.batch, now.batch);
  }
  if (advice.setup.optimizer.rule != now.optimizer.rule) {
    return fmt::format("measured with {}, this is {}", ops::to_string(advice.setup.optimizer.rule),
                       ops::to_string(now.optimizer.rule));
  }
  const auto recipe = [](const profiling::StepSetup& setup) {
    return training::recipe_of(setup.optimizer, setup.augment, setup.part());
  };
  return recipe(advice.setup) == recipe(now) ? "" : "measured with other parts of a step";
}

std::string fastest_here_refusal(const jobs::LaboratoryState& laboratory,
                                 const training::Snapshot& snapshot) {
  if (laboratory.running == jobs::Job::bench) return "being measured: Laboratory, Bench";
  const profiling::Advice* advice = advice_of(laboratory, snapshot.selection.precision);
  if (advice == nullptr) return "measure first, in the tab Bench";
  const std::string outdated = advice_outdated(*advice, snapshot);
  if (!outdated.empty()) return outdated + ": measure again";
  if (!advice->failure.empty()) return "not compared: " + advice->failure;
  if (advice->contest.outcome == profiling::Outcome::disturbed) {
    return "the measurement was disturbed: measure again";
  }
  if (advice->faster()) return {};
  return fmt::format("nothing is faster than {}, {}", selection_word(advice->present, machine_of(snapshot)),
                     time_of_day(*advice));
}

std::string variant_tip(const ops::Variant& variant) {
  std::string tip = variant.summary;
  if (variant.library) tip = "library: " + tip;
  if (!variant.deterministic) tip += " Not deterministic: two runs differ in the last bits.";
  const ops::OpSet all = ops::coverable_ops(variant);
  if (!all.empty())
    tip += fmt::format("\nCovers {}, where they stand so and nobody else reads what is between.",
                       ops::describe(all));
  return tip;
}

}  // namespace warpscope::ui
