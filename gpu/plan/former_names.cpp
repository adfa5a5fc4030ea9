#include "gpu/plan/former_names.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "gpu/ops/variant.h"
#include "gpu/plan/selection.h"

namespace warpscope::plan {
namespace {

constexpr std::string_view kBlock = "block.";
constexpr std::string_view kParts = "parts";

/// The layers whose variants a block hid.
constexpr std::array<std::string_view, 11> kHidden{
    "conv2d.forward",          "bias.forward",         "relu.forward",
    "maxpool2d.forward",       "upsample2d.forward",   "conv2d.backward_input",
    "conv2d.backward_weights", "conv2d.backward_bias", "relu.backward",
    "maxpool2d.backward",      "upsample2d.backward"};

bool is_block(const SelectionItem& item) {
  return item.op.starts_with(kBlock);
}

/// "block.forward" -> "conv2d.forward"
std::string convolution_of(const std::string& block) {
  return fmt::format("conv2d.{}", block.substr(kBlock.size()));
}

/// The best variant of `op` without formats of its own.
const ops::Variant* plain_variant(ops::Op op, const core::DeviceInfo& device, core::Precision precision) {
  const ops::Variant* found = nullptr;
  for (const ops::Variant* each : ops::variants_of(op, device.kind)) {
    if (each->library || !each->formats.empty()) continue;
    if (ops::unavailable_reason(*each, device, precision).empty()) found = each;
  }
  return found;
}

bool is_op(const std::string& name) {
  const auto contracts = ops::contracts();
  return std::any_of(contracts.begin(), contracts.end(),
                     [&](const auto& contract) { return name == contract.name; });
}

bool is_placeholder(const SelectionItem& item) {
  return item.op == "conv2d.backward_bias" && item.variant == "fused";
}

/// Whether a variant that `items` name covers `item` where it follows. The bias gradient was covered on
/// request alone.
bool was_covered(const SelectionItem& item, const std::vector<SelectionItem>& items,
                 const core::DeviceInfo& device) {
  if (item.op == "conv2d.backward_bias") return false;
  return std::any_of(items.begin(), items.end(), [&](const SelectionItem& other) {
    if (other.op == item.op || !is_op(other.op)) return false;
    const ops::Variant* variant = ops::find_variant(ops::parse_op(other.op), device.kind, other.variant);
    return variant != nullptr &&
           std::any_of(variant->chain.begin(), variant->chain.end(),
                       [&](const ops::Link& link) { return ops::to_string(link.op) == item.op; });
  });
}

bool is_automatic(const SelectionItem& item, const core::DeviceInfo& device, core::Precision precision) {
  if (!is_op(item.op)) return false;
  const ops::Variant* automatic = automatic_variant(ops::parse_op(item.op), device, precision);
  return automatic != nullptr && automatic->name == item.variant;
}

}  // namespace

std::vector<SelectionItem> without_former_names(std::vector<SelectionItem> items,
                                                const core::DeviceInfo& device, core::Precision precision) {
  const bool blocks = std::any_of(items.begin(), items.end(), [](const SelectionItem& item) {
    return is_block(item) && item.variant != kParts;
  });
  std::set<std::string> named;
  for (const SelectionItem& item : items) named.insert(item.op);
  if (std::none_of(items.begin(), items.end(), is_block)) {
    std::erase_if(items, is_placeholder);
    return items;
  }
  // If one of the block ops was `parts`, all were.
  const bool parts = std::any_of(items.begin(), items.end(), [](const SelectionItem& item) {
    return is_block(item) && item.variant == kParts;
  });
  if (parts) {
    for (const char* op : {"block.forward", "block.backward_input", "block.backward_weights"}) {
      if (!named.contains(op)) items.push_back({op, std::string(kParts)});
    }
  }
  std::vector<SelectionItem> result;
  for (SelectionItem& item : items) {
    if (is_placeholder(item)) continue;
    if (blocks && std::find(kHidden.begin(), kHidden.end(), item.op) != kHidden.end()) continue;
    if (is_block(item)) {
      const bool single = item.variant == kParts;
      item.op = convolution_of(item.op);
      if (single) {
        const ops::Variant* plain = plain_variant(ops::parse_op(item.op), device, precision);
        if (named.contains(item.op) || plain == nullptr) continue;
        item.variant = plain->name;
      }
    }
    result.push_back(std::move(item));
  }
  const std::vector<SelectionItem> all = result;
  std::erase_if(result, [&](const SelectionItem& item) {
    return is_automatic(item, device, precision) || was_covered(item, all, device);
  });
  return result;
}

std::string told_of_former_names(const std::string& selection) {
  const auto items = selection_items(selection);
  if (std::any_of(items.begin(), items.end(), is_block)) {
    return "the selection names block.*, which are variants of conv2d.* now: they were read as these";
  }
  if (std::any_of(items.begin(), items.end(), is_placeholder)) {
    return "the selection names conv2d.backward_bias=fused, which is no choice now: what covers what is "
           "found by itself";
  }
  return "";
}

}  // namespace warpscope::plan
