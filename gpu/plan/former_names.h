#pragma once
// Selections written by versions that had ops for a convolution with what lies around it ("block.forward",
// its variant `parts` for single layers) and variants that only stood for being covered
// ("conv2d.backward_bias=fused").

#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/plan/selection_items.h"

namespace warpscope::plan {

/// `items` in today's names, so that the same kernels run: block.forward=hopper is conv2d.forward=hopper, and
/// hides what was chosen for the single layers; block.forward=parts is the best variant of conv2d.forward
/// that stores what others read; placeholders are no choice. Such files name every op: what is automatic
/// today, and what a chosen variant covers, is no choice either.
std::vector<SelectionItem> without_former_names(std::vector<SelectionItem> items,
                                                const core::DeviceInfo& device, core::Precision precision);

/// What there is to tell of a selection with names of before ("block.forward is a variant of conv2d.forward
/// now"), or "".
std::string told_of_former_names(const std::string& selection);

}  // namespace warpscope::plan
