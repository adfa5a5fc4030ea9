#pragma once
// Random operands of the ops that update parameters and keep the books of a step: settings, gradients and
// sums that belong together (OpTests::fit).

#include "gpu/ops/op_tests.h"

namespace warpscope::ops::update_draw {

double uniform(Random& random, double low, double high);

bool one_in(Random& random, unsigned n);

/// Sets the optimizer's settings in `control`: decays in (0, 1), epsilon, weight decay (one in two, if
/// `decays`), micro-batches, an update count from 0 to 1000; one in eight is halted, one in eight has an
/// overflow.
void settings(const Draw& draw, bool decays = true);

/// As many micro-batches in each of the shards of the shape.
void divide_in_shards(const Draw& draw);

/// Gives the values of operand `to` the signs of those of operand `from`, again and again where there are more: what
/// is added does not cancel.
void point_alike(const Draw& draw, Name from, Name to);

/// One in eight losses among the metrics becomes NaN.
void sometimes_lose_the_loss(const Draw& draw);

void square(std::vector<double>& values);

}  // namespace warpscope::ops::update_draw
