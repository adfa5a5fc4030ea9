#pragma once
// Newton's method with conjugate gradients for linear classifiers, all classes at once.
//
//     minimize  1/2 |w_k|^2 + sum over rows of loss(w_k . (x_i, 1), y_ik)
//
// for each problem k (margin losses: one against the rest), or the sum over k with a loss of all scores (softmax).
// Source: C.-J. Lin, R. C. Weng, S. S. Keerthi, "Trust region Newton method for large-scale logistic regression"
// (2008), with a line search as in L.-P. Galli, C.-J. Lin, "A study on truncated Newton methods for linear
// classification" (2021). Features are read twice for each product of the Hessian with a vector, whatever the number
// of classes.
//
// Margin losses bend wherever a row begins or ends to count. Where columns hang together and C is large they do so long
// before the end of a direction, which took hundreds of products to find. Once a long search yields a direction of
// which less than half is gone, steps by quasi_newton.h take the place of Newton's, at two products each.
//
// Every multiplier a that the losses yield is a point of the dual problem, so that the objective is at most
// `gap` above the least one possible. For smooth losses that gap is |g|^2 / 2, which is often a hundred times what
// is left to gain; they are also done when the decreases of the last two steps (of quasi-Newton steps those of the last
// quarter and of the quarter before), continued as a geometric series, leave too little.

#include <string>
#include <vector>

#include "gpu/classifiers/features.h"
#include "gpu/classifiers/linear/losses.h"

namespace warpscope::classifiers::linear {

struct NewtonOptions {
  Loss loss;
  double tolerance = 1e-3;  ///< of what is left to gain over the objective
  int most_products = 20000;
};

/// How the solving of one group ended.
struct NewtonReport {
  double objective = 0;
  double gap = 0;            ///< objective - the best known lower bound
  double left = 0;           ///< what is left to gain, as far as is known: the gap or an estimate below it
  double gradient_norm = 0;  ///< of the smooth objective
  int iterations = 0;        ///< directions
  int products = 0;          ///< of the Hessian with a vector
  bool converged = false;    ///< left <= tolerance * objective
};

struct NewtonResult {
  std::vector<double> weights;  ///< (problems, columns + 1), the last of each is the bias's
  std::vector<NewtonReport> groups;
  std::string ended;      ///< why, if not all groups converged
  std::size_t bytes = 0;  ///< of device memory that it took beside the features
};

/// `problem_of` has one entry a row: the problem whose own it is, or -1. Finite features are the caller's business.
NewtonResult solve_newton(const Place& place, const FeatureMatrix& features, std::span<const int> problem_of,
                          int problems, const NewtonOptions& options, const Watch& watch);

/// scores_ik = w_k . (x_i, 1), (rows, problems), on the host, summed in double precision.
std::vector<double> linear_scores(const Place& place, const FeatureMatrix& features,
                                  const std::vector<double>& weights, int problems);

// Linear support vector machines by the package liblinear, on the CPU.
// Source: R.-E. Fan, K.-W. Chang, C.-J. Hsieh, X.-R. Wang, C.-J. Lin, "LIBLINEAR: a library for large linear
// classification" (2008).

/// The same problems as solve_newton() with margin losses. liblinear's own tolerance is made smaller until the gap is
/// small enough or it does no better. `stop` is looked at as often as liblinear reports: once a Newton step or ten
/// rounds of coordinate descent. Throws OutOfMemory before it begins if its nodes, 16 bytes for each number that is
/// not 0, would not fit.
NewtonResult solve_liblinear(const Place& place, const FeatureMatrix& features,
                             std::span<const int> problem_of, int problems, const NewtonOptions& options,
                             const Watch& watch);

}  // namespace warpscope::classifiers::linear
