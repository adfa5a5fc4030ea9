#pragma once
// Which variants are best by the rows of a bench.

#include <optional>
#include <span>
#include <vector>

#include "gpu/ops/variant.h"
#include "gpu/profiling/bench.h"

namespace warpscope::profiling {

/// Beside `group`, the rows of one case that covers several ops: what the best variants of these ops take one
/// after the other by `rows`. Spreads are added as if they came together. Nothing if the case covers one op
/// alone or one was not timed.
std::optional<BenchRow> sum_of_single_ops(const std::vector<BenchRow>& rows,
                                          const std::vector<BenchRow>& group,
                                          const ops::VariantTable& variants);

}  // namespace warpscope::profiling
