#pragma once
// The CUDA half of take_rows.h.

#include "gpu/classifiers/head/take_rows.h"

namespace warpscope::classifiers::head {

void take_rows_cuda(const Place& place, const FeatureMatrix& features, const std::uint32_t* order,
                    std::int64_t count, float* to);

}  // namespace warpscope::classifiers::head
