#include "gpu/runs/run_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace warpscope::runs {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// The values of `name`, made of NaN for the points before this one if it is new. Lines mostly have the same
/// keys in the same order, so the search begins at `hint`.
Series& series_named(PointTable& table, const std::string& name, std::size_t hint) {
  if (hint < table.series.size() && table.series[hint].name == name) return table.series[hint];
  const auto found = std::find_if(table.series.begin(), table.series.end(),
                                  [&](const Series& series) { return series.name == name; });
  if (found != table.series.end()) return *found;
  table.series.push_back({name, std::vector<double>(table.step.size(), kNone)});
  return table.series.back();
}

void append(PointTable& table, const MetricsLine& line) {
  table.step.push_back(line.step);
  table.epoch.push_back(line.epoch);
  table.seconds.push_back(line.seconds);
  for (Series& series : table.series) series.values.push_back(kNone);
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    series_named(table, line.values[i].first, i).values.back() = line.values[i].second;
  }
}

/// Drops the points from `step` on. Returns true if there were any.
bool cut(PointTable& table, std::uint64_t step) {
  const auto kept = static_cast<std::size_t>(std::lower_bound(table.step.begin(), table.step.end(), step) -
                                             table.step.begin());
  if (kept == table.step.size()) return false;
  table.step.resize(kept);
  table.epoch.resize(kept);
  table.seconds.resize(kept);
  for (Series& series : table.series) series.values.resize(kept);
  return true;
}

void keep_last(PointTable& table) {
  if (table.size() == 0) return;
  const auto last_of = [](auto& column) { column.erase(column.begin(), column.end() - 1); };
  last_of(table.step);
  last_of(table.epoch);
  last_of(table.seconds);
  for (Series& series : table.series) last_of(series.values);
}

}  // namespace

const Series* PointTable::find(std::string_view name) const {
  for (const Series& one : series) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

MetricColumns::MetricColumns(const PointTable& table, training::Split split)
    : table_(table), split_(split), skipped_(table.find("skipped")) {
  for (const training::MetricRow& row : training::metrics()) {
    const std::string& name = row.series(split);
    if (!name.empty()) series_[static_cast<std::size_t>(row.metric)] = table.find(name);
  }
}

training::Point MetricColumns::at(std::size_t row) const {
  training::Point point{table_.step[row], table_.epoch[row], table_.seconds[row], split_};
  point.skipped = split_ == training::Split::train && skipped_ != nullptr && skipped_->values[row] > 0;
  for (const training::MetricRow& metric : training::metrics()) {
    const Series* const series = series_[static_cast<std::size_t>(metric.metric)];
    if (series != nullptr) point[metric.metric] = static_cast<float>(series->values[row]);
  }
  return point;
}

bool MetricColumns::any(std::size_t row) const {
  return std::any_of(series_.begin(), series_.end(), [row](const Series* series) {
    return series != nullptr && !std::isnan(series->values[row]);
  });
}

std::vector<training::Point> tests_of(const PointTable& table, std::size_t first) {
  std::vector<training::Point> tests;
  for (const training::Split split : {training::Split::validation, training::Split::test}) {
    const MetricColumns columns(table, split);
    for (std::size_t i = first; i < table.size(); ++i) {
      if (columns.any(i)) tests.push_back(columns.at(i));
    }
  }
  return tests;
}

bool RunPoints::add(const MetricsLine& line) {
  bool dropped = false;
  switch (line.kind) {
    case MetricsLine::Kind::step:
      if (!steps.step.empty() && line.step <= steps.step.back()) {
        cut(steps, line.step);
        // A test at step N comes after that step's own line.
        cut(tests, line.step);
        dropped = true;
      }
      append(steps, line);
      break;
    case MetricsLine::Kind::test:
      if (!tests.step.empty() && line.step < tests.step.back()) dropped = cut(tests, line.step + 1);
      append(tests, line);
      break;
    case MetricsLine::Kind::marker:
      if (line.step == 0 && line.marker == "reset") {
        dropped = steps.size() > 0 || tests.size() > 0 || !markers.empty();
        const std::uint64_t before = resets;
        *this = {};
        resets = before + 1;
      } else {
        markers.push_back({line.step, line.seconds, line.marker, line.anew});
      }
      break;
  }
  return dropped;
}

void RunPoints::keep_last() {
  runs::keep_last(steps);
  runs::keep_last(tests);
}

}  // namespace warpscope::runs
