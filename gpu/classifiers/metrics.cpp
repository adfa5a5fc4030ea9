#include "gpu/classifiers/metrics.h"

#include <limits>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::classifiers {

Metrics measure(std::span<const int> truth, std::span<const int> labels, int classes) {
  if (truth.size() != labels.size()) {
    throw core::BadInput(
        fmt::format("{} labels cannot be compared with {} rows", labels.size(), truth.size()));
  }
  Metrics metrics;
  metrics.classes = classes;
  metrics.rows = static_cast<long long>(truth.size());
  const auto count = static_cast<std::size_t>(classes);
  metrics.confusion.resize(count * count);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    for (const int label : {truth[i], labels[i]}) {
      if (label < 0 || label >= classes) {
        throw core::BadInput(
            fmt::format("row {} has the label {}; there are classes 0 to {}", i, label, classes - 1));
      }
    }
    ++metrics.confusion[static_cast<std::size_t>(truth[i]) * count + static_cast<std::size_t>(labels[i])];
  }
  for (int one = 0; one < classes; ++one) {
    long long rows = 0;
    for (int label = 0; label < classes; ++label) rows += metrics.confused(one, label);
    const long long right = metrics.confused(one, one);
    metrics.right += right;
    metrics.class_accuracy.push_back(rows > 0 ? static_cast<double>(right) / static_cast<double>(rows)
                                              : std::numeric_limits<double>::quiet_NaN());
  }
  if (metrics.rows > 0)
    metrics.accuracy = static_cast<double>(metrics.right) / static_cast<double>(metrics.rows);
  return metrics;
}

}  // namespace warpscope::classifiers
