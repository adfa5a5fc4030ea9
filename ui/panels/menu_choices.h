#pragma once
// What the menus of the kernels table offer, and why something cannot be chosen. No drawing here.

#include <span>
#include <string>

#include "gpu/messages/snapshot.h"
#include "gpu/ops/variant.h"
#include "gpu/plan/selection.h"
#include "gpu/profiling/laboratory.h"

namespace warpscope::ui {

/// Why `variant` cannot run every one of `layers` in the precision of `selection` beside its other variants, or "". A
/// placeholder needs an op whose variant absorbs it: "needs conv2d.backward_weights = mma".
std::string variant_refusal(const ops::Variant& variant, const core::DeviceInfo& device,
                            const plan::Selection& selection,
                            std::span<const training::OpTiming* const> layers);

/// `selection` with `name` for `op`. A placeholder that nothing absorbs any more becomes its op's default variant. Where
/// blocks run, a layer's op that they contain ends them.
plan::Selection with_variant(const plan::Selection& selection, ops::Op op, const std::string& name,
                             const core::DeviceInfo& device, bool blocks_run);

/// Whether any of the launches is a block's: networks without convolutions have none, whatever is selected.
bool blocks_run(std::span<const training::OpTiming> timings);

/// Whether a choice of `op` ends the blocks: for the tool-tip.
bool ends_blocks(const plan::Selection& selection, ops::Op op, core::DeviceKind device, bool blocks_run);

/// Why the measured best of each op cannot be chosen at this batch size and precision, or "".
std::string fastest_here_refusal(const profiling::LaboratoryState& laboratory, core::Precision precision,
                                 int batch);

/// The measured best of each op; ops that were not measured stay as in `selection`.
plan::Selection fastest_here(const profiling::LaboratoryState& laboratory, const plan::Selection& selection,
                             const core::DeviceInfo& device);

/// The tool-tip of a variant in a menu.
std::string variant_tip(const ops::Variant& variant, bool ends_blocks = false);

}  // namespace warpscope::ui
