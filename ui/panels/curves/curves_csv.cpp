#include "ui/panels/curves/curves_csv.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "gpu/export/export.h"

namespace warpscope::ui {
namespace {

// The indices of the points to be written, in order.
std::vector<std::size_t> points_of(const plot::Series& series, plot::Span range, std::size_t most,
                                   bool& thinned) {
  std::vector<std::size_t> points;
  const auto add = [&](std::size_t i) {
    if (std::isfinite(series.y(i)) && (points.empty() || points.back() < i)) points.push_back(i);
  };
  const std::size_t first = series.lower_bound(range.low);
  std::size_t last = series.lower_bound(range.high);
  while (last < series.size() && series.x(last) == range.high) ++last;
  if (last - first <= most) {
    for (std::size_t i = first; i < last; ++i) add(i);
    return points;
  }
  thinned = true;
  const std::size_t parts = std::max<std::size_t>(1, most / 4);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = first + part * (last - first) / parts,
                      end = first + (part + 1) * (last - first) / parts;
    std::size_t low = end, high = end;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(series.y(i))) continue;
      if (low == end || series.y(i) < series.y(low)) low = i;
      if (high == end || series.y(i) > series.y(high)) high = i;
    }
    if (low == end) continue;
    for (const std::size_t i : {begin, std::min(low, high), std::max(low, high), end - 1}) add(i);
  }
  return points;
}

}  // namespace

CsvText curves_csv(std::span<const CsvCurve> curves, const char* x_name, plot::Span range, std::size_t most) {
  CsvText csv;
  csv.text = x_name;
  // By x: the value of each curve. Curves of one training share most of their x.
  std::map<double, std::vector<std::pair<std::size_t, float>>> rows;
  for (std::size_t column = 0; column < curves.size(); ++column) {
    csv.text += ',' + runs::csv_cell(curves[column].name);
    const plot::Series& series = *curves[column].series;
    auto at = rows.begin();
    for (const std::size_t i : points_of(series, range, most, csv.thinned)) {
      at = rows.try_emplace(at, series.x(i));
      auto& values = at->second;
      if (!values.empty() && values.back().first == column)
        values.pop_back();  // tested again: the newest counts
      values.emplace_back(column, series.y(i));
    }
  }
  csv.text += '\n';
  auto out = std::back_inserter(csv.text);
  for (const auto& [x, values] : rows) {
    fmt::format_to(out, "{}", x);
    std::size_t next = 0;
    for (std::size_t column = 0; column < curves.size(); ++column) {
      csv.text += ',';
      while (next < values.size() && values[next].first < column) ++next;
      if (next < values.size() && values[next].first == column)
        fmt::format_to(out, "{}", values[next].second);
    }
    csv.text += '\n';
  }
  csv.rows = rows.size();
  return csv;
}

}  // namespace warpscope::ui
