// What is the same on all devices: options, the model made of the solved pairs, votes, probabilities.

#include "gpu/classifiers/rbf_svm/rbf_svm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "gpu/classifiers/rbf_svm/backend.h"
#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/core/random.h"
#include "gpu/core/require.h"

namespace warpscope::classifiers {
namespace rbf {

ClassRows sort_by_class(const LabelledFeatures& data) {
  std::vector<std::vector<int>> by_class(static_cast<std::size_t>(data.classes));
  for (std::size_t row = 0; row < data.labels.size(); ++row) {
    by_class[static_cast<std::size_t>(data.labels[row])].push_back(static_cast<int>(row));
  }
  ClassRows sorted;
  for (int label = 0; label < data.classes; ++label) {
    std::vector<int>& rows = by_class[static_cast<std::size_t>(label)];
    if (rows.empty()) continue;
    sorted.present.push_back(label);
    sorted.rows.push_back(std::move(rows));
  }
  return sorted;
}

std::vector<std::array<int, 2>> pairs_of(std::size_t present) {
  std::vector<std::array<int, 2>> pairs;
  for (int a = 0; a < static_cast<int>(present); ++a) {
    for (int b = a + 1; b < static_cast<int>(present); ++b) pairs.push_back({a, b});
  }
  return pairs;
}

std::vector<std::uint8_t> deal_folds(std::size_t rows, std::uint64_t seed) {
  std::vector<std::uint8_t> folds(rows);
  for (std::size_t row = 0; row < rows; ++row) folds[row] = static_cast<std::uint8_t>(row % kFolds);
  core::SplitMix64 random(seed);
  for (std::size_t row = rows; row > 1; --row) {
    std::swap(folds[row - 1], folds[static_cast<std::size_t>(random.next() % row)]);
  }
  return folds;
}

void look(const Watch& watch, double part, std::string_view phase) {
  if (watch.stop.stop_requested()) throw Cancelled();
  if (watch.progress) watch.progress(part, phase);
}

void refuse_number(std::int64_t row, std::int64_t column) {
  throw core::BadInput(
      fmt::format("the features of row {} are not all finite numbers; the first that is not is in column {}",
                  row, column));
}

namespace {

void check_options(const RbfSvmOptions& options, int classes) {
  // Sums of alphas are kept in double, steps in FP32.
  core::require(options.c > 0.0 && options.c <= 1e12, "C must be above 0 and at most 1e12, not {}",
                options.c);
  core::require(
      options.gamma_rule != GammaRule::number || (options.gamma > 0.0 && std::isfinite(options.gamma)),
      "gamma must be above 0, not {}", options.gamma);
  core::require(options.tolerance > 0.0 && options.tolerance < 1.0,
                "the tolerance must be between 0 and 1, not {}", options.tolerance);
  core::require(options.max_iterations >= 1, "the bound of the iterations must be at least 1, not {}",
                options.max_iterations);
  core::require(options.class_weights.empty() || static_cast<int>(options.class_weights.size()) == classes,
                "there are {} class weights for {} classes", options.class_weights.size(), classes);
  for (const double weight : options.class_weights) {
    core::require(weight > 0.0 && options.c * weight <= 1e12,
                  "C times a class weight must be above 0 and at most 1e12; a weight is, not {}", weight);
  }
}

/// The model that solved pairs make.
RbfSvmModel make_model(const ClassRows& sorted, int classes, int columns, const Task& task,
                       const std::vector<PairSolution>& solutions) {
  RbfSvmModel model;
  model.classes = classes;
  model.columns = columns;
  model.gamma = task.gamma;
  model.present = sorted.present;
  const std::size_t present = sorted.present.size();
  const auto pairs = pairs_of(present);
  // Coefficients of all rows of each class, before those without any are left out.
  std::vector<std::vector<double>> dense(present);
  for (std::size_t k = 0; k < present; ++k) dense[k].assign(sorted.rows[k].size() * (present - 1), 0.0);
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    const auto a = static_cast<std::size_t>(pairs[pair][0]);
    const auto b = static_cast<std::size_t>(pairs[pair][1]);
    const PairSolution& solution = solutions[pair];
    const std::size_t first = sorted.rows[a].size();
    for (std::size_t row = 0; row < first; ++row) {
      dense[a][row * (present - 1) + b - 1] = solution.alpha[row];
    }
    for (std::size_t row = 0; row < sorted.rows[b].size(); ++row) {
      dense[b][row * (present - 1) + a] = -solution.alpha[first + row];
    }
    model.rho.push_back(solution.rho);
    if (!solution.sigmoid) continue;
    model.sigmoid_a.push_back(solution.sigmoid->a);
    model.sigmoid_b.push_back(solution.sigmoid->b);
  }
  for (std::size_t k = 0; k < present; ++k) {
    model.first.push_back(static_cast<std::int64_t>(model.support.size()));
    for (std::size_t row = 0; row < sorted.rows[k].size(); ++row) {
      const double* const begin = dense[k].data() + row * (present - 1);
      if (std::all_of(begin, begin + present - 1, [](double c) { return c == 0.0; })) continue;
      model.support.push_back(sorted.rows[k][row]);
      model.coefficients.insert(model.coefficients.end(), begin, begin + present - 1);
    }
  }
  model.first.push_back(static_cast<std::int64_t>(model.support.size()));
  return model;
}

FitSummary summarize(const std::vector<PairReport>& pairs, const ClassRows& sorted, int classes,
                     const Task& task) {
  FitSummary summary;
  summary.rule = "gap of the KKT conditions";
  summary.tolerance = task.tolerance;
  summary.converged = true;
  for (const PairReport& pair : pairs) {
    summary.objective += pair.objective;
    summary.iterations += pair.iterations;
    summary.reached = std::max(summary.reached, pair.gap);
    if (pair.converged) continue;
    summary.converged = false;
    summary.remarks.push_back(fmt::format(
        "classes {} and {} stopped after {} steps with a gap of {:.2g}, above the tolerance of {:.2g}",
        pair.first, pair.second, pair.iterations, pair.gap, task.tolerance));
  }
  for (int label = 0, k = 0; label < classes; ++label) {
    if (k < static_cast<int>(sorted.present.size()) && sorted.present[static_cast<std::size_t>(k)] == label) {
      ++k;
    } else {
      summary.remarks.push_back(fmt::format("class {} has no rows and is never predicted", label));
    }
  }
  return summary;
}

/// Votes, scores, margin and probabilities of one row from its decision values.
class Voter {
 public:
  explicit Voter(const RbfSvmModel& model) : model_(model), pairs_(pairs_of(model.present.size())) {}

