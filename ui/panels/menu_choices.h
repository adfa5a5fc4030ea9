#pragma once
// What the menus of the kernels table offer, and why something cannot be chosen. No drawing here.

#include <span>
#include <string>
#include <string_view>

#include "gpu/jobs/laboratory.h"
#include "gpu/messages/snapshot.h"
#include "gpu/ops/variant.h"
#include "gpu/plan/selection.h"
#include "gpu/profiling/contest.h"
#include "gpu/profiling/step_memory.h"
#include "ui/panels/kernels/kernel_cells.h"

namespace warpscope::ui {

/// Why `variant` cannot run every one of `layers` in `precision`, or "". What it covers, and which layers are left to
/// others because an op that it needs before its own is not there, is the planner's answer.
std::string variant_refusal(const ops::Variant& variant, const core::DeviceInfo& device,
                            core::Precision precision, std::span<const training::OpTiming* const> layers);

/// Why nothing can be trained in `precision` on `machine`, or "".
std::string precision_refusal(const plan::Machine& machine, core::Precision precision);

/// `selection` with `name` for `op`; plan::kAutomatic takes the choice back.
plan::Selection with_variant(const plan::Selection& selection, ops::Op op, std::string_view name);

/// What runs `op` without a choice: as it is now if none is made ("hopper, with bias, relu", "in
/// conv2d.forward"), else the variant that runs if nothing stands in the way; "" if there is none.
std::string automatic_text(const KernelRow& row, const plan::Selection& selection,
                           const plan::Machine& machine);

/// What a step of this training does, for those who time it.
profiling::StepSetup step_setup(const training::Snapshot& snapshot);
/// `model` with the head that the training has, if it has one.
models::Model step_model(const models::Model& model, const training::Snapshot& snapshot);

/// What the last bench says of whole steps in `precision`, or nullptr.
const profiling::Advice* advice_of(const jobs::LaboratoryState& laboratory, core::Precision precision);

/// What `advice` was measured with that this training does not have ("measured at batch 8, this is 64"), or "".
std::string advice_outdated(const profiling::Advice& advice, const training::Snapshot& snapshot);

/// Why there is nothing that whole steps of this training found to be faster, or "".
std::string fastest_here_refusal(const jobs::LaboratoryState& laboratory, const training::Snapshot& snapshot);

/// The tool-tip of a variant in a menu: its summary, what it can cover, and what speaks against it.
std::string variant_tip(const ops::Variant& variant);

}  // namespace warpscope::ui
