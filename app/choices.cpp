#include "app/choices.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/plan/selection.h"

namespace warpscope::app {
namespace {

/// Throws unless `part` occurs in the name of a variant, of any kind of device.
void check_variant_name(const std::string& part, std::vector<std::string> names) {
  for (const ops::Variant& variant : *ops::built_in_variants()) {
    if (std::find(names.begin(), names.end(), variant.name) == names.end()) names.push_back(variant.name);
  }
  const bool found = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.find(part) != std::string::npos;
  });
  if (!found) {
    throw core::BadInput(
        fmt::format("--variant: no name contains '{}'; valid: {}", part, fmt::join(names, ", ")));
  }
}

}  // namespace

Choices choices(const ChoiceArguments& arguments, const std::vector<std::string>& also) {
  Choices made;
  for (const std::string& op : arguments.ops) made.ops.push_back(ops::parse_op(op));
  for (const std::string& precision : arguments.precisions) {
    made.precisions.push_back(core::parse_precision(precision));
  }
  made.variant = arguments.variant;
  if (!made.variant.empty()) check_variant_name(made.variant, also);
  made.device = core::open_device(arguments.device);
  return made;
}

std::vector<const ops::Variant*> missing_variants(const Choices& choices) {
  std::vector<const ops::Variant*> missing;
  if (choices.device->kind() == core::DeviceKind::cuda || core::cuda_unavailable_reason().empty()) {
    return missing;
  }
  for (const ops::OpContract& contract : ops::contracts()) {
    const auto& wanted = choices.ops;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), contract.op) == wanted.end()) continue;
    for (const ops::Variant* variant :
         ops::variants_of(*ops::built_in_variants(), contract.op, core::DeviceKind::cuda)) {
      if (variant->name.find(choices.variant) != std::string::npos) missing.push_back(variant);
    }
  }
  return missing;
}

std::string precision_names(const ops::Variant& variant) {
  std::vector<std::string_view> names;
  for (const core::Precision precision : ops::precisions_of(variant)) {
    if (precision != core::Precision::fp64) names.push_back(core::to_string(precision));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace warpscope::app