  void judge(const float* decisions, std::size_t row, Prediction& prediction) const {
    const std::size_t present = model_.present.size();
    std::vector<int> votes(present, 0);
    std::vector<double> sums(present, 0.0);
    for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
      const auto a = static_cast<std::size_t>(pairs_[pair][0]);
      const auto b = static_cast<std::size_t>(pairs_[pair][1]);
      ++votes[decisions[pair] > 0 ? a : b];
      sums[a] += static_cast<double>(decisions[pair]);
      sums[b] -= static_cast<double>(decisions[pair]);
    }
    const auto best = static_cast<std::size_t>(std::ranges::max_element(votes) - votes.begin());
    prediction.labels[row] = model_.present[best];
    const auto classes = static_cast<std::size_t>(model_.classes);
    for (std::size_t k = 0; k < present; ++k) {
      // In (-1/2, 1/2), so that votes decide first, as in scikit-learn.
      const double mean = sums[k] / static_cast<double>(present - 1);
      const double tie = 0.499 * mean / (1.0 + std::abs(mean));
      prediction.scores[row * classes + static_cast<std::size_t>(model_.present[k])] =
          static_cast<float>(votes[k] + tie);
    }
    prediction.margins[row] = margin_of(decisions, best);
    if (!model_.sigmoid_a.empty()) couple_row(decisions, row, prediction);
  }

 private:
  float margin_of(const float* decisions, std::size_t best) const {
    float least = std::numeric_limits<float>::max();
    for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
      if (static_cast<std::size_t>(pairs_[pair][0]) != best &&
          static_cast<std::size_t>(pairs_[pair][1]) != best)
        continue;
      least = std::min(least, std::abs(decisions[pair]));
    }
    return least;
  }

  void couple_row(const float* decisions, std::size_t row, Prediction& prediction) const {
    const std::size_t present = model_.present.size();
    std::vector<double> pairwise(present * present, 0.0);
    for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
      const auto a = static_cast<std::size_t>(pairs_[pair][0]);
      const auto b = static_cast<std::size_t>(pairs_[pair][1]);
      const double p =
          probability({model_.sigmoid_a[pair], model_.sigmoid_b[pair]}, static_cast<double>(decisions[pair]));
      pairwise[a * present + b] = p;
      pairwise[b * present + a] = 1 - p;
    }
    const std::vector<double> coupled = couple(pairwise, static_cast<int>(present));
    for (std::size_t k = 0; k < present; ++k) {
      prediction.probabilities[row * static_cast<std::size_t>(model_.classes) +
                               static_cast<std::size_t>(model_.present[k])] = static_cast<float>(coupled[k]);
    }
  }

  const RbfSvmModel& model_;
  std::vector<std::array<int, 2>> pairs_;
};

}  // namespace
}  // namespace rbf

std::vector<double> RbfSvmModel::weights() const {
  const std::size_t width = present.size() - 1;
  std::vector<double> weights(support.size(), 0.0);
  for (std::size_t k = 0; k < coefficients.size(); ++k) {
    weights[k / width] = std::max(weights[k / width], std::abs(coefficients[k]));
  }
  return weights;
}

