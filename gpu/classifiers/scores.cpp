#include "gpu/classifiers/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace warpscope::classifiers {

Prediction prediction_of(std::span<const double> scores, const std::vector<bool>& present, bool softmax) {
  const std::size_t classes = present.size();
  Prediction made;
  made.classes = static_cast<int>(classes);
  made.scores.resize(scores.size());
  if (softmax) made.probabilities.resize(scores.size());
  for (std::size_t first = 0; first < scores.size(); first += classes) {
    double best = -std::numeric_limits<double>::infinity(), second = best, sum = 0;
    std::size_t label = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      made.scores[first + k] =
          present[k] ? static_cast<float>(scores[first + k]) : std::numeric_limits<float>::lowest();
      if (!present[k]) continue;
      second = std::max(second, std::min(best, scores[first + k]));
      if (scores[first + k] <= best) continue;
      best = scores[first + k];
      label = k;
    }
    made.labels.push_back(static_cast<int>(label));
    made.margins.push_back(static_cast<float>(best - second));
    if (!softmax) continue;
    for (std::size_t k = 0; k < classes; ++k) sum += present[k] ? std::exp(scores[first + k] - best) : 0;
    for (std::size_t k = 0; k < classes; ++k) {
      made.probabilities[first + k] =
          present[k] ? static_cast<float>(std::exp(scores[first + k] - best) / sum) : 0.0f;
    }
  }
  return made;
}

}  // namespace warpscope::classifiers
