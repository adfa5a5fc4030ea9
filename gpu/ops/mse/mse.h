#pragma once
// Mean squared error over all elements of a batch (as torch.nn.functional.mse_loss, reduction "mean").
//
//   forward   image_errors[n] = 1/(H W C) sum_{h,w,c} (y - t)^2;   loss = 1/N sum_n image_errors[n]
//   backward  dy = control.loss_scale * 2 (y - t) / (N H W C)
//
// y, t: (N,H,W,C). The PSNR of image n, for values in [0, 1], is -10 log10(image_errors[n]) dB. Sums are
// taken in a fixed order: the result is deterministic. OpShape: batch, height, width, in_channels.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::mse {

OpContract forward_contract();
OpContract backward_contract();

const OpTests& forward_tests();
const OpTests& backward_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::mse
