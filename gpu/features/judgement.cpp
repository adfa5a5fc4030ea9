#include "gpu/features/judgement.h"

#include "gpu/classifiers/standardize.h"
#include "gpu/core/phases.h"

namespace warpscope::features {
classifiers::FeatureMatrix LabelledRows::matrix() const {
  return {values.as<const float>(), static_cast<std::int64_t>(labels.size()), columns};
}

classifiers::LabelledFeatures LabelledRows::labelled() const {
  return {matrix(), labels, classes};
}

std::string standardize(LabelledRows& training, LabelledRows& test, const classifiers::Place& place) {
  const classifiers::Standardization by = classifiers::find_standardization(place, training.matrix());
  classifiers::standardize(place, by, training.matrix(), training.values.as<float>());
  classifiers::standardize(place, by, test.matrix(), test.values.as<float>());
  return by.remark();
}

Judgement judge_fitted(const classifiers::Classifier& fitted, const LabelledRows& training,
                       const LabelledRows& test, const JudgementRequest& request,
                       const classifiers::Place& place, const classifiers::Watch& watch) {
  Judgement result;
  result.classifier = request.classifier;
  const double standard = classifiers::classifier_named(request.classifier).c;
  result.c = request.settings.c == 0 || standard == 0 ? standard : request.settings.c;
  result.fit = fitted.summary();
  const auto start = core::Clock::now();
  result.prediction = fitted.predict(place, test.matrix(), watch);
  result.predict_seconds = core::seconds_since(start);
  result.test = classifiers::measure(test.labels, result.prediction.labels, test.classes);
  if (request.on_training_rows) {
    result.training = classifiers::measure(
        training.labels, fitted.predict(place, training.matrix(), watch).labels, training.classes);
  }
  return result;
}

Judgement judge(const LabelledRows& training, const LabelledRows& test, const JudgementRequest& request,
                const classifiers::Place& place, const classifiers::Watch& watch) {
  const auto start = core::Clock::now();
  const auto fitted =
      classifiers::fit_classifier(request.classifier, place, training.labelled(), request.settings, watch);
  const double seconds = core::seconds_since(start);
  Judgement result = judge_fitted(*fitted, training, test, request, place, watch);
  result.fit_seconds = seconds;
  return result;
}

}  // namespace warpscope::features
