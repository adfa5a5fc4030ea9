#pragma once
// What every fitted classifier can do, and what a fit tells of itself.

#include <string>
#include <string_view>
#include <vector>

#include "gpu/classifiers/features.h"
#include "gpu/core/phases.h"

namespace warpscope::classifiers {

/// What a classifier makes of some rows. All on the host.
struct Prediction {
  std::vector<int> labels;    ///< one a row
  int classes = 0;            ///< columns of the two matrices below
  std::vector<float> scores;  ///< (rows, classes): the larger, the likelier; what it is, the classifier says
  std::vector<float>
      probabilities;           ///< (rows, classes), each row sums to 1; empty if the classifier knows none
  std::vector<float> margins;  ///< one a row, >= 0: how far the row is from getting another label
};

using core::PhaseTime;

/// What a fit tells of itself, whatever it fitted.
struct FitSummary {
  bool converged = false;  ///< the stopping rule was met; false: a bound ended it, and `remarks` tell so
  double objective = 0;    ///< the value reached of what the classifier minimizes, summed over its problems
  double tolerance = 0;  ///< the bound of the stopping rule; 0: it ends after a number of steps, or has none
  double reached = 0;    ///< what the rule looks at (gap, gradient's norm), the worst of all problems
  std::string rule;      ///< names it: "gap of the KKT conditions"
  long long iterations = 0;          ///< of all problems together
  std::vector<PhaseTime> phases;     ///< in order; they sum up to the whole fit
  std::vector<std::string> remarks;  ///< sentences for people: an empty class, a bound that was reached

  double seconds() const {
    double sum = 0;
    for (const PhaseTime& phase : phases) sum += phase.seconds;
    return sum;
  }
};

/// A fitted classifier. It owns what it needs and does not look at the rows that it was fitted to again.
class Classifier {
 public:
  virtual ~Classifier() = default;
  virtual std::string_view name() const = 0;  ///< as on the command line: "rbf", "linear"
  virtual int classes() const = 0;
  virtual int columns() const = 0;
  virtual const FitSummary& summary() const = 0;
  /// The classes of `features`, which lie in memory of `place`, the device that the classifier was fitted on.
  /// Throws BadInput if the columns are not as many as columns(), or, naming the first row and column, if a number
  /// is not finite; Cancelled; OutOfMemory.
  virtual Prediction predict(const Place& place, const FeatureMatrix& features,
                             const Watch& watch = {}) const = 0;
};

}  // namespace warpscope::classifiers
