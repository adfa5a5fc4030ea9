#include "app/choices.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "app/options.h"
#include "gpu/core/error.h"
#include "gpu/plan/selection.h"

namespace warpscope::app {
namespace {

/// Throws unless `part` occurs in the name of a variant, of any kind of device.
void check_variant_name(const std::string& part, const ops::VariantTable& variants,
                        std::vector<std::string> names) {
  for (const ops::Variant& variant : variants) {
    if (std::ranges::find(names, variant.name) == names.end()) names.push_back(variant.name);
  }
  const bool found = std::ranges::any_of(
      names, [&](const std::string& name) { return name.find(part) != std::string::npos; });
  if (!found) {
    throw core::BadInput(
        fmt::format("--variant: no name contains '{}'; valid: {}", part, fmt::join(names, ", ")));
  }
}

}  // namespace

Choices choices(const ChoiceArguments& arguments, const std::vector<std::string>& also) {
  refuse_repeated("--op", arguments.ops);
  refuse_repeated("--precision", arguments.precisions);
  Choices made;
  for (const std::string& op : arguments.ops) made.ops.push_back(ops::parse_op(op));
  for (const std::string& precision : arguments.precisions) {
    made.precisions.push_back(core::parse_precision(precision));
  }
  made.variant = arguments.variant;
  if (!made.variant.empty() && arguments.kernels.files.empty())
    check_variant_name(made.variant, *made.variants, also);
  made.device = core::open_device(arguments.device);
  if (arguments.kernels.files.empty()) return made;
  made.variants = use_kernels(arguments.kernels, arguments.device).variants;
  if (!made.variant.empty()) check_variant_name(made.variant, *made.variants, also);
  return made;
}

std::vector<const ops::Variant*> missing_variants(const Choices& choices) {
  std::vector<const ops::Variant*> missing;
  if (choices.device->kind() == core::DeviceKind::cuda || core::cuda_unavailable_reason().empty()) {
    return missing;
  }
  for (const ops::OpContract& contract : ops::contracts()) {
    const auto& wanted = choices.ops;
    if (!wanted.empty() && std::ranges::find(wanted, contract.op) == wanted.end()) continue;
    for (const ops::Variant* variant :
         ops::variants_of(*ops::built_in_variants(), contract.op, core::DeviceKind::cuda)) {
      if (variant->name.find(choices.variant) != std::string::npos) missing.push_back(variant);
    }
  }
  return missing;
}

void describe_device(const core::DeviceInfo& device, nlohmann::ordered_json& json) {
  json["device"] = {{"id", device.id()}, {"name", device.name}, {"driver", device.driver}};
}

void describe_missing(const std::vector<const ops::Variant*>& missing, const std::string& reason,
                      nlohmann::ordered_json& json) {
  json["unavailable"] = nlohmann::ordered_json::array();
  for (const ops::Variant* variant : missing) {
    json["unavailable"].push_back({{"op", ops::to_string(variant->op)},
                                   {"variant", variant->name},
                                   {"device", core::to_string(variant->device)},
                                   {"reason", reason}});
  }
}

std::string precision_names(const ops::Variant& variant) {
  std::vector<core::Precision> precisions = ops::precisions_of(variant);
  std::erase(precisions, core::Precision::fp64);
  return core::names_of(precisions);
}

}  // namespace warpscope::app
