#pragma once
// What a selection is, in a word, and how it goes over to another precision.

#include <string>

#include "gpu/core/device.h"
#include "gpu/plan/selection.h"

namespace warpscope::ui {

/// "fastest" if every op uses its last variant, a variant's name if all that differ from the fastest use it
/// ("naive"), "mixed" otherwise.
std::string selection_word(const plan::Selection& selection, const core::DeviceInfo& device);

/// One line for each op: "conv2d.forward: implicit_gemm".
std::string selection_list(const plan::Selection& selection);

/// `selection` in `precision`: variants that run in it stay, the others become the fastest that does. Where
/// no variant does, the old one stays, so that the trainer can say what is missing.
plan::Selection with_precision(const plan::Selection& selection, const core::DeviceInfo& device,
                               core::Precision precision);

}  // namespace warpscope::ui
