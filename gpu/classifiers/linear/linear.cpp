#include "gpu/classifiers/linear/linear.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "gpu/classifiers/columns.h"
#include "gpu/classifiers/linear/newton.h"
#include "gpu/classifiers/scores.h"
#include "gpu/core/error.h"
#include "gpu/core/require.h"

namespace warpscope::classifiers::linear {
namespace {

void check_options(const Place& place, const LinearOptions& options) {
  core::require(options.c > 0 && std::isfinite(options.c), "C is {}; it must be a number above 0", options.c);
  core::require(options.tolerance > 0 && options.tolerance < 1,
                "the tolerance is {}; it must be between 0 and 1", options.tolerance);
  core::require(options.most_products >= 1, "the bound of products must be at least 1");
  if (options.solver != LinearSolver::package) return;
  if (options.loss == LinearLoss::softmax) throw core::BadInput("liblinear has no softmax regression");
  if (place.device->kind() != core::DeviceKind::cpu) throw core::BadInput("liblinear runs on the CPU only");
}

/// The problems that data makes: which class each is of, and the problem of each row.
struct Problems {
  std::vector<int> class_of;
  std::vector<int> problem_of;
  std::vector<bool> present;
  int count = 0;  ///< that are solved: one for two classes and a margin loss
};

Problems find_problems(const LabelledFeatures& data, LinearLoss loss) {
  Problems problems;
  problems.present.resize(static_cast<std::size_t>(data.classes));
  for (const int label : data.labels) problems.present[static_cast<std::size_t>(label)] = true;
  std::vector<int> place(problems.present.size(), -1);
  for (int one = 0; one < data.classes; ++one) {
    if (!problems.present[static_cast<std::size_t>(one)]) continue;
    place[static_cast<std::size_t>(one)] = static_cast<int>(problems.class_of.size());
    problems.class_of.push_back(one);
  }
  for (const int label : data.labels) problems.problem_of.push_back(place[static_cast<std::size_t>(label)]);
  problems.count = static_cast<int>(problems.class_of.size());
  // The problem of the second class would be the first's with all signs turned.
  if (loss != LinearLoss::softmax && problems.count == 2) problems.count = 1;
  return problems;
}

Loss loss_of(const LinearOptions& options) {
  Loss loss;
  loss.weight = options.c;
  loss.kind = options.loss == LinearLoss::softmax ? LossKind::softmax : LossKind::margin;
  loss.hinge = options.loss == LinearLoss::hinge;
  loss.slope = loss.hinge ? 0.5 * options.c : 2 * options.c;
  loss.most = loss.hinge ? options.c : std::numeric_limits<double>::infinity();
  return loss;
}

bool by_package(const Place& place, const LinearOptions& options) {
  if (options.solver == LinearSolver::newton || options.loss == LinearLoss::softmax) return false;
  return place.device->kind() == core::DeviceKind::cpu;
}

/// The weights of all classes from those of the problems.
std::vector<double> spread(const Problems& problems, const std::vector<double>& solved, int classes,
                           int columns) {
  const auto width = static_cast<std::size_t>(columns) + 1;
  std::vector<double> weights(static_cast<std::size_t>(classes) * width);
  for (std::size_t i = 0; i < problems.class_of.size(); ++i) {
    const bool turned = i >= static_cast<std::size_t>(problems.count);
    const double* const from = solved.data() + (turned ? 0 : i * width);
    double* const to = weights.data() + static_cast<std::size_t>(problems.class_of[i]) * width;
    for (std::size_t j = 0; j < width; ++j) to[j] = turned ? -from[j] : from[j];
  }
  return weights;
}

void summarize(const NewtonResult& result, const LinearOptions& options, LinearFit& fit) {
  FitSummary& summary = fit.summary;
  summary.rule = "what is left to gain, over the objective";
  summary.tolerance = options.tolerance;
  summary.converged = true;
  for (const NewtonReport& report : result.groups) {
    summary.converged = summary.converged && report.converged;
    summary.objective += report.objective;
    summary.iterations += report.iterations;
    summary.reached = std::max(summary.reached, report.objective > 0 ? report.left / report.objective : 0.0);
  }
  for (std::size_t one = 0; one < fit.present.size(); ++one) {
    if (!fit.present[one])
      summary.remarks.push_back(fmt::format("class {} has no rows and is left out", one));
  }
  if (!summary.converged) {
    summary.remarks.push_back(fmt::format("ended before the tolerance was reached: {}", result.ended));
  }
}

}  // namespace

std::unique_ptr<LinearClassifier> fit_linear(const Place& place, const LabelledFeatures& data,
                                             const LinearOptions& options, const Watch& watch) {
  check_labels(data);
  check_options(place, options);
  core::Phases phases;
  phases.begin("checking");
  if (watch.stop.stop_requested()) throw Cancelled();
  check_finite(place, data.features);
  const Problems problems = find_problems(data, options.loss);
  LinearFit fit;
  fit.loss = options.loss;
  fit.classes = data.classes;
  fit.columns = data.features.columns;
  fit.present = problems.present;
  phases.begin("solving");
  const NewtonOptions newton{loss_of(options), options.tolerance, options.most_products};
  const auto solve = by_package(place, options) ? solve_liblinear : solve_newton;
  const NewtonResult result = solve(place, data.features, problems.problem_of, problems.count, newton, watch);
  fit.summary.phases = phases.end();
  fit.weights = spread(problems, result.weights, data.classes, data.features.columns);
  fit.problems = result.groups;
  fit.bytes = result.bytes;
  summarize(result, options, fit);
  return std::make_unique<LinearClassifier>(std::move(fit));
}

std::string_view LinearClassifier::name() const {
  constexpr std::array<std::string_view, 3> kNames{"linear", "hinge", "softmax"};
  return kNames.at(static_cast<std::size_t>(fit_.loss));
}

Prediction LinearClassifier::predict(const Place& place, const FeatureMatrix& features,
                                     const Watch& watch) const {
  if (features.columns != fit_.columns) {
    throw core::BadInput(
        fmt::format("the classifier takes {} columns, the features have {}", fit_.columns, features.columns));
  }
  if (features.rows == 0) return prediction_of({}, fit_.present, false);
  check_finite(place, features);
  if (watch.stop.stop_requested()) throw Cancelled();
  return prediction_of(linear_scores(place, features, fit_.weights, fit_.classes), fit_.present,
                       fit_.loss == LinearLoss::softmax);
}

}  // namespace warpscope::classifiers::linear
