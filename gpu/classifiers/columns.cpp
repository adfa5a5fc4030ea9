#include "gpu/classifiers/columns.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"

namespace warpscope::classifiers {
namespace {

constexpr auto kNone = std::numeric_limits<unsigned long long>::max();
constexpr std::int64_t kSlab = 256;  // columns that a thread sums at a time

void sum_slab(const FeatureMatrix& features, const double* centre, double* sums, double* squares,
              std::int64_t begin, std::int64_t end) {
  std::fill(sums + begin, sums + end, 0.0);
  std::fill(squares + begin, squares + end, 0.0);
  for (std::int64_t row = 0; row < features.rows; ++row) {
    const float* const x = features.values + row * features.columns;
    for (std::int64_t j = begin; j < end; ++j) {
      const double value = static_cast<double>(x[j]) - (centre == nullptr ? 0.0 : centre[j]);
      sums[j] += value;
      squares[j] += value * value;
    }
  }
}

unsigned long long find_not_finite(const Place& place, const FeatureMatrix& features) {
  if constexpr (core::kHaveCuda) {
    if (place.device->kind() == core::DeviceKind::cuda) {
      const core::Buffer found(place.device, sizeof kNone);
      find_not_finite_cuda(place, features, found.as<unsigned long long>());
      return core::download<unsigned long long>(*place.stream, found.data(), 1)[0];
    }
  }
  std::atomic<unsigned long long> first{kNone};
  core::parallel_for(features.rows, 64, 0, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t last = end * features.columns;
    for (std::int64_t i = begin * features.columns; i < last; ++i) {
      if (std::isfinite(features.values[i])) continue;
      unsigned long long known = first.load();
      const auto found = static_cast<unsigned long long>(i);
      while (found < known && !first.compare_exchange_weak(known, found)) {
      }
      return;
    }
  });
  return first;
}

}  // namespace

void sum_columns(const Place& place, const FeatureMatrix& features, const double* centre, double* sums,
                 double* squares) {
  if constexpr (core::kHaveCuda) {
    if (place.device->kind() == core::DeviceKind::cuda)
      return sum_columns_cuda(place, features, centre, sums, squares);
  }
  core::parallel_for(features.columns, kSlab, 0, [&](std::int64_t begin, std::int64_t end) {
    sum_slab(features, centre, sums, squares, begin, end);
  });
}

void check_finite(const Place& place, const FeatureMatrix& features, const char* what) {
  const unsigned long long first = find_not_finite(place, features);
  if (first == kNone) return;
  const float value = core::download<float>(*place.stream, features.values + first, 1)[0];
  const auto columns = static_cast<unsigned long long>(features.columns);
  throw core::BadInput(fmt::format("{} hold {} in row {}, column {} (both counted from 0)", what,
                                   std::isnan(value) ? "NaN" : "an infinity", first / columns,
                                   first % columns));
}

}  // namespace warpscope::classifiers
