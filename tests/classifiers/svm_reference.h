#pragma once
// Random rows of several kinds, and what LIBSVM makes of them with its own kernel: nothing here is shared with what is
// tested but the classes of its interface.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/classifiers/rbf_svm/rbf_svm.h"

namespace warpscope::classifiers::svm_reference {

/// Rows on the host.
struct HostData {
  std::vector<float> values;
  std::vector<int> labels;
  int columns = 0;
  int classes = 0;

  std::int64_t rows() const { return static_cast<std::int64_t>(labels.size()); }
  LabelledFeatures labelled() const { return {{values.data(), rows(), columns}, labels, classes}; }
  const float* row(std::int64_t at) const { return values.data() + at * columns; }
};

/// How rows are made. Classes have their centres `apart` deviations of one column from each other.
struct Kind {
  std::string name;
  std::vector<int> rows_by_class;
  int columns = 8;
  double apart = 1.0;
  int duplicates = 0;  ///< so many rows are copies of others, some with another label
  int constant_columns = 0;
  double offset = 0.0;     ///< added to all numbers
  double magnitude = 1.0;  ///< then they are multiplied by it
};

HostData make_data(const Kind& kind, std::uint64_t seed);

/// exp(-gamma |x - y|^2) in double.
double exact_kernel(const HostData& data, const float* x, const float* y, double gamma);

/// The dual of each pair at the alphas of `model`, in double with exact_kernel().
std::vector<double> objectives(const HostData& data, const RbfSvmModel& model);

/// LIBSVM's machine for all classes, by svm_train() with its RBF kernel.
struct Reference {
  std::vector<double> objectives;  ///< of each pair, as above
  std::vector<int> labels;         ///< of the rows asked for
  std::vector<double> decisions;   ///< (rows, pairs) of them
};
Reference libsvm_reference(const HostData& train, const HostData& test, double c, double gamma,
                           const std::vector<double>& class_weights = {}, double tolerance = 1e-3);

/// v_t = sum_s y_s alpha_s K_ts - y_t of a pair, and the gap of its conditions, in double with exact_kernel().
double exact_gap(const HostData& data, const RbfSvmModel& model, std::size_t pair, double first_bound,
                 double second_bound);

}  // namespace warpscope::classifiers::svm_reference
