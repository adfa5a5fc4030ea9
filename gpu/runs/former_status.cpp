#include "gpu/runs/former_status.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/core/error.h"
#include "gpu/ops/former_ops.h"
#include "gpu/plan/former_names.h"
#include "gpu/plan/selection.h"

namespace warpscope::training {
namespace {

using nlohmann::json;

/// The text at `key`, or "".
std::string text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// "block.forward" becomes the op whose variants do that now. Its shape had no flags in these files.
void rename_op(json& timing) {
  const std::optional<ops::FormerOp> former = ops::former_op(text_at(timing, "op"));
  if (!former) return;
  timing["op"] = ops::to_string(former->op);
  json covered = json::array();
  for (const ops::OpContract& contract : ops::contracts()) {
    if (former->covers.has(contract.op)) covered.push_back(contract.name);
  }
  if (timing.contains("shape") && timing["shape"].is_object()) timing["shape"]["covered"] = covered;
}

/// Pooling had no window, which was 2x2.
void give_window(json& timing) {
  if (!text_at(timing, "op").starts_with("maxpool2d.") || !timing.contains("shape")) return;
  json& shape = timing["shape"];
  if (!shape.is_object() || shape.value("kernel_height", json()) != 1 ||
      shape.value("kernel_width", json()) != 1)
    return;
  shape["kernel_height"] = shape["kernel_width"] = 2;
}

void rename_timings(json& timings) {
  json launched;  // the last op with a time of its own
  for (json& timing : timings) {
    if (!timing.is_object()) continue;
    rename_op(timing);
    give_window(timing);
    const auto absorbed = timing.find("absorbed");
    if (absorbed == timing.end()) continue;
    if (*absorbed == true) {
      timing["covered_by"] = launched;
      timing["variant"] = "";
    } else {
      launched = {{"op", text_at(timing, "op")}, {"layer", text_at(timing, "layer")}};
    }
    timing.erase("absorbed");
  }
}

bool names_former_ops(const json& variants) {
  for (const auto& [name, variant] : variants.items()) {
    if (ops::former_op(name)) return true;
  }
  return false;
}

/// Selections of before named the variant of every op.
void rename_selection(json& selection, const core::DeviceInfo& device) {
  if (!selection.is_object() || !selection.contains("variants")) return;
  json& variants = selection["variants"];
  if (!variants.is_object() || !names_former_ops(variants)) return;
  std::vector<plan::SelectionItem> items;
  for (const auto& [name, variant] : variants.items()) {
    if (!variant.is_string()) return;
    items.push_back({name, variant.get<std::string>()});
  }
  core::Precision precision{};
  try {
    precision = core::parse_precision(text_at(selection, "precision"));
  } catch (const core::BadInput&) {
    return;  // whoever reads the fields says what is wrong
  }
  // The variants may be those of a device that this build does not serve.
  variants = json::object();
  for (const plan::SelectionItem& item : plan::without_former_names(std::move(items), device, precision)) {
    if (item.variant == plan::kAutomatic) {
      variants.erase(item.op);
    } else {
      variants[item.op] = item.variant;
    }
  }
}

/// What names of variants depend on.
core::DeviceInfo device_of(const json& status) {
  core::DeviceInfo device;
  const auto found = status.find("device");
  if (found == status.end() || !found->is_object()) return device;
  const bool cuda = text_at(*found, "kind") == core::to_string(core::DeviceKind::cuda);
  device.kind = cuda ? core::DeviceKind::cuda : core::DeviceKind::cpu;
  const auto capability = found->find("compute_capability");
  if (capability != found->end() && capability->is_number_integer())
    device.compute_capability = capability->get<int>();
  return device;
}

}  // namespace

void use_todays_names(json& status) {
  if (!status.is_object()) return;
  if (status.contains("timings") && status["timings"].is_array()) rename_timings(status["timings"]);
  const core::DeviceInfo device = device_of(status);
  if (status.contains("selection")) rename_selection(status["selection"], device);
  if (!status.contains("ladder") || !status["ladder"].is_array()) return;
  for (json& entry : status["ladder"]) {
    if (entry.is_object() && entry.contains("selection")) rename_selection(entry["selection"], device);
  }
}

}  // namespace warpscope::training
