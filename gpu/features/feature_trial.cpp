#include "gpu/features/feature_trial.h"

#include <algorithm>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/core/phases.h"
#include "gpu/features/extractor.h"
#include "gpu/features/part_of.h"

namespace warpscope::features {
namespace {

using classifiers::Watch;

constexpr std::size_t kHeaviest = 96;  // support vectors that a result names

/// The training rows that weigh most in any pair.
std::vector<SupportImage> heaviest_of(const classifiers::RbfSvmModel& model,
                                      const std::vector<std::int64_t>& images) {
  const std::vector<double> weights = model.weights();
  std::vector<SupportImage> all;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    all.push_back({images[static_cast<std::size_t>(model.support[i])], weights[i]});
  }
  const std::size_t count = std::min(kHeaviest, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [](const SupportImage& a, const SupportImage& b) {
                      return a.weight != b.weight ? a.weight > b.weight : a.image < b.image;
                    });
  all.resize(count);
  return all;
}

}  // namespace

/// What the next try may use again, and what it was made for.
struct FeatureTrial::Kept {
  Subject subject;
  FeatureLayers layers;
  bool standardized = true;
  TrialLimits limits;
  LabelledRows training, test;
  std::vector<std::int64_t> training_images, test_images;
  std::string remark;
  double feature_seconds = 0, standardize_seconds = 0;
  std::unique_ptr<classifiers::RbfSvmProblem> problem;

  bool serves(const TrialRequest& request, const TrialLimits& asked_limits) const {
    const Subject& asked = request.subject;
    return asked.parameters && asked.parameters == subject.parameters && asked.data == subject.data &&
           asked.precision == subject.precision && request.standardize == standardized &&
           asked_limits == limits &&
           to_string(parse_feature_layers(request.layers, asked.model)) == to_string(layers);
  }
};

TrialLimits limits_on(core::DeviceKind kind) {
  return kind == core::DeviceKind::cpu ? TrialLimits{2000, 500} : TrialLimits{};
}

FeatureTrial::FeatureTrial(std::shared_ptr<core::Device> device)
    : device_(std::move(device)), stream_(device_->make_stream()), place_{device_, stream_.get()} {}

FeatureTrial::~FeatureTrial() = default;

void FeatureTrial::forget() {
  kept_.reset();
}

bool FeatureTrial::prepare_rows(const TrialRequest& request, const Watch& watch) {
  const TrialLimits limits = request.limits.value_or(limits_on(device_->kind()));
  if (kept_ && kept_->serves(request, limits)) return false;
  kept_.reset();  // so that there is room
  if (watch.progress) watch.progress(0, "reading the network");
  auto kept = std::make_unique<Kept>();
  kept->subject = loaded(request.subject);
  const Subject& subject = kept->subject;
  kept->layers = parse_feature_layers(request.layers, subject.model);
  kept->standardized = request.standardize;
  kept->limits = limits;
  const plan::Selection selection{subject.precision, {}};
  const auto rows_of = [&](const data::ImageSet& set, std::int64_t most, std::vector<std::int64_t>& places,
                           const Watch& part) {
    Sample sample = sample_of(set, most);
    LabelledRows rows;
    rows.columns = columns_of(kept->layers);
    rows.classes = static_cast<int>(subject.data->classes.size());
    rows.labels.assign(sample.set.labels.begin(), sample.set.labels.end());
    rows.values =
        features_of(sample.set, subject.model, *subject.parameters, kept->layers, selection, place_, part);
    places = std::move(sample.places);
    return rows;
  };
  auto start = core::Clock::now();
  kept->training =
      rows_of(subject.data->whole->train, limits.training, kept->training_images, part_of(watch, 0, 0.8));
  kept->test = rows_of(subject.data->whole->test, limits.test, kept->test_images, part_of(watch, 0.8, 1));
  kept->feature_seconds = core::seconds_since(start);
  start = core::Clock::now();
  if (request.standardize) kept->remark = standardize(kept->training, kept->test, place_);
  kept->standardize_seconds = core::seconds_since(start);
  kept_ = std::move(kept);
  return true;
}

