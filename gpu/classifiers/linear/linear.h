#pragma once
// Linear classifiers: one against the rest with the squared hinge or the hinge (linear support vector machines), and
// softmax regression. With rows x_i that end in an appended 1, whose weight is the bias,
//
//     squared hinge   1/2 |w_k|^2 + C sum over rows of max(0, 1 - y_ik w_k.x_i)^2     for each class k
//     hinge           1/2 |w_k|^2 + C sum over rows of max(0, 1 - y_ik w_k.x_i)       for each class k
//     softmax         1/2 sum over k of |w_k|^2 + C sum over rows of (log sum over k of exp(w_k.x_i) - w_y.x_i)
//
// y_ik is 1 if row i is of class k, else -1. The bias is regularized like the other weights, as by liblinear's -B 1.
// The class of a row is that with the largest w_k.x; of equals, the first.

#include <memory>
#include <utility>
#include <vector>

#include "gpu/classifiers/classifier.h"
#include "gpu/classifiers/linear/newton.h"

namespace warpscope::classifiers::linear {

enum class LinearLoss { squared_hinge, hinge, softmax };

/// Which program solves it. On CUDA it is always newton.
enum class LinearSolver {
  automatic,  ///< on the CPU: package for the support vector machines, newton for softmax
  newton,     ///< newton.h
  package,    ///< liblinear (L2R_L2LOSS_SVC, L2R_L1LOSS_SVC_DUAL): the CPU, and only the hinges
};

struct LinearOptions {
  LinearLoss loss = LinearLoss::squared_hinge;
  double c = 1;               ///< C > 0
  double tolerance = 1e-3;    ///< what is left to gain over objective at which a problem is solved, in (0, 1)
  int most_products = 20000;  ///< bound of the Newton solver: products of the Hessian with a vector
  LinearSolver solver = LinearSolver::automatic;
};

/// What was fitted, as plain numbers.
struct LinearFit {
  LinearLoss loss = LinearLoss::squared_hinge;
  int classes = 0;
  int columns = 0;
  std::vector<double> weights;  ///< (classes, columns + 1), zeros for a class without rows
  std::vector<bool> present;    ///< which classes had rows
  std::vector<NewtonReport>
      problems;           ///< one a class that had rows (one if they were two classes); of softmax one
  std::size_t bytes = 0;  ///< of device memory that fitting took beside the features
  FitSummary summary;
};

class LinearClassifier final : public Classifier {
 public:
  explicit LinearClassifier(LinearFit fit) : fit_(std::move(fit)) {}
  std::string_view name() const override;
  int classes() const override { return fit_.classes; }
  int columns() const override { return fit_.columns; }
  const FitSummary& summary() const override { return fit_.summary; }
  const LinearFit& fit() const { return fit_; }
  /// Scores are w_k.x; of a class without rows, the lowest float. Softmax regression gives probabilities. The margin
  /// is the largest score minus the second.
  Prediction predict(const Place& place, const FeatureMatrix& features,
                     const Watch& watch = {}) const override;

 private:
  LinearFit fit_;
};

/// Throws BadInput (check_labels, numbers that are not finite, options out of range), Cancelled, OutOfMemory.
std::unique_ptr<LinearClassifier> fit_linear(const Place& place, const LabelledFeatures& data,
                                             const LinearOptions& options = {}, const Watch& watch = {});

}  // namespace warpscope::classifiers::linear
