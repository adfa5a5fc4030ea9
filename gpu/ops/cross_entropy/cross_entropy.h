#pragma once
// Softmax cross-entropy of a batch of logits (as torch.nn.functional.cross_entropy, reduction "mean").
//
//   forward   image_losses[n] = log(sum_c exp(z[n,c] - max_c z[n,c])) + max_c z[n,c] - z[n,label[n]]
//             predicted[n] = the first c with the largest z[n,c] (0 if a logit of image n is NaN)
//             loss = 1/N sum_n image_losses[n];   accuracy = 1/N |{n : predicted[n] = label[n]}|
//   backward  dz[n,c] = control.loss_scale (softmax(z[n])[c] - [c = label[n]]) / N
//
// z: (N, C), C = OpShape::in_channels from 1 to 256; label and predicted: one byte an image. Labels are below
// C. Sums are taken in FP32 in a fixed order: the result is deterministic. OpShape: batch, in_channels.

#include <cstdint>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::cross_entropy {

OpContract forward_contract();
OpContract backward_contract();

const OpTests& forward_tests();
const OpTests& backward_tests();

std::vector<Variant> variants();

/// What forward makes of each image, in double precision.
struct Judged {
  std::vector<double> losses;
  std::vector<std::uint8_t> predicted;
};

/// Of logits (N, classes) in host memory and N labels.
Judged judge(std::vector<double> logits, int classes, std::vector<std::uint8_t> labels);

}  // namespace warpscope::ops::cross_entropy
