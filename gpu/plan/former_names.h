#pragma once
// What selections of before said with names that are no more (ops/former_ops.h): ops for a convolution with
// what lies around it ("block.forward"; its variant `parts` ran the layers one by one), and a variant that
// only stood for being covered ("conv2d.backward_bias=fused").

#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/plan/selection_items.h"

namespace warpscope::plan {

/// `items` in today's names, so that the same kernels run, whatever they are applied to: block.forward=hopper
/// is conv2d.forward=hopper, and takes back what is chosen for the single layers, which it hid; with
/// block.forward=parts conv2d.forward runs by the best variant that stores what others read, if none is named;
/// conv2d.backward_bias=fused is no choice. Such files name every op: what is automatic today, and what a
/// chosen variant covers, becomes "automatic".
std::vector<SelectionItem> without_former_names(std::vector<SelectionItem> items,
                                                const core::DeviceInfo& device, core::Precision precision);

/// What there is to tell of a selection with names of before ("the selection names wmma, which is called mma
/// now"), or "".
std::string told_of_former_names(const std::string& selection);

}  // namespace warpscope::plan
