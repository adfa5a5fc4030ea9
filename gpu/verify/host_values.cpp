#include "gpu/verify/host_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace warpscope::verify {

double relative_error(std::span<const double> out, std::span<const double> expected, double least_norm) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (out.size() != expected.size()) throw std::logic_error("vectors of different length cannot be compared");
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!std::isfinite(out[i])) return kInfinite;
    difference += (out[i] - expected[i]) * (out[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  if (difference == 0) return 0;
  const double divisor = std::max(std::sqrt(norm), least_norm);
  return divisor > 0 ? std::sqrt(difference) / divisor : kInfinite;
}

}  // namespace warpscope::verify
