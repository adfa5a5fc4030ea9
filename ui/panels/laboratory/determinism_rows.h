#pragma once
// A determinism report in words. No drawing here.

#include <string>

#include "gpu/messages/determinism.h"

namespace warpscope::ui {

/// How many of its tensors differ in some bits.
int tensors_that_differ(const training::DeterminismReport& report);

/// "all bits equal in 31 tensors"; "3 of 31 tensors differ, first conv2.weight.gradient of
/// conv2d.backward_weights atomic".
std::string determinism_summary(const training::DeterminismReport& report);

/// The part of its elements that differ: "0.42 %", "<0.01 %", "0" if none does.
std::string part_text(const training::TensorDifference& difference);

}  // namespace warpscope::ui
