#include "gpu/classifiers/head/take_rows.h"

#include <algorithm>

namespace warpscope::classifiers::head {

void take_rows(const Place& place, const FeatureMatrix& features, const std::uint32_t* order,
               std::int64_t count, float* to) {
  if constexpr (core::kHaveCuda) {
    if (place.device->kind() == core::DeviceKind::cuda)
      return take_rows_cuda(place, features, order, count, to);
  }
  for (std::int64_t n = 0; n < count; ++n) {
    std::copy_n(features.values + std::int64_t{order[n]} * features.columns, features.columns,
                to + n * features.columns);
  }
}

}  // namespace warpscope::classifiers::head
