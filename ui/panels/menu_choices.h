#pragma once
// What the menus of the kernels table offer, and why something cannot be chosen. No drawing here.

#include <span>
#include <string>
#include <string_view>

#include "gpu/messages/snapshot.h"
#include "gpu/ops/variant.h"
#include "gpu/plan/selection.h"
#include "gpu/profiling/laboratory.h"
#include "ui/panels/kernel_rows.h"

namespace warpscope::ui {

/// Why `variant` cannot run every one of `layers` in `precision`, or "". What it covers, and which layers are left to
/// others because an op that it needs before its own is not there, is the planner's answer.
std::string variant_refusal(const ops::Variant& variant, const core::DeviceInfo& device,
                            core::Precision precision, std::span<const training::OpTiming* const> layers);

/// Why nothing can be trained in `precision` on `device`, or "".
std::string precision_refusal(const core::DeviceInfo& device, core::Precision precision);

/// `selection` with `name` for `op`; plan::kAutomatic takes the choice back.
plan::Selection with_variant(const plan::Selection& selection, ops::Op op, std::string_view name);

/// What runs `op` without a choice: as it is now if none is made ("hopper, with bias, relu", "in
/// conv2d.forward"), else the variant that runs if nothing stands in the way; "" if there is none.
std::string automatic_text(const KernelRow& row, const plan::Selection& selection,
                           const core::DeviceInfo& device);

/// Why the measured best of each op cannot be chosen at this batch size and precision, or "".
std::string fastest_here_refusal(const profiling::LaboratoryState& laboratory, core::Precision precision,
                                 int batch);

/// The measured best of each op, chosen where the automatic choice differs; ops that were not measured stay
/// as in `selection`.
plan::Selection fastest_here(const profiling::LaboratoryState& laboratory, const plan::Selection& selection,
                             const core::DeviceInfo& device);

/// The tool-tip of a variant in a menu: its summary, what it can cover, and what speaks against it.
std::string variant_tip(const ops::Variant& variant);

}  // namespace warpscope::ui
