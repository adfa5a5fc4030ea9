#pragma once
// From decision values to probabilities.

#include <span>
#include <vector>

namespace warpscope::classifiers::rbf {

/// P(first | f) = 1 / (1 + exp(a f + b)).
struct Sigmoid {
  double a = 0;
  double b = 0;
};

/// The sigmoid with the largest likelihood for decision values and whether each row is of the first class, with
/// targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2). Newton's method with backtracking.
/// Source: H.-T. Lin, C.-J. Lin, R. C. Weng, "A note on Platt's probabilistic outputs for support vector machines"
/// (2007), algorithm 1.
Sigmoid fit_sigmoid(std::span<const double> decisions, std::span<const char> is_first);

/// In [1e-7, 1 - 1e-7], as LIBSVM keeps it for the coupling.
double probability(const Sigmoid& sigmoid, double decision);

/// Probabilities of `classes` classes from those of pairs: `pairwise` (classes, classes), r_ab + r_ba = 1. They sum
/// up to 1. Source: T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability estimates for multi-class classification by
/// pairwise coupling" (2004), second approach, algorithm 2.
std::vector<double> couple(std::span<const double> pairwise, int classes);

}  // namespace warpscope::classifiers::rbf
