#pragma once
// What features are worth: a classifier learns from the features of training images and is judged on those of test
// images.

#include <optional>
#include <string>
#include <vector>

#include "gpu/classifiers/classifier_table.h"
#include "gpu/classifiers/metrics.h"
#include "gpu/core/device.h"

namespace warpscope::features {

/// Features with the class of each row. Device memory is owned.
struct LabelledRows {
  core::Buffer values;  ///< (rows, columns), FP32
  std::vector<int> labels;
  int columns = 0;
  int classes = 0;

  classifiers::FeatureMatrix matrix() const;
  classifiers::LabelledFeatures labelled() const;
};

struct JudgementRequest {
  std::string classifier = "rbf";
  classifiers::ClassifierSettings settings;
  bool on_training_rows = false;  ///< judge it on the rows that it learned from too
};

struct Judgement {
  std::string classifier;
  double c = 0;  ///< that was used; 0: it has none
  classifiers::FitSummary fit;
  classifiers::Metrics test;
  std::optional<classifiers::Metrics> training;
  classifiers::Prediction prediction;  ///< of the test rows
  double fit_seconds = 0, predict_seconds = 0;
};

/// Brings the columns of both to mean 0 and deviation 1 of the training rows, in place; returns a sentence if some are
/// constant, else "".
std::string standardize(LabelledRows& training, LabelledRows& test, const classifiers::Place& place);

/// Judges a classifier that was fitted to `training`. Judgement::fit_seconds is left to the caller.
Judgement judge_fitted(const classifiers::Classifier& fitted, const LabelledRows& training,
                       const LabelledRows& test, const JudgementRequest& request,
                       const classifiers::Place& place, const classifiers::Watch& watch = {});

/// Fits and judges. Throws as classifiers::fit_classifier() does.
Judgement judge(const LabelledRows& training, const LabelledRows& test, const JudgementRequest& request,
                const classifiers::Place& place, const classifiers::Watch& watch = {});

}  // namespace warpscope::features
