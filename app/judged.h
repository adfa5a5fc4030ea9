#pragma once
// What the features of a trained network are worth to a classifier: for `classify`, and for `train --then`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/trained_source.h"
#include "gpu/features/judgement.h"

namespace warpscope::app {

/// What `classify` has found.
struct JudgedFeatures {
  std::string weights, layers, model, data, device, precision, remark;
  std::int64_t training_rows = 0, test_rows = 0;
  int columns = 0;
  bool standardized = true;
  double feature_seconds = 0, standardize_seconds = 0;
  std::vector<std::string> classes;
  features::Judgement judgement;
};

/// Fits a classifier to what a trained network makes of its data set's training images and judges it by the test
/// images. Nothing if a person interrupted it.
std::optional<JudgedFeatures> judge_source(const TrainedSource& source,
                                           const features::JudgementRequest& request,
                                           bool standardize = true);
/// Prints what was found, and returns the exit code: 1 if the fit did not converge. `json`: file, "-" for standard
/// output instead of the text, "" for none.
int tell(const std::optional<JudgedFeatures>& report, const std::string& json);

}  // namespace warpscope::app
