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

void RunCurveMaker::add_steps(RunCurves& curves) {
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

void RunCurveMaker::add_tests(RunCurves& curves) {
  const runs::PointTable& tests = follower_.run().points.tests;
  const MetricFacts& facts = facts_of(choice_.metric);
  const auto add = [&](const char* name, plot::Series& to) {
    const runs::Series* values = tests.find(name);
    if (values == nullptr) return;
    for (std::size_t row = tests_done_; row < tests.size(); ++row) {
      const double x = place(tests, row, choice_.over);
      // Tests of both splits share a table: what a row does not have is no gap in the curve.
      if (std::isfinite(x) && std::isfinite(values->values[row]))
        to.append(x, shown_value(choice_.metric, values->values[row]));
    }
  };
  add(facts.test, curves.test);
  add(facts.validation, curves.validation);
  tests_done_ = tests.size();
}

void RunCurveMaker::choose(const CurveChoice& choice) {
  choice_ = choice;
  anew_ = true;
}

std::optional<RunGain> RunCurveMaker::advance(std::uint64_t most_bytes) {
  const runs::RunUpdate update = follower_.poll(most_bytes);
  more_ = update.more;
  RunGain gain;
  gain.anew = std::exchange(anew_, false) || update.restarted;
  if (gain.anew) {
    const bool averages = facts_of(choice_.metric).smooths;
    smoother_ = plot::Smoother(plot::weight_for(averages ? choice_.smoothing : 1));
    steps_done_ = tests_done_ = 0;
  }
  const auto& points = follower_.run().points;
  if (!gain.anew && steps_done_ == points.steps.size() && tests_done_ == points.tests.size()) return {};
  add_steps(gain.curves);
  add_tests(gain.curves);
  // A gain of tests alone leaves the end where it was.
  if (gain.curves.end == 0 && points.steps.size() > 0)
    gain.curves.end = place(points.steps, points.steps.size() - 1, choice_.over);
  return gain;
}

}  // namespace warpscope::ui
