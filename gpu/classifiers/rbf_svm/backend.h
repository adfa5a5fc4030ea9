#pragma once
// What the RBF SVM asks of the device that it runs on, and what is the same on all of them.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/classifiers/rbf_svm/rbf_svm.h"
#include "gpu/classifiers/rbf_svm/sigmoid.h"

namespace warpscope::classifiers::rbf {

/// Training rows by class: the rows of class present[k], in their order.
struct ClassRows {
  std::vector<int> present;
  std::vector<std::vector<int>> rows;

  std::size_t pairs() const { return present.size() * (present.size() - 1) / 2; }
};

ClassRows sort_by_class(const LabelledFeatures& data);

/// The classes of all pairs, as places in ClassRows::present: (0, 1), (0, 2), ..., (1, 2), ...
std::vector<std::array<int, 2>> pairs_of(std::size_t present);

/// What is to be solved, with numbers in place of rules.
struct Task {
  double gamma = 0;
  double tolerance = 1e-3;
  std::vector<double> bounds;  ///< of alpha, one a present class
  bool probabilities = false;
  std::int64_t max_iterations = 0;
};

/// One pair, solved.
struct PairSolution {
  PairReport report;
  std::vector<double> alpha;  ///< of the rows of the first class, then of the second
  double rho = 0;
  std::optional<Sigmoid> sigmoid;
};

inline constexpr int kFolds = 5;

/// Which of kFolds parts a row is held out in, for probabilities: the rows of a class, `place` counted from 0, are
/// dealt out at random, the same every time.
std::vector<std::uint8_t> deal_folds(std::size_t rows, std::uint64_t seed);

/// What Watch offers, with a clock: progress is told at most every 20 ms.
void look(const Watch& watch, double part, std::string_view phase);

/// Decision values on a device.
class Decider {
 public:
  virtual ~Decider() = default;
  /// (rows, pairs) on the host.
  virtual std::vector<float> decide(const Place& place, const FeatureMatrix& features,
                                    const Watch& watch) const = 0;
};

/// Training rows on a device.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual double variance() const = 0;  ///< of all numbers
  virtual std::vector<PairSolution> solve(const Task& task, core::Phases& phases, const Watch& watch) = 0;
  virtual std::shared_ptr<const Decider> make_decider(const RbfSvmModel& model) = 0;
  virtual std::size_t peak_bytes() const = 0;
};

std::unique_ptr<Backend> make_libsvm_backend(const LabelledFeatures& data, const ClassRows& rows);
/// In a build with CUDA.
std::unique_ptr<Backend> make_cuda_backend(const Place& place, const LabelledFeatures& data,
                                           const ClassRows& rows, std::size_t memory_limit,
                                           const Watch& watch);

/// Throws BadInput that names row and column.
[[noreturn]] void refuse_number(std::int64_t row, std::int64_t column);

}  // namespace warpscope::classifiers::rbf
