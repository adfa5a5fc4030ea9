#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gpu/export/export.h"

namespace warpscope::runs {
namespace {

std::string number(double value) {
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

struct Row {
  std::uint64_t step = 0;
  std::optional<std::size_t> point;  ///< of the steps
  std::vector<std::size_t> tests;    ///< of a cell that several fill the newest counts
  std::string markers;
};

/// One row a step, in their order. A step that was tested twice, as when a run that has ended goes on, has the newest
/// figures.
std::vector<Row> rows_of(const RunPoints& points) {
  std::vector<Row> rows;
  std::size_t test = 0;
  std::size_t marker = 0;
  const auto take_until = [&](std::uint64_t end, bool all) {
    while (test < points.tests.size() && (all || points.tests.step[test] < end)) {
      const std::uint64_t step = points.tests.step[test];
      if (rows.empty() || rows.back().step != step) rows.push_back({step, {}, {}, ""});
      rows.back().tests.push_back(test++);
    }
  };
  for (std::size_t i = 0; i < points.steps.size(); ++i) {
    take_until(points.steps.step[i], false);
    rows.push_back({points.steps.step[i], i, {}, ""});
  }
  take_until(0, true);

  std::vector<RunMarker> markers = points.markers;  // in the order of time: steps may have gone back
  std::ranges::stable_sort(markers, {}, &RunMarker::step);
  std::vector<Row> result;
  const auto take_marker = [&] {
    const RunMarker& taken = markers[marker++];
    if (result.empty() || result.back().step != taken.step) result.push_back({taken.step, {}, {}, ""});
    std::string& text = result.back().markers;
    text += text.empty() ? taken.text : "; " + taken.text;
  };
  for (Row& row : rows) {
    while (marker < markers.size() && markers[marker].step < row.step) take_marker();
    result.push_back(std::move(row));
  }
  while (marker < markers.size()) take_marker();
  return result;
}

void add_row(const RunPoints& points, const Row& row, bool with_markers, std::string& csv) {
  const PointTable* place = row.point ? &points.steps : row.tests.empty() ? nullptr : &points.tests;
  const std::size_t at = row.point ? *row.point : row.tests.empty() ? 0 : row.tests.front();
  csv += fmt::format("{},{},{}", row.step, place == nullptr ? "" : number(place->epoch[at]),
                     place == nullptr ? "" : number(place->seconds[at]));
  const auto add_cell = [&](const std::string& text) {
    csv += ',';
    csv += text;
  };
  for (const Series& series : points.steps.series)
    add_cell(row.point ? number(series.values[*row.point]) : "");
  for (const Series& series : points.tests.series) {
    double newest = std::numeric_limits<double>::quiet_NaN();
    for (const std::size_t test : row.tests) {
      if (!std::isnan(series.values[test])) newest = series.values[test];
    }
    add_cell(number(newest));
  }
  if (with_markers) add_cell(csv_cell(row.markers));
  csv += "\r\n";
}

}  // namespace

std::string csv_cell(std::string_view text) {
  // TEXTDATA of RFC 4180, which has no control characters.
  const bool plain = std::ranges::none_of(
      text, [](char c) { return c == ',' || c == '"' || c == '\x7f' || (c >= 0 && c < ' '); });
  if (plain) return std::string(text);
  std::string quoted;
  quoted += '"';
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

std::string csv_of(const RunPoints& points) {
  const bool with_markers = !points.markers.empty();
  std::string csv = "step,epoch,seconds";
  for (const PointTable* table : {&points.steps, &points.tests}) {
    for (const Series& series : table->series) {
      csv += ',';
      csv += csv_cell(series.name);
    }
  }
  csv += with_markers ? ",markers\r\n" : "\r\n";
  for (const Row& row : rows_of(points)) add_row(points, row, with_markers, csv);
  return csv;
}

}  // namespace warpscope::runs
