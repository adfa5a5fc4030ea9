#include "app/verify_json.h"

#include <nlohmann/json.hpp>

namespace warpscope::app {
namespace {

using nlohmann::ordered_json;

ordered_json row_json(const verify::VerifyRow& row) {
  ordered_json json;
  json["op"] = row.network ? "network" : std::string(ops::to_string(row.op));
  json["variant"] = row.variant;
  json["precision"] = core::to_string(row.precision);
  if (!row.skipped.empty()) {
    json["skipped"] = row.skipped;
    return json;
  }
  if (row.sets > 0) {
    json["covers"] = row.covers;
    json["sets"] = row.sets;
  }
  json["checked"] = row.checked;
  json["refused"] = row.refused;
  json["worst_error"] = row.worst_error;
  json["tolerance"] = row.tolerance;
  json["terms"] = row.terms;
  json["derivation"] = row.derivation;
  json["declared_deterministic"] = row.declared_deterministic;
  json["same_bits"] = row.same_bits;
  json["workspace_bytes"] = row.workspace;
  json["failure"] = row.failure;
  return json;
}

}  // namespace

std::string to_json(const VerifyReport& report) {
  ordered_json json;
  json["device"] = {
      {"id", report.device.id()}, {"name", report.device.name}, {"driver", report.device.driver}};
  json["seed"] = report.options.seed;
  json["random_shapes"] = report.options.shapes;
  json["seconds"] = report.seconds;
  json["complete"] = report.complete;
  json["failed"] = report.failed();
  json["rows"] = ordered_json::array();
  for (const verify::VerifyRow& row : report.rows) json["rows"].push_back(row_json(row));
  json["unavailable"] = ordered_json::array();
  for (const ops::Variant* variant : report.missing) {
    json["unavailable"].push_back({{"op", ops::to_string(variant->op)},
                                   {"variant", variant->name},
                                   {"device", core::to_string(variant->device)},
                                   {"reason", report.missing_reason}});
  }
  return json.dump(2) + "\n";
}

}  // namespace warpscope::app
