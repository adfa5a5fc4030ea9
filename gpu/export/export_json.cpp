#include <cmath>
#include <utility>

#include "gpu/export/export.h"
#include "gpu/runs/figure_table.h"

namespace warpscope::runs {
namespace {

using nlohmann::json;

json columns_of(const PointTable& table) {
  // The library writes NaN as null.
  json columns{{"step", table.step}, {"epoch", table.epoch}, {"seconds", table.seconds}};
  for (const Series& series : table.series) columns[series.name] = series.values;
  return columns;
}

}  // namespace

json json_of(const Run& run) {
  json markers = json::array();
  for (const RunMarker& marker : run.points.markers) {
    markers.push_back({{"step", marker.step}, {"seconds", marker.seconds}, {"marker", marker.text}});
  }
  return {{"name", run_name(run.folder)},          {"run", run.head},
          {"steps", columns_of(run.points.steps)}, {"tests", columns_of(run.points.tests)},
          {"markers", std::move(markers)},         {"damaged_lines", run.damaged_lines}};
}

json json_of(const RunSummary& summary) {
  json at_first = json::object();
  const RunSummary::AtFirst& first = summary.at_first;
  if (!first.precision.empty()) at_first["precision"] = first.precision;
  if (!first.optimizer.empty()) at_first["optimizer"] = first.optimizer;
  if (!std::isnan(first.learning_rate)) at_first["learning_rate"] = first.learning_rate;
  if (!std::isnan(first.batch)) at_first["batch"] = first.batch;
  json told{{"name", summary.name},
            {"folder", summary.folder.string()},
            {"started", summary.started},
            {"model", summary.model},
            {"data", summary.data},
            {"device", summary.device},
            {"precision", summary.precision},
            {"optimizer", summary.optimizer},
            {"learning_rate", summary.learning_rate},
            {"batch", summary.batch},
            {"at_first", std::move(at_first)},
            {"steps", summary.steps},
            {"status", summary.status},
            {"error", summary.error},
            {"notes", summary.notes}};
  for (const training::Figure& figure : training::run_figures()) told[figure.key] = figure.of(summary);
  return told;
}

std::string json_text(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace warpscope::runs
