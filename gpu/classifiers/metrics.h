#pragma once
// How good labels are that a classifier gave.

#include <span>
#include <vector>

namespace warpscope::classifiers {

struct Metrics {
  int classes = 0;
  long long rows = 0;
  long long right = 0;
  double accuracy = 0;                 ///< right / rows, 0 without rows
  std::vector<double> class_accuracy;  ///< of the rows of each class (recall); NaN for a class without rows
  std::vector<long long> confusion;    ///< (classes, classes): rows of class i that were labelled j

  long long confused(int truth, int label) const {
    return confusion[static_cast<std::size_t>(truth) * static_cast<std::size_t>(classes) +
                     static_cast<std::size_t>(label)];
  }
};

/// Compares labels with the truth. Throws BadInput if they are not as many, or not in [0, classes).
Metrics measure(std::span<const int> truth, std::span<const int> labels, int classes);

}  // namespace warpscope::classifiers
