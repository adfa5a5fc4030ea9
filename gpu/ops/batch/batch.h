#pragma once
// batch.gather: picks the images of the next batch from the data set in device memory and scales them to [0,
// 1].
//
//   x[n,h,w,c] = images[order[(position + n) mod count], h, w, c] / 255,   position from the device's
//   StepControl
//
// images: (count,H,W,C) bytes; order: count positions; x: (N,H,W,C). OpShape: batch, height, width,
// in_channels, count.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::batch {

OpContract gather_contract();

const OpTests& gather_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::batch
