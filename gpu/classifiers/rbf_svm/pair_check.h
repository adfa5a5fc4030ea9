#pragma once
// What can be said of a pair's alphas, in double.

#include <cstdint>
#include <span>

namespace warpscope::classifiers::rbf {

/// One pair as plain numbers: alpha of `first` rows of the first class (y = 1), then of the rows of the second.
struct PairValues {
  std::span<const double> alpha;
  std::size_t first = 0;
  double first_bound = 0;
  double second_bound = 0;

  double y(std::size_t t) const { return t < first ? 1.0 : -1.0; }
  double bound(std::size_t t) const { return t < first ? first_bound : second_bound; }
};

struct PairFacts {
  double gap = 0;        ///< of the KKT conditions, not below 0
  double objective = 0;  ///< of the dual
  double rho = 0;        ///< as LIBSVM finds it
  std::int64_t support_vectors = 0;
  std::int64_t bounded = 0;
};

/// What follows from v_t = sum_s y_s alpha_s K_ts - y_t (smo_step.h).
PairFacts facts_of(const PairValues& pair, std::span<const double> v);

}  // namespace warpscope::classifiers::rbf
