#pragma once
// What the files of conv2d share; conv2d.cpp has the mathematics.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

/// Variant::refuses of the variants that take only plain convolutions.
std::string refuses_unless_plain(const OpShape& shape);

/// Variant::yields_to of variants whose call covers no other layer: what saves more in another's call than their
/// products do. Upsampling, after which four of nine products are left, and characters, of which rows of weights are
/// added; pooling, which is a pass of its own beside them, only where an output is a sum of fewer than `worth_a_pass`
/// products. The same for all three ops of a layer: what pooling keeps is laid out as their calls agree.
OpSet better_covered(const OpShape& shape, std::int64_t worth_a_pass);

}  // namespace warpscope::ops::conv2d
