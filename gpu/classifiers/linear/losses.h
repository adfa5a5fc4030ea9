#pragma once
// The losses that the Newton solver minimizes, one row at a time, in double precision on every device.
//
// A score s = w.x of a row with y = 1 (its class) or -1, and z = 1 - y s:
//
//   margin    psi(z) = max over 0 <= a <= U of a z - (a - m)^2 / (2 S)
//             With S = 2 C, U = infinity and m = 0 this is the squared hinge C max(0, z)^2. With U = C it is the
//             hinge C max(0, z), smoothed around the multiplier m: the augmented Lagrangian of the support vector
//             machine. Source: R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point
//             algorithm in convex programming" (1976); for this use Y. Yan, Q. Li, "An efficient augmented Lagrangian
//             method for support vector machine" (2020).
//   softmax   C (log sum over k of exp(s_k) - s_y) over all classes of a row.

#include <cmath>

#include "gpu/core/both.h"

namespace warpscope::classifiers::linear {

enum class LossKind { margin, softmax };

struct Loss {
  LossKind kind = LossKind::margin;
  double weight = 1;  ///< C
  double slope = 2;   ///< S
  double most = 0;    ///< U
  bool hinge = false;
};

/// What a row adds to the sums of a problem, and what the solver needs of it.
struct RowTerms {
  double smooth = 0;      ///< the loss that is minimized
  double primal = 0;      ///< the loss that it stands for
  double dual = 0;        ///< of the hinge: the row's part of the dual objective
  double multiplier = 0;  ///< a, the maximizer
  double slope = 0;       ///< d smooth / d s
  double curvature = 0;   ///< d2 smooth / d s2
};

WARPSCOPE_BOTH inline RowTerms margin_terms(const Loss& loss, double score, bool own, double multiplier) {
  const double y = own ? 1.0 : -1.0, z = 1.0 - y * score;
  const double wanted = multiplier + loss.slope * z;
  const double a = fmin(fmax(wanted, 0.0), loss.most);
  const double moved = a - multiplier;
  RowTerms terms;
  terms.smooth = a * z - moved * moved / (2 * loss.slope);
  terms.primal = loss.hinge ? loss.weight * fmax(0.0, z) : terms.smooth;
  terms.dual = loss.hinge ? a : a - a * a / (2 * loss.slope);
  terms.multiplier = a;
  terms.slope = -y * a;
  terms.curvature = wanted > 0 && wanted < loss.most ? loss.slope : 0.0;
  return terms;
}

/// Terms of a row of softmax regression: `slopes` and `probabilities` get one number a class. `label` < 0: no class.
WARPSCOPE_BOTH inline RowTerms softmax_terms(const Loss& loss, const double* scores, int classes, int label,
                                             double* slopes, float* probabilities) {
  double top = scores[0];
  for (int k = 1; k < classes; ++k) top = fmax(top, scores[k]);
  double sum = 0;
  for (int k = 0; k < classes; ++k) sum += exp(scores[k] - top);
  RowTerms terms;
  for (int k = 0; k < classes; ++k) {
    const double p = exp(scores[k] - top) / sum;
    slopes[k] = loss.weight * (p - (k == label ? 1.0 : 0.0));
    probabilities[k] = static_cast<float>(p);
    terms.curvature += loss.weight * p * (1 - p);
  }
  terms.smooth = loss.weight * (top + log(sum) - scores[label]);
  terms.primal = terms.smooth;
  return terms;
}

/// The loss of a row of softmax regression for scores s + step d.
WARPSCOPE_BOTH inline double softmax_loss(const Loss& loss, const double* scores, const double* moves,
                                          double step, int classes, int label) {
  double top = scores[0] + step * moves[0];
  for (int k = 1; k < classes; ++k) top = fmax(top, scores[k] + step * moves[k]);
  double sum = 0;
  for (int k = 0; k < classes; ++k) sum += exp(scores[k] + step * moves[k] - top);
  return loss.weight * (top + log(sum) - scores[label] - step * moves[label]);
}

}  // namespace warpscope::classifiers::linear
