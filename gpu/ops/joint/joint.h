#pragma once
// joint.weigh: what a head on the latents adds to the objective of a network that reconstructs,
//
//   objective = mse + L cross_entropy,   L = control.joint,
//
// so the gradient of the head's logits is multiplied by L, which the device reads: another L needs no other graph.
//
//   dz[n,c] = control.joint dy[n,c]
//   loss = head_loss if head_loss is not finite, else as it was
//
// The second line stops updates (step::skips_update) after a cross-entropy that is no number, as after such an
// error. May run in place of dy. dy holds the loss scale already. OpShape: batch, in_channels (classes).

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::joint {

OpContract weigh_contract();

const OpTests& weigh_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::joint
