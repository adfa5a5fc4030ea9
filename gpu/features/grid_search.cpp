#include "gpu/features/grid_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/phases.h"
#include "gpu/features/part_of.h"

namespace warpscope::features {
namespace {

using classifiers::Watch;

constexpr std::size_t kFold = 5, kLeastRows = 10;

/// Fits of one C and gamma after the other.
class Grid {
 public:
  Grid(const JudgementRequest& request, HeldRows rows, const classifiers::Place& place, const Watch& watch)
      : request_(request), rows_(std::move(rows)), place_(place) {
    if (request.classifier != "rbf") return;
    problem_ = classifiers::make_rbf_svm_problem(place, rows_.fitted.labelled(),
                                                 request.settings.memory_limit, watch);
    scale_ = problem_->gamma({});
  }
  bool has_gamma() const { return problem_ != nullptr; }
  double scale() const { return scale_; }

  /// Accuracy on the rows kept back.
  double judge(double c, double gamma, const Watch& watch) {
    classifiers::ClassifierSettings settings = request_.settings;
    settings.c = c;
    std::unique_ptr<classifiers::Classifier> fitted;
    if (problem_) {
      settings.gamma = fmt::format("{}", gamma);
      fitted = problem_->fit(classifiers::rbf_options(settings), watch);
    } else {
      fitted =
          classifiers::fit_classifier(request_.classifier, place_, rows_.fitted.labelled(), settings, watch);
    }
    const auto labels = fitted->predict(place_, rows_.held.matrix(), {{}, watch.stop}).labels;
    return classifiers::measure(rows_.held.labels, labels, rows_.held.classes).accuracy;
  }

 private:
  const JudgementRequest& request_;
  HeldRows rows_;
  classifiers::Place place_;
  std::unique_ptr<classifiers::RbfSvmProblem> problem_;
  double scale_ = 0;
};

void copy_row(const LabelledRows& from, std::size_t row, LabelledRows& to, const classifiers::Place& place) {
  const auto columns = static_cast<std::size_t>(from.columns);
  place.stream->copy(to.values.as<float>() + to.labels.size() * columns,
                     from.values.as<float>() + row * columns, columns * sizeof(float));
  to.labels.push_back(from.labels[row]);
}

}  // namespace

int GridResult::best() const {
  int found = -1;
  for (std::size_t i = 0; i < accuracy.size(); ++i) {
    if (!std::isnan(accuracy[i]) && (found < 0 || accuracy[i] > accuracy[static_cast<std::size_t>(found)]))
      found = static_cast<int>(i);
  }
  return found;
}

int GridResult::done() const {
  return static_cast<int>(std::ranges::count_if(accuracy, [](double value) { return !std::isnan(value); }));
}

HeldRows hold_back(const LabelledRows& rows, const classifiers::Place& place) {
  const std::size_t count = rows.labels.size();
  if (count < kLeastRows) {
    throw core::BadInput(
        fmt::format("a search needs at least {} training rows, there are {}", kLeastRows, count));
  }
  HeldRows made;
  const auto make = [&](std::size_t part) {
    LabelledRows empty;
    empty.columns = rows.columns;
    empty.classes = rows.classes;
    empty.values = core::Buffer(place.device, part * static_cast<std::size_t>(rows.columns) * sizeof(float));
    return empty;
  };
  made.held = make(count / kFold);
  made.fitted = make(count - count / kFold);
  for (std::size_t row = 0; row < count; ++row) {
    copy_row(rows, row, row % kFold == kFold - 1 ? made.held : made.fitted, place);
  }
  place.stream->synchronize();
  return made;
}

void search_grid(GridResult result, const LabelledRows& training, bool standardized,
                 const JudgementRequest& request, const GridAxes& axes, const classifiers::Place& place,
                 const std::function<void(const GridResult&)>& found, const Watch& watch) {
  const auto& row = classifiers::classifier_named(request.classifier);
  if (row.c == 0) throw core::BadInput(fmt::format("{} has no C to search", row.title));
  constexpr double kPrepared = 0.1;
  HeldRows rows = hold_back(training, place);
  result.classifier = row.name;
  result.cs = axes.cs;
  result.gammas = {0};
  result.fitted_rows = static_cast<std::int64_t>(rows.fitted.labels.size());
  result.held_rows = static_cast<std::int64_t>(rows.held.labels.size());
  if (standardized) standardize(rows.fitted, rows.held, place);
  Grid grid(request, std::move(rows), place, part_of(watch, 0, kPrepared));
  if (grid.has_gamma()) {
    result.gammas.clear();
    for (const double factor : axes.gammas) result.gammas.push_back(factor * grid.scale());
  }
  const std::size_t cells = result.gammas.size() * result.cs.size();
  result.accuracy.assign(cells, std::numeric_limits<double>::quiet_NaN());
  result.seconds.assign(cells, 0);
  found(result);
  for (std::size_t i = 0; i < cells; ++i) {
    const auto at = [&](std::size_t cell) {
      return kPrepared + (1 - kPrepared) * static_cast<double>(cell) / static_cast<double>(cells);
    };
    const auto start = core::Clock::now();
    result.accuracy[i] = grid.judge(result.cs[i % result.cs.size()], result.gammas[i / result.cs.size()],
                                    part_of(watch, at(i), at(i + 1)));
    result.seconds[i] = core::seconds_since(start);
    found(result);
  }
}

}  // namespace warpscope::features
