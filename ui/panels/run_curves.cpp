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

void RunCurveReader::add_steps(Chosen& chosen, RunCurves& curves) const {
  const runs::PointTable& steps = follower_.run().points.steps;
  const Metric metric = chosen.choice.metric;
  const runs::Series* values = steps.find(facts_of(metric).steps);
  for (std::size_t row = steps_done_; row < steps.size(); ++row) {
    const double x = place(steps, row, chosen.choice.over);
    if (!std::isfinite(x)) continue;
    curves.end = x;
    if (values == nullptr) continue;
    curves.train.append(x, chosen.smoother.next(shown_value(metric, values->values[row])));
  }
  // If only tests are new, the end stays where it was.
  if (curves.end == 0 && steps.size() > 0) curves.end = place(steps, steps.size() - 1, chosen.choice.over);
}

void RunCurveReader::add_tests(const Chosen& chosen, RunCurves& curves) const {
  const runs::PointTable& tests = follower_.run().points.tests;
  const Metric metric = chosen.choice.metric;
  const auto add = [&](const std::string& name, plot::Series& to) {
    const runs::Series* values = tests.find(name);
    if (values == nullptr) return;
    for (std::size_t row = tests_done_; row < tests.size(); ++row) {
      const double x = place(tests, row, chosen.choice.over);
      // Test and validation share a table: a missing value belongs to the other split and is no gap.
      if (std::isfinite(x) && std::isfinite(values->values[row]))
        to.append(x, shown_value(metric, values->values[row]));
    }
  };
  add(facts_of(metric).test, curves.test);
  add(facts_of(metric).validation, curves.validation);
}

void RunCurveReader::choose(std::span<const CurveChoice> choices) {
  chosen_.clear();
  for (const CurveChoice& choice : choices) chosen_.push_back({.choice = choice});
  anew_ = true;
}

std::optional<NewPoints> RunCurveReader::advance(std::uint64_t most_bytes) {
  const runs::RunUpdate update = follower_.poll(most_bytes);
  more_ = update.more;
  NewPoints added;
  added.replace = std::exchange(anew_, false) || update.restarted;
  if (added.replace) {
    for (Chosen& chosen : chosen_) {
      const bool averages = facts_of(chosen.choice.metric).smooths;
      chosen.smoother = plot::Smoother(plot::weight_for(averages ? chosen.choice.smoothing : 1));
    }
    steps_done_ = tests_done_ = 0;
  }
  const auto& points = follower_.run().points;
  if (!added.replace && steps_done_ == points.steps.size() && tests_done_ == points.tests.size()) return {};
  for (Chosen& chosen : chosen_) {
    RunCurves& curves = added.curves.emplace_back();
    add_steps(chosen, curves);
    add_tests(chosen, curves);
  }
  steps_done_ = points.steps.size();
  tests_done_ = points.tests.size();
  return added;
}

}  // namespace warpscope::ui
