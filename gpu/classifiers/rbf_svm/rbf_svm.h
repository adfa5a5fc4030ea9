#pragma once
// Support vector machines with the kernel K(x, y) = exp(-gamma |x - y|^2), one against one: for each pair of
// classes (first < second) the dual problem
//
//   minimize    1/2 sum_s sum_t alpha_s alpha_t y_s y_t K(x_s, x_t) - sum_s alpha_s
//   subject to  0 <= alpha_s <= C weight(class of s),  sum_s y_s alpha_s = 0
//
// with y = 1 for rows of `first` and -1 for those of `second`. It is solved by sequential minimal optimization with
// second-order working sets, until the gap of the KKT conditions, m - M with m = max over I_up of -y G and M = min
// over I_low of -y G (G: the gradient), is below a tolerance. A row gets the class with the most votes of all
// pairs, of several the lowest, as in LIBSVM.
//
// On a GPU distances are three FP16 products on tensor cores, as exact as FP32; a block solves a pair of classes, and
// all folds go in one launch.
//
// Source: C.-C. Chang, C.-J. Lin, "LIBSVM: a library for support vector machines" (2011); R.-E. Fan, P.-H. Chen,
// C.-J. Lin, "Working set selection using second order information for training SVM" (2005).

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/classifiers/classifier.h"

namespace warpscope::classifiers {

namespace rbf {
class Backend;
class Decider;
struct ClassRows;
}  // namespace rbf

/// Where gamma comes from. With v the variance of all numbers of the features: `scale` is 1 / (columns v), or 1 if v
/// is 0, and `automatic` is 1 / columns, both as in scikit-learn.
enum class GammaRule { scale, automatic, number };

struct RbfSvmOptions {
  double c = 1.0;
  GammaRule gamma_rule = GammaRule::scale;
  double gamma = 0.0;                 ///< of GammaRule::number
  std::vector<double> class_weights;  ///< factors of C, one a class; empty: 1 each
  double tolerance = 1e-3;            ///< of the KKT gap
  bool probabilities = false;  ///< by Platt's sigmoids on decision values of five-fold cross-validation
  std::int64_t max_iterations =
      10'000'000;  ///< of a pair on CUDA, which says so if it gets there; LIBSVM has its own
};

/// What became of one pair of classes.
struct PairReport {
  int first = 0;  ///< classes
  int second = 0;
  std::int64_t iterations = 0;
  double gap = 0;        ///< of the KKT conditions, with a gradient summed anew in double
  double objective = 0;  ///< of the dual, as above
  std::int64_t support_vectors = 0;
  std::int64_t bounded = 0;  ///< of these: alpha at its upper bound
  bool converged = false;
};

/// What decides: for each pair, f(x) = sum_s coefficient_s K(x_s, x) - rho, > 0 for the first class.
struct RbfSvmModel {
  int classes = 0;
  int columns = 0;
  double gamma = 0;
  std::vector<int> present;  ///< classes that had rows, ascending
  std::vector<std::int64_t>
      support;  ///< rows of the training set that are support vectors of any pair, by class
  std::vector<std::int64_t> first;  ///< (present + 1): where in `support` each class begins
  /// (support, present - 1): of a row of class a in the pair with b, both counted in `present`: column b if b < a,
  /// else b - 1. y alpha, as sv_coef of LIBSVM turned.
  std::vector<double> coefficients;
  std::vector<double> rho;        ///< one a pair: (0, 1), (0, 2), ..., (1, 2), ...
  std::vector<double> sigmoid_a;  ///< P(first | f) = 1 / (1 + exp(a f + b)); empty without probabilities
  std::vector<double> sigmoid_b;

  std::size_t pairs() const { return present.size() * (present.size() - 1) / 2; }
  /// The largest |coefficient| of each support vector: how much it weighs.
  std::vector<double> weights() const;
};

/// A fitted machine. Prediction::scores are votes plus the mean decision value squeezed into (-1/2, 1/2); margins are
/// the least |f| among the pairs of the class that a row got.
class RbfSvm final : public Classifier {
 public:
  RbfSvm(RbfSvmModel model, std::vector<PairReport> pairs, FitSummary summary,
         std::shared_ptr<const rbf::Decider> decider);
  std::string_view name() const override { return "rbf"; }
  int classes() const override { return model_.classes; }
  int columns() const override { return model_.columns; }
  const FitSummary& summary() const override { return summary_; }
  Prediction predict(const Place& place, const FeatureMatrix& features,
                     const Watch& watch = {}) const override;
  const RbfSvmModel& model() const { return model_; }
  std::span<const PairReport> pairs() const { return pairs_; }
  /// (rows, pairs): f of each row and pair.
  std::vector<float> decisions(const Place& place, const FeatureMatrix& features,
                               const Watch& watch = {}) const;

 private:
  RbfSvmModel model_;
  std::vector<PairReport> pairs_;
  FitSummary summary_;
  std::shared_ptr<const rbf::Decider> decider_;
};

/// Training rows that are ready to be fitted with any C and gamma. On CUDA it keeps the matrix of squared distances,
/// where that fits, so that another fit costs only its solving. The rows themselves are not looked at again.
class RbfSvmProblem {
 public:
  RbfSvmProblem(const LabelledFeatures& data, std::shared_ptr<const rbf::ClassRows> sorted,
                std::shared_ptr<rbf::Backend> backend, std::vector<PhaseTime> prepared);
  /// The gamma that `options` mean here.
  double gamma(const RbfSvmOptions& options) const;
  /// Throws BadInput that names an option that cannot be, Cancelled, OutOfMemory. The problem stays as it was. On the
  /// CPU progress is told from the threads that solve, one at a time.
  std::unique_ptr<RbfSvm> fit(const RbfSvmOptions& options, const Watch& watch = {});
  /// Most bytes of device memory that it has held so far.
  std::size_t peak_bytes() const;

 private:
  int classes_;
  int columns_;
  std::shared_ptr<const rbf::ClassRows> sorted_;
  std::shared_ptr<rbf::Backend> backend_;
  std::vector<PhaseTime> prepared_;  ///< told with the first fit
};

/// Prepares `data`, which lies on `place`. `memory_limit`: most bytes of device memory that problem and fits may
/// take, 0: what is free but for 512 MiB. Throws what check_labels() throws; BadInput in one sentence that names the
/// first row and column that is not a finite number; OutOfMemory that says how much would do; Cancelled.
std::unique_ptr<RbfSvmProblem> make_rbf_svm_problem(const Place& place, const LabelledFeatures& data,
                                                    std::size_t memory_limit = 0, const Watch& watch = {});

}  // namespace warpscope::classifiers