RbfSvm::RbfSvm(RbfSvmModel model, std::vector<PairReport> pairs, FitSummary summary,
               std::shared_ptr<const rbf::Decider> decider)
    : model_(std::move(model)),
      pairs_(std::move(pairs)),
      summary_(std::move(summary)),
      decider_(std::move(decider)) {}

std::vector<float> RbfSvm::decisions(const Place& place, const FeatureMatrix& features,
                                     const Watch& watch) const {
  if (features.columns != model_.columns) {
    throw core::BadInput(fmt::format("the machine was fitted to {} columns; these rows have {}",
                                     model_.columns, features.columns));
  }
  if (features.rows < 1) return {};
  return decider_->decide(place, features, watch);
}

Prediction RbfSvm::predict(const Place& place, const FeatureMatrix& features, const Watch& watch) const {
  const std::vector<float> values = decisions(place, features, watch);
  const auto rows = static_cast<std::size_t>(std::max<std::int64_t>(features.rows, 0));
  const auto classes = static_cast<std::size_t>(model_.classes);
  Prediction prediction;
  prediction.classes = model_.classes;
  prediction.labels.resize(rows);
  // Below every class that can win.
  prediction.scores.assign(rows * classes, -1.0f);
  prediction.margins.resize(rows);
  if (!model_.sigmoid_a.empty()) prediction.probabilities.assign(rows * classes, 0.0f);
  const rbf::Voter voter(model_);
  core::parallel_for(static_cast<std::int64_t>(rows), 1024, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      voter.judge(values.data() + static_cast<std::size_t>(row) * model_.pairs(),
                  static_cast<std::size_t>(row), prediction);
    }
  });
  return prediction;
}

RbfSvmProblem::RbfSvmProblem(const LabelledFeatures& data, std::shared_ptr<const rbf::ClassRows> sorted,
                             std::shared_ptr<rbf::Backend> backend, std::vector<PhaseTime> prepared)
    : classes_(data.classes),
      columns_(data.features.columns),
      sorted_(std::move(sorted)),
      backend_(std::move(backend)),
      prepared_(std::move(prepared)) {}

double RbfSvmProblem::gamma(const RbfSvmOptions& options) const {
  if (options.gamma_rule == GammaRule::number) return options.gamma;
  const double variance = options.gamma_rule == GammaRule::scale ? backend_->variance() : 1.0;
  return variance > 0.0 ? 1.0 / (static_cast<double>(columns_) * variance) : 1.0;
}

std::unique_ptr<RbfSvm> RbfSvmProblem::fit(const RbfSvmOptions& options, const Watch& watch) {
  rbf::check_options(options, classes_);
  rbf::Task task{gamma(options), options.tolerance, {}, options.probabilities, options.max_iterations};
  for (const int label : sorted_->present) {
    const auto at = static_cast<std::size_t>(label);
    task.bounds.push_back(options.c * (options.class_weights.empty() ? 1.0 : options.class_weights[at]));
  }
  core::Phases phases;
  phases.begin("planning");
  const std::vector<rbf::PairSolution> solutions = backend_->solve(task, phases, watch);
  phases.begin("model");
  RbfSvmModel model = rbf::make_model(*sorted_, classes_, columns_, task, solutions);
  std::shared_ptr<const rbf::Decider> decider = backend_->make_decider(model);
  std::vector<PairReport> reports;
  for (const rbf::PairSolution& solution : solutions) reports.push_back(solution.report);
  FitSummary summary = rbf::summarize(reports, *sorted_, classes_, task);
  summary.phases = std::exchange(prepared_, {});
  for (PhaseTime& phase : phases.end()) summary.phases.push_back(std::move(phase));
  return std::make_unique<RbfSvm>(std::move(model), std::move(reports), std::move(summary),
                                  std::move(decider));
}

std::size_t RbfSvmProblem::peak_bytes() const {
  return backend_->peak_bytes();
}

std::unique_ptr<RbfSvmProblem> make_rbf_svm_problem(const Place& place, const LabelledFeatures& data,
                                                    std::size_t memory_limit, const Watch& watch) {
  check_labels(data);
  if (data.features.rows > std::numeric_limits<int>::max() / 2) {
    throw core::BadInput(fmt::format("{} rows are more than the RBF SVM takes, {}", data.features.rows,
                                     std::numeric_limits<int>::max() / 2));
  }
  core::Phases phases;
  phases.begin("preparing");
  const auto sorted = std::make_shared<const rbf::ClassRows>(rbf::sort_by_class(data));
  std::shared_ptr<rbf::Backend> backend;
  if constexpr (core::kHaveCuda) {
    if (place.device->kind() == core::DeviceKind::cuda)
      backend = rbf::make_cuda_backend(place, data, *sorted, memory_limit, watch);
  }
  if (!backend) backend = rbf::make_libsvm_backend(data, *sorted);
  rbf::look(watch, 0.0, "preparing");
  return std::make_unique<RbfSvmProblem>(data, sorted, std::move(backend), phases.end());
}

}  // namespace warpscope::classifiers
