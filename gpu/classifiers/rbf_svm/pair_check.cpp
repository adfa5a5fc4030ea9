#include "gpu/classifiers/rbf_svm/pair_check.h"

#include <algorithm>
#include <limits>

#include "gpu/classifiers/rbf_svm/smo_step.h"

namespace warpscope::classifiers::rbf {

PairFacts facts_of(const PairValues& pair, std::span<const double> v) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  double rising = kNone;
  double falling = kNone;
  double free_sum = 0;
  PairFacts facts;
  for (std::size_t t = 0; t < v.size(); ++t) {
    const bool positive = t < pair.first;
    const double alpha = pair.alpha[t];
    const double bound = pair.bound(t);
    if (can_rise(positive, alpha, bound)) rising = std::max(rising, -v[t]);
    if (can_fall(positive, alpha, bound)) falling = std::max(falling, v[t]);
    facts.objective += 0.5 * alpha * (pair.y(t) * v[t] - 1.0);
    facts.support_vectors += alpha > 0.0 ? 1 : 0;
    facts.bounded += alpha >= bound ? 1 : 0;
    if (alpha > 0.0 && alpha < bound) free_sum += v[t];
  }
  facts.gap = std::max(0.0, rising + falling);
  const std::int64_t free = facts.support_vectors - facts.bounded;
  facts.rho = free > 0 ? free_sum / static_cast<double>(free) : 0.5 * (falling - rising);
  return facts;
}

}  // namespace warpscope::classifiers::rbf
