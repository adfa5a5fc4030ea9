#include "gpu/plan/former_names.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "gpu/ops/former_ops.h"
#include "gpu/ops/variant.h"
#include "gpu/plan/selection.h"

namespace warpscope::plan {
namespace {

constexpr std::string_view kParts = "parts";

bool names_former_op(const SelectionItem& item) {
  return ops::former_op(item.op).has_value();
}

/// Whether some former op hid the variant that `item` chooses.
bool was_hidden(const SelectionItem& item) {
  const auto former = ops::former_ops();
  return std::any_of(former.begin(), former.end(), [&](const ops::FormerOp& each) {
    const ops::OpSet hidden = ops::hidden_by(each);
    const auto contracts = ops::contracts();
    return std::any_of(contracts.begin(), contracts.end(), [&](const ops::OpContract& contract) {
      return hidden.has(contract.op) && item.op == contract.name;
    });
  });
}

/// The best variant of `op` without formats of its own.
const ops::Variant* plain_variant(ops::Op op, const core::DeviceInfo& device, core::Precision precision) {
  const ops::Variant* found = nullptr;
  for (const ops::Variant* each : ops::variants_of(op, device.kind)) {
    if (each->library || !each->formats.empty() || ops::needs_others(*each)) continue;
    if (ops::unavailable_reason(*each, device, precision).empty()) found = each;
  }
  return found;
}

bool is_op(const std::string& name) {
  const auto contracts = ops::contracts();
  return std::any_of(contracts.begin(), contracts.end(),
                     [&](const auto& contract) { return name == contract.name; });
}

bool only_says_covered(const SelectionItem& item) {
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

/// `items` where the former ops ran the layers one by one, by the variants of these.
std::vector<SelectionItem> layer_by_layer(const std::vector<SelectionItem>& items,
                                          const core::DeviceInfo& device, core::Precision precision) {
  std::vector<SelectionItem> now;
  for (const ops::FormerOp& former : ops::former_ops()) {
    const ops::Variant* plain = plain_variant(former.op, device, precision);
    if (plain != nullptr) now.push_back({std::string(ops::to_string(former.op)), plain->name});
  }
  for (const SelectionItem& item : items) {  // of an op the last one wins
    if (!names_former_op(item)) now.push_back(item);
  }
  return now;
}

/// `items` where variants of the former ops hid those of the single layers.
std::vector<SelectionItem> with_hidden_layers(const std::vector<SelectionItem>& items) {
  std::vector<SelectionItem> now;
  for (const SelectionItem& item : items) {
    const auto former = ops::former_op(item.op);
    if (!former) {
      if (!was_hidden(item)) now.push_back(item);
      continue;
    }
    if (item.variant == kParts) continue;
    const ops::OpSet hidden = ops::hidden_by(*former);
    for (const ops::OpContract& contract : ops::contracts()) {
      if (!hidden.has(contract.op)) continue;
      now.push_back({contract.name, contract.op == former->op ? item.variant : std::string(kAutomatic)});
    }
  }
  return now;
}

}  // namespace

std::vector<SelectionItem> without_former_names(std::vector<SelectionItem> items,
                                                const core::DeviceInfo& device, core::Precision precision) {
  std::erase_if(items, only_says_covered);
  const auto last = std::find_if(items.rbegin(), items.rend(), names_former_op);
  if (last == items.rend()) return items;
  // If one of the former ops was `parts`, all were: the last one decided.
  const bool single = last->variant == kParts;
  std::vector<SelectionItem> now =
      single ? layer_by_layer(items, device, precision) : with_hidden_layers(items);
  const std::vector<SelectionItem> all = now;
  for (SelectionItem& item : now) {
    if (is_automatic(item, device, precision) || was_covered(item, all, device)) item.variant = kAutomatic;
  }
  return now;
}

std::string told_of_former_names(const std::string& selection) {
  std::vector<std::string> told;
  const auto items = selection_items(selection);
  if (std::any_of(items.begin(), items.end(), names_former_op)) {
    told.emplace_back(
        "the selection names block.*, which are variants of conv2d.* now: they were read as these");
  }
  if (std::any_of(items.begin(), items.end(), only_says_covered)) {
    told.emplace_back(
        "the selection names conv2d.backward_bias=fused, which is no choice now: what covers what is found "
        "by "
        "itself");
  }
  std::set<std::string> renamed;
  for (const SelectionItem& item : items) {
    const std::string_view now = ops::variant_now(item.variant);
    if (now == item.variant || !renamed.insert(item.variant).second) continue;
    told.push_back(fmt::format("the selection names {}, which is called {} now", item.variant, now));
  }
  return fmt::format("{}", fmt::join(told, "; "));
}

}  // namespace warpscope::plan
