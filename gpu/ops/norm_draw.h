#pragma once
// Random operands of normalizations that fit each other (OpTests::fit, OpTests::smooth). Variants without far_means get
// none that lie off 0 and none whose values are all the same.

#include "gpu/ops/op_tests.h"

namespace warpscope::ops::norm_draw {

/// What has a mean and a deviation of its own.
enum class Over { channels_of_a_position, positions_of_a_channel };

/// The input of a forward op: of four draws one lies 1000 deviations off 0, and one has means whose values are
/// all the same.
void fit_input(const Draw& draw, Over over);

/// Input, output gradient and statistics of a backward op. The statistics are not those of the input: where
/// few values share them, its gradient is what is left of much larger numbers that cancel, and no error is
/// small beside it. Finite differences are taken with those of the input.
void fit_backward(const Draw& draw);

/// Reciprocal deviations of `statistics` from 0.5 to 2.
void fit_deviations(const Draw& draw);

/// Variances are not negative; input and mean lie near each other, off 0 in one draw of four; at the first position
/// beta points where the rest of y does, so that a single number does not cancel.
void fit_running(const Draw& draw);

/// Deviations that are many steps of finite differences, and gamma off 0, so that no gradient drowns in the rounding of
/// a difference.
void smooth(const Draw& draw);

}  // namespace warpscope::ops::norm_draw
