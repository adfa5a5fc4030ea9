#pragma once
// What a selection is, in a word and in full.

#include <string>

#include "gpu/core/device.h"
#include "gpu/plan/selection.h"

namespace warpscope::ui {

/// The preset that it is ("tensor cores"), "default" if it is none but the default, "mixed" otherwise.
std::string selection_word(const plan::Selection& selection, const core::DeviceInfo& device);

/// One line for each op: "conv2d.forward: implicit_gemm".
std::string selection_list(const plan::Selection& selection);

}  // namespace warpscope::ui
