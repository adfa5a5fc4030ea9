#include "ui/panels/selection_text.h"

#include <fmt/format.h>

#include "gpu/ops/variant.h"

namespace warpscope::ui {

std::string selection_word(const plan::Selection& selection, const core::DeviceInfo& device) {
  if (selection.variants.empty()) return "-";
  const plan::Selection fastest = plan::default_selection(device, selection.precision);
  std::string common;
  for (const auto& [op, name] : selection.variants) {
    const auto found = fastest.variants.find(op);
    if (found != fastest.variants.end() && found->second == name) continue;
    if (!common.empty() && common != name) return "mixed";
    common = name;
  }
  if (common.empty()) return "fastest";
  for (const auto& [op, name] : selection.variants) {
    if (name != common && ops::find_variant(op, device.kind, common) != nullptr) return "mixed";
  }
  return common;
}

std::string selection_list(const plan::Selection& selection) {
  std::string text;
  for (const auto& [op, name] : selection.variants) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", ops::to_string(op), name);
  }
  return text;
}

plan::Selection with_precision(const plan::Selection& selection, const core::DeviceInfo& device,
                               core::Precision precision) {
  const plan::Selection fastest = plan::default_selection(device, precision);
  plan::Selection result = selection;
  result.precision = precision;
  for (auto& [op, name] : result.variants) {
    const ops::Variant* const variant = ops::find_variant(op, device.kind, name);
    const bool stays = variant != nullptr && ops::unavailable_reason(*variant, device, precision).empty();
    const auto better = fastest.variants.find(op);
    if (!stays && better != fastest.variants.end()) name = better->second;
  }
  return result;
}

}  // namespace warpscope::ui
