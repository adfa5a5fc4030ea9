#pragma once
// What others ask the reference of cross_entropy.cpp.

#include <cstdint>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::cross_entropy {

/// What forward makes of each image, in double precision.
struct Judged {
  std::vector<double> losses;
  std::vector<std::uint8_t> predicted;
};

/// Judges logits (N, classes) in host memory by N labels.
Judged judge(std::vector<double> logits, int classes, std::vector<std::uint8_t> labels);

}  // namespace warpscope::ops::cross_entropy
