#include "gpu/plan/selection.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/plan/presets.h"
#include "gpu/plan/selection_items.h"

namespace warpscope::plan {
namespace {

using ops::Op;
using ops::Variant;

void set_all(Selection& selection, std::string_view name, const Machine& machine) {
  bool any = false;
  for (const ops::OpContract& contract : ops::contracts()) {
    const Variant* variant = ops::find_variant(machine.variants, contract.op, machine.device.kind, name);
    if (variant == nullptr) continue;
    selection.variants[contract.op] = variant->name;
    any = true;
  }
  if (any) return;
  throw core::BadInput(fmt::format("no operation has a variant '{}' on {}; valid: {}", name,
                                   core::to_string(machine.device.kind),
                                   fmt::join(variant_names(machine), ", ")));
}

void set_one(Selection& selection, std::string_view op_name, std::string_view name, const Machine& machine) {
  const Op op = ops::parse_op(op_name);
  if (name == kAutomatic) {
    selection.variants.erase(op);
    return;
  }
  const Variant* variant = ops::find_variant(machine.variants, op, machine.device.kind, name);
  if (variant == nullptr) {
    std::vector<std::string> names;
    for (const Variant* each : ops::variants_of(machine.variants, op, machine.device.kind))
      names.push_back(each->name);
    throw core::BadInput(fmt::format("{} has no variant '{}' on {}; valid: {}", op_name, name,
                                     core::to_string(machine.device.kind), fmt::join(names, ", ")));
  }
  selection.variants[op] = variant->name;
}

bool has_variant(Op op, const Machine& machine, core::Precision precision) {
  return automatic_variant(op, machine, precision) != nullptr;
}

/// "hopper", or what would run by itself.
std::string name_of(const Selection& selection, Op op, const Machine& machine) {
  const auto chosen = selection.variants.find(op);
  if (chosen != selection.variants.end()) return chosen->second;
  const Variant* automatic = automatic_variant(op, machine, selection.precision);
  return automatic == nullptr ? "none" : automatic->name;
}

}  // namespace

std::vector<SelectionItem> selection_items(std::string_view text) {
  std::vector<SelectionItem> items;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (item.empty()) continue;
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw core::BadInput(fmt::format(
          "selection '{}' is not of the form operation=variant, all=variant or preset=name", item));
    }
    const SelectionItem added{std::string(item.substr(0, equals)), std::string(item.substr(equals + 1))};
    const auto before = std::ranges::find(items, added.op, &SelectionItem::op);
    if (before != items.end()) {
      throw core::BadInput(fmt::format("the selection names {} twice, as {} and as {}; give it once",
                                       added.op, before->variant, added.variant));
    }
    items.push_back(added);
  }
  return items;
}

std::vector<core::Precision> training_precisions(const Machine& machine) {
  std::vector<core::Precision> precisions;
  for (const core::Precision precision : core::selectable_precisions()) {
    const auto contracts = ops::contracts();
    const bool complete = std::ranges::all_of(contracts, [&](const ops::OpContract& contract) {
      return has_variant(contract.op, machine, precision) ||
             !has_variant(contract.op, machine, core::Precision::fp32);
    });
    if (complete) precisions.push_back(precision);
  }
  return precisions;
}

void check_precision(const Machine& machine, core::Precision precision) {
  const std::vector<core::Precision> precisions = training_precisions(machine);
  if (std::ranges::find(precisions, precision) != precisions.end()) return;
  throw core::BadInput(fmt::format("precision {} is not possible on {} ({}); valid: {}",
                                   core::to_string(precision), machine.device.id(), machine.device.name,
                                   core::names_of(precisions)));
}

const Variant* automatic_variant(Op op, const Machine& machine, core::Precision precision) {
  const Variant* found = nullptr;
  for (const bool library : {true, false}) {  // the later one wins
    for (const Variant* variant : ops::variants_of(machine.variants, op, machine.device.kind)) {
      if (variant->library != library || variant->special) continue;
      if (ops::needs_others(*variant) || ops::is_users(*variant)) continue;
      if (ops::unavailable_reason(*variant, machine.device, precision).empty()) found = variant;
    }
  }
  return found;
}

Selection with_precision(const Selection& selection, core::Precision precision, const Machine& machine) {
  Selection changed{precision, {}};
  for (const auto& [op, name] : selection.variants) {
    const Variant* variant = ops::find_variant(machine.variants, op, machine.device.kind, name);
    if (variant != nullptr && ops::unavailable_reason(*variant, machine.device, precision).empty()) {
      changed.variants[op] = name;
    }
  }
  return changed;
}

void apply(Selection& selection, std::string_view text, const Machine& machine) {
  Selection changed = selection;
  for (const SelectionItem& item : selection_items(text)) {
    if (item.op == "preset" && item.variant == kAutomatic) {
      changed.variants.clear();
    } else if (item.op == "preset") {
      changed.variants = preset_selection(item.variant, machine, changed.precision).variants;
    } else if (item.op == "all") {
      set_all(changed, item.variant, machine);
    } else {
      set_one(changed, item.op, item.variant, machine);
    }
  }
  selection = std::move(changed);
}

std::string selection_text(const Selection& selection) {
  std::vector<std::string> chosen;
  for (const auto& [op, name] : selection.variants) {
    chosen.push_back(fmt::format("{}={}", ops::to_string(op), name));
  }
  return fmt::format("{}", fmt::join(chosen, ","));
}

std::string to_string(const Selection& selection) {
  const std::string chosen = selection_text(selection);
  return fmt::format("{} {}", core::to_string(selection.precision), chosen.empty() ? kAutomatic : chosen);
}

std::string describe_change(const Selection& from, const Selection& to, const Machine& machine) {
  std::vector<std::string> changes;
  if (from.precision != to.precision) {
    changes.push_back(
        fmt::format("{} -> {}", core::to_string(from.precision), core::to_string(to.precision)));
  }
  for (const ops::OpContract& contract : ops::contracts()) {
    const auto before = from.variants.find(contract.op);
    const auto after = to.variants.find(contract.op);
    const bool was = before != from.variants.end();
    const bool is = after != to.variants.end();
    if (was == is && (!was || before->second == after->second)) continue;
    std::string old_name = name_of(from, contract.op, machine);
    std::string new_name = name_of(to, contract.op, machine);
    if (old_name == new_name) (was ? new_name : old_name) = kAutomatic;
    changes.push_back(fmt::format("{}: {} -> {}", contract.name, old_name, new_name));
  }
  return fmt::format("{}", fmt::join(changes, "; "));
}

std::vector<std::string> variant_names(const Machine& machine) {
  std::vector<std::string> names;
  for (const Variant& variant : machine.variants) {
    if (variant.device != machine.device.kind) continue;
    if (std::ranges::find(names, variant.name) == names.end()) names.push_back(variant.name);
  }
  return names;
}

}  // namespace warpscope::plan
