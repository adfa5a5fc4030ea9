#pragma once
// Softmax cross-entropy of a batch whose images are mixed (batch.augment, augment/mixup.h): that of both labels,
// each by its share.
//
//   forward   image_losses[n] = S CE(z[n], label[n]) + (1 - S) CE(z[n], label[m]),   m = (n + 1) mod N
//             CE(z, y) = log(sum_c exp(z[c] - max_c z[c])) + max_c z[c] - z[y]
//             predicted[n] = the first c with the largest z[n,c] (0 if a logit of image n is NaN)
//             loss = 1/N sum_n image_losses[n];   accuracy = 1/N |{n : predicted[n] = the label of the larger share}|
//   backward  dz[n,c] = control.loss_scale (softmax(z[n])[c] - S [c = label[n]] - (1 - S) [c = label[m]]) / N
//
// S is the share that control draws for the batch, 1 where control.mixup is 0. z: (N, C), C = OpShape::in_channels
// from 1 to 256; label and predicted: one byte an image. Labels are below C. Sums are taken in FP32 in a fixed
// order: the result is deterministic. OpShape: batch, in_channels. Source: H. Zhang et al., "mixup: beyond empirical
// risk minimization" (2018).

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::mixed_cross_entropy {

OpContract forward_contract();
OpContract backward_contract();

const OpTests& forward_tests();
const OpTests& backward_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::mixed_cross_entropy
