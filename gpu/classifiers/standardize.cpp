#include "gpu/classifiers/standardize.h"

#include <cmath>

#include <fmt/format.h>

#include "gpu/classifiers/columns.h"
#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/files/file.h"

namespace warpscope::classifiers {
namespace {

void standardize_loops(const double* means, const double* factors, const FeatureMatrix& features, float* to) {
  core::parallel_for(features.rows, 64, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* const x = features.values + row * features.columns;
      float* const result = to + row * features.columns;
      for (int j = 0; j < features.columns; ++j) {
        result[j] = static_cast<float>((static_cast<double>(x[j]) - means[j]) * factors[j]);
      }
    }
  });
}

}  // namespace

std::string Standardization::remark() const {
  if (constant_columns == 0) return "";
  return fmt::format("{} of {} {} the same in all training rows and became 0", constant_columns,
                     files::counted(static_cast<std::int64_t>(means.size()), "column"),
                     constant_columns == 1 ? "is" : "are");
}

Standardization find_standardization(const Place& place, const FeatureMatrix& training) {
  if (training.rows < 1 || training.columns < 1) throw core::BadInput("there are no rows to standardise by");
  check_finite(place, training, "the training rows");
  const auto columns = static_cast<std::size_t>(training.columns);
  const std::size_t bytes = columns * sizeof(double);
  const core::Buffer sums(place.device, bytes), squares(place.device, bytes);
  Standardization found;
  sum_columns(place, training, nullptr, sums.as<double>(), squares.as<double>());
  found.means = core::download<double>(*place.stream, sums.data(), columns);
  const auto rows = static_cast<double>(training.rows);
  for (double& mean : found.means) mean /= rows;
  const core::Buffer means = core::upload(place.device, *place.stream, found.means);
  sum_columns(place, training, means.as<double>(), sums.as<double>(), squares.as<double>());
  // What rounding left of the sums about the means.
  const auto rest = core::download<double>(*place.stream, sums.data(), columns);
  found.deviations = core::download<double>(*place.stream, squares.data(), columns);
  for (std::size_t j = 0; j < columns; ++j) {
    const double variance = (found.deviations[j] - rest[j] * rest[j] / rows) / rows;
    // A sum of n equal numbers is rounded n times: what is below that is no deviation.
    const double noise = 1e-15 * rows * std::abs(found.means[j]);
    const bool constant = !(variance > noise * noise);
    found.deviations[j] = constant ? 0.0 : std::sqrt(variance);
    found.constant_columns += constant ? 1 : 0;
  }
  return found;
}

void standardize(const Place& place, const Standardization& by, const FeatureMatrix& features, float* to) {
  if (by.means.size() != static_cast<std::size_t>(features.columns)) {
    throw core::BadInput(fmt::format("there are means and deviations of {} columns for features of {}",
                                     by.means.size(), features.columns));
  }
  std::vector<double> factors(by.deviations);
  for (double& factor : factors) factor = factor > 0 ? 1 / factor : 0;
  if constexpr (core::kHaveCuda) {
    if (place.device->kind() == core::DeviceKind::cuda) {
      const core::Buffer device_means = core::upload(place.device, *place.stream, by.means);
      const core::Buffer device_factors = core::upload(place.device, *place.stream, factors);
      standardize_cuda(place, device_means.as<double>(), device_factors.as<double>(), features, to);
      return place.stream->synchronize();
    }
  }
  standardize_loops(by.means.data(), factors.data(), features, to);
}

}  // namespace warpscope::classifiers
