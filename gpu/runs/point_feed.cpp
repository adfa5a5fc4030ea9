#include <algorithm>
#include <cmath>

#include "gpu/runs/run_view.h"

namespace warpscope::runs {
namespace {

using training::FeedItem;

double known(double value) {
  return std::isnan(value) ? 0 : value;
}

training::Point placed(training::Point point) {
  point.epoch = known(point.epoch);
  point.seconds = known(point.seconds);
  return point;
}

/// The value that tells one reading of a row from another.
double value_of(const PointTable& table, std::size_t row) {
  return table.series.empty() ? 0 : table.series.front().values[row];
}

bool equal(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

std::size_t PointFeed::kept(const std::vector<Sent>& sent, const PointTable& table) {
  const std::size_t most = std::min(sent.size(), table.size());
  std::size_t same = 0;
  while (same < most && sent[same].step == table.step[same] && equal(sent[same].value, value_of(table, same)))
    ++same;
  return same;
}

void PointFeed::note(std::vector<Sent>& sent, const PointTable& table, std::size_t first) {
  sent.resize(first);
  for (std::size_t i = first; i < table.size(); ++i) sent.push_back({table.step[i], value_of(table, i)});
}

void PointFeed::keep_last() {
  for (std::vector<Sent>* sent : {&steps_, &tests_}) {
    if (!sent->empty()) sent->erase(sent->begin(), sent->end() - 1);
  }
}

std::vector<FeedItem> PointFeed::take(const RunPoints& points, bool restarted) {
  std::vector<FeedItem> items;
  if (points.resets != generation_) {
    const bool any = !steps_.empty() || !tests_.empty() || markers_ > 0;
    generation_ = points.resets;
    steps_.clear();
    tests_.clear();
    markers_ = 0;
    if (any) items.emplace_back(training::Restart{generation_});
  }
  std::size_t step = restarted ? kept(steps_, points.steps) : steps_.size();
  std::size_t test = restarted ? kept(tests_, points.tests) : tests_.size();
  if (step < steps_.size() && points.steps.size() > 0) {
    // Where only the end was cut off, the last step that is left says so. A reader drops the tests from there on too.
    step = std::min(step, points.steps.size() - 1);
    while (test > 0 && points.tests.step[test - 1] >= points.steps.step[step]) --test;
  }
  const MetricColumns columns(points.steps, training::Split::train);
  for (std::size_t i = step; i < points.steps.size(); ++i) items.emplace_back(placed(columns.at(i)));
  for (const training::Point& point : tests_of(points.tests, test)) items.emplace_back(placed(point));
  // Markers are only ever added, but for a run that was cut back: those that are left were sent.
  for (std::size_t i = std::min(markers_, points.markers.size()); i < points.markers.size(); ++i) {
    const RunMarker& marker = points.markers[i];
    items.emplace_back(training::Marker{marker.step, known(marker.seconds), marker.text, marker.anew});
  }
  note(steps_, points.steps, step);
  note(tests_, points.tests, test);
  markers_ = points.markers.size();
  return items;
}

}  // namespace warpscope::runs
