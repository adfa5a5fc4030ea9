#pragma once
// One-hot characters: a channel for each of them. Of a byte b = round(255 x), for every channel c = 0 to C - 1
//
//   forward   y[n,h,w,c] = 1 if b[n,h,w] = c + 1, else 0
//
// Byte 0, which stands for what is not in the alphabet, and bytes above C have no channel. x is (N,H,W,1), y (N,H,W,C).
// There is no gradient: x is what batch.gather makes of the data, and the function is constant but for its steps.
// OpShape: batch, height, width, in_channels = 1, out_channels = C, at most 255.
// Source: X. Zhang, J. Zhao, Y. LeCun, "Character-level convolutional networks for text classification" (2015).

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::one_hot {

OpContract forward_contract();

const OpTests& forward_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::one_hot
