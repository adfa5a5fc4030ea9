#include "ui/panels/run_curves.h"

#include <cmath>
#include <utility>

namespace warpscope::ui {
namespace {

double place(const runs::PointTable& table, std::size_t row, runs::Over over) {
  switch (over) {
    case runs::Over::epoch:
      return table.epoch[row];
    case runs::Over::seconds:
      return table.seconds[row];
    default:
      return static_cast<double>(table.step[row]);
  }
}

void append_all(plot::Series& to, const plot::Series& from) {
  for (std::size_t i = 0; i < from.size(); ++i) to.append(from.x(i), from.y(i));
}

}  // namespace

void RunCurves::append(const RunCurves& more) {
  append_all(train, more.train);
  append_all(test, more.test);
  append_all(validation, more.validation);
  end = more.end;
}

void RunCurveReader::add_steps(RunCurves& curves) {
  const runs::PointTable& steps = follower_.run().points.steps;
  const runs::Series* values = steps.find(facts_of(choice_.metric).steps);
  for (std::size_t row = steps_done_; row < steps.size(); ++row) {
    const double x = place(steps, row, choice_.over);
    if (!std::isfinite(x)) continue;
    curves.end = x;
    if (values == nullptr) continue;
    curves.train.append(x, smoother_.next(shown_value(choice_.metric, values->values[row])));
  }
  steps_done_ = steps.size();
}

void RunCurveReader::add_tests(RunCurves& curves) {
  const runs::PointTable& tests = follower_.run().points.tests;
  const MetricFacts& facts = facts_of(choice_.metric);
  const auto add = [&](const char* name, plot::Series& to) {
    const runs::Series* values = tests.find(name);
    if (values == nullptr) return;
    for (std::size_t row = tests_done_; row < tests.size(); ++row) {
      const double x = place(tests, row, choice_.over);
      // Test and validation share a table: a missing value belongs to the other split and is no gap.
      if (std::isfinite(x) && std::isfinite(values->values[row]))
        to.append(x, shown_value(choice_.metric, values->values[row]));
    }
  };
  add(facts.test, curves.test);
  add(facts.validation, curves.validation);
  tests_done_ = tests.size();
}

void RunCurveReader::choose(const CurveChoice& choice) {
  choice_ = choice;
  anew_ = true;
}

std::optional<NewPoints> RunCurveReader::advance(std::uint64_t most_bytes) {
  const runs::RunUpdate update = follower_.poll(most_bytes);
  more_ = update.more;
  NewPoints added;
  added.replace = std::exchange(anew_, false) || update.restarted;
  if (added.replace) {
    const bool averages = facts_of(choice_.metric).smooths;
    smoother_ = plot::Smoother(plot::weight_for(averages ? choice_.smoothing : 1));
    steps_done_ = tests_done_ = 0;
  }
  const auto& points = follower_.run().points;
  if (!added.replace && steps_done_ == points.steps.size() && tests_done_ == points.tests.size()) return {};
  add_steps(added.curves);
  add_tests(added.curves);
  // If only tests are new, the end stays where it was.
  if (added.curves.end == 0 && points.steps.size() > 0)
    added.curves.end = place(points.steps, points.steps.size() - 1, choice_.over);
  return added;
}

}  // namespace warpscope::ui
