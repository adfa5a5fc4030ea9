#include "gpu/classifiers/features.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::classifiers {

void check_labels(const LabelledFeatures& data) {
  const FeatureMatrix& features = data.features;
  if (features.rows < 1 || features.columns < 1) {
    throw core::BadInput(
        fmt::format("a classifier learns from rows of features; there are {} rows of {} columns",
                    features.rows, features.columns));
  }
  if (static_cast<std::int64_t>(data.labels.size()) != features.rows) {
    throw core::BadInput(
        fmt::format("there are {} labels for {} rows of features", data.labels.size(), features.rows));
  }
  std::vector<bool> present(static_cast<std::size_t>(std::max(data.classes, 0)));
  for (std::size_t row = 0; row < data.labels.size(); ++row) {
    const int label = data.labels[row];
    if (label < 0 || label >= data.classes) {
      throw core::BadInput(
          fmt::format("row {} has the label {}; there are classes 0 to {}", row, label, data.classes - 1));
    }
    present[static_cast<std::size_t>(label)] = true;
  }
  int classes = 0;
  for (const bool one : present) classes += one ? 1 : 0;
  if (classes < 2) {
    throw core::BadInput("a classifier tells at least two classes apart; these rows are all of one");
  }
}

}  // namespace warpscope::classifiers
