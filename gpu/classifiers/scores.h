#pragma once
// From the scores of classes to a class.

#include <span>
#include <vector>

#include "gpu/classifiers/classifier.h"

namespace warpscope::classifiers {

/// `scores`: (rows, present.size()). A row's label is the class with the largest score, of equals the first; its margin
/// is that score minus the next. A class that is not `present` never wins: its score is the lowest float, its
/// probability 0. `probabilities`, if `softmax` asks for them, are exp(s_k - max) / sum over k of exp(s_k - max).
Prediction prediction_of(std::span<const double> scores, const std::vector<bool>& present, bool softmax);

}  // namespace warpscope::classifiers
