#pragma once
// What the files of embedding share; embedding.cpp has the mathematics.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::embedding {

/// Elements of the table.
std::int64_t table(const OpShape& shape);

}  // namespace warpscope::ops::embedding
