#pragma once
// The formulas of mixed_cross_entropy.h for one image on the host. The exponentials of both labels stay out of the
// sum of the others, so that no difference of nearly equal numbers is taken. Real is float or double; the logits
// come by z(c).

#include <cmath>
#include <cstdint>

#include "gpu/ops/augment/mixup.h"

namespace warpscope::ops::mixed_cross_entropy {

template <class Real>
struct Peak {
  Real value;
  int place;     ///< the first of the largest
  bool any_nan;  ///< among all logits
};

template <class Real, class Logits>
Peak<Real> find_peak(Logits z, int classes) {
  Peak<Real> peak{z(0), 0, false};
  for (int c = 0; c < classes; ++c) {
    const Real value = z(c);
    peak.any_nan |= std::isnan(value);
    if (value > peak.value) {
      peak.value = value;
      peak.place = c;
    }
  }
  return peak;
}

template <class Real, class Logits>
Real mixed_loss(Logits z, int classes, int own, int next, const augment::Shares<Real>& shares,
                const Peak<Real>& peak) {
  Real others{0};
  for (int c = 0; c < classes; ++c) {
    if (c != peak.place) others += std::exp(z(c) - peak.value);
  }
  return std::log1p(others) + shares.own * (peak.value - z(own)) + shares.next * (peak.value - z(next));
}

/// Calls store(c, value) with scale times the gradient of each logit, which may lie in its memory.
template <class Real, class Logits, class Store>
void mixed_gradient(Logits z, int classes, int own, int next, const augment::Shares<Real>& shares, Real scale,
                    Store store) {
  const Real peak = find_peak<Real>(z, classes).value;
  Real others{0};  // than both labels
  for (int c = 0; c < classes; ++c) {
    if (c != own && c != next) others += std::exp(z(c) - peak);
  }
  const Real of_own = std::exp(z(own) - peak);
  const Real of_next = own == next ? Real{0} : std::exp(z(next) - peak);
  const Real factor = scale / (others + of_own + of_next);
  for (int c = 0; c < classes; ++c) {
    Real value = std::exp(z(c) - peak);
    if (own == next) {
      if (c == own) value = -others;
    } else if (c == own) {
      value = shares.next * of_own - shares.own * (others + of_next);
    } else if (c == next) {
      value = shares.own * of_next - shares.next * (others + of_own);
    }
    store(c, factor * value);
  }
}

}  // namespace warpscope::ops::mixed_cross_entropy
