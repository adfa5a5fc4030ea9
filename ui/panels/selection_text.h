#pragma once
// What a selection is, in a word and in full.

#include <string>

#include "gpu/core/device.h"
#include "gpu/plan/selection.h"

namespace warpscope::ui {

/// The preset that it is ("tensor cores"), "automatic" if nothing is chosen, a name that was given ("fastest here,
/// 14:02"), "mixed" otherwise.
std::string selection_word(const plan::Selection& selection, const plan::Machine& machine);

/// One line for each variant that is chosen, "implicit_gemm: conv2d.forward" or "loops: 48 operations", and what the
/// others are.
std::string selection_list(const plan::Selection& selection);

}  // namespace warpscope::ui