std::unique_ptr<classifiers::Classifier> FeatureTrial::fit(const JudgementRequest& request,
                                                           const Watch& watch, double& prepare_seconds) {
  const classifiers::LabelledFeatures data = kept_->training.labelled();
  if (request.classifier != "rbf") {
    try {
      return classifiers::fit_classifier(request.classifier, place_, data, request.settings, watch);
    } catch (const core::OutOfMemory&) {
      if (!kept_->problem) throw;
      kept_->problem.reset();  // it holds more than anything else
      return classifiers::fit_classifier(request.classifier, place_, data, request.settings, watch);
    }
  }
  classifiers::ClassifierSettings settings = request.settings;
  if (settings.c == 0) settings.c = classifiers::classifier_named("rbf").c;
  const bool fresh = !kept_->problem;
  if (fresh) {
    const auto start = core::Clock::now();
    kept_->problem =
        classifiers::make_rbf_svm_problem(place_, data, settings.memory_limit, part_of(watch, 0, 0.2));
    prepare_seconds += core::seconds_since(start);
  }
  return kept_->problem->fit(classifiers::rbf_options(settings), part_of(watch, fresh ? 0.2 : 0, 1));
}

/// Tells of the rows that are kept and of the judgement.
void FeatureTrial::describe(TrialResult& result) const {
  result.subject = kept_->subject;
  result.step = kept_->subject.step;
  result.precision = kept_->subject.precision;
  result.layers = to_string(kept_->layers);
  result.columns = kept_->training.columns;
  result.standardized = kept_->standardized;
  result.remark = kept_->remark;
  result.training_rows = static_cast<std::int64_t>(kept_->training.labels.size());
  result.test_rows = static_cast<std::int64_t>(kept_->test.labels.size());
  result.test_images = kept_->test_images;
  result.truth = kept_->test.labels;
  const Judgement& judgement = result.judgement;
  result.classifier = judgement.classifier;
  result.c = judgement.c;
  result.fit_seconds = judgement.fit_seconds;
  result.predict_seconds = judgement.predict_seconds;
  result.accuracy = judgement.test.accuracy;
  result.converged = judgement.fit.converged;
}

TrialResult FeatureTrial::judge(const TrialRequest& request, const Watch& watch) {
  if (watch.stop.stop_requested()) throw classifiers::Cancelled();
  classifiers::classifier_named(request.judgement.classifier);
  const bool fresh = prepare_rows(request, part_of(watch, 0, 0.5));
  TrialResult result;
  if (fresh) {
    result.feature_seconds = kept_->feature_seconds;
    result.prepare_seconds = kept_->standardize_seconds;
  }
  const Watch rest = part_of(watch, fresh ? 0.5 : 0, 1);
  double prepare_seconds = 0;
  const auto start = core::Clock::now();
  const auto fitted = fit(request.judgement, part_of(rest, 0, 0.9), prepare_seconds);
  const double fit_seconds = core::seconds_since(start) - prepare_seconds;
  result.prepare_seconds += prepare_seconds;
  result.judgement =
      judge_fitted(*fitted, kept_->training, kept_->test, request.judgement, place_, part_of(rest, 0.9, 1));
  result.judgement.fit_seconds = fit_seconds;
  if (const auto* const rbf = dynamic_cast<const classifiers::RbfSvm*>(fitted.get())) {
    result.gamma = request.judgement.settings.gamma;
    result.gamma_value = rbf->model().gamma;
    result.support_vectors = static_cast<std::int64_t>(rbf->model().support.size());
    result.heaviest = heaviest_of(rbf->model(), kept_->training_images);
  }
  describe(result);
  return result;
}

void FeatureTrial::search(const GridRequest& request, const std::function<void(const GridResult&)>& found,
                          const Watch& watch) {
  if (watch.stop.stop_requested()) throw classifiers::Cancelled();
  constexpr double kPrepared = 0.1;
  prepare_rows(request.trial, part_of(watch, 0, kPrepared));
  kept_->problem.reset();  // so that there is room
  GridResult what;
  what.step = kept_->subject.step;
  what.layers = to_string(kept_->layers);
  // What was standardized by all rows is standardized anew, by those that are fitted.
  search_grid(std::move(what), kept_->training, kept_->standardized, request.trial.judgement, request.axes,
              place_, found, part_of(watch, kPrepared, 1));
}

}  // namespace warpscope::features
