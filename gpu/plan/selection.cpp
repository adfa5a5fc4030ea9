#include "gpu/plan/selection.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/variant.h"
#include "gpu/plan/presets.h"

namespace warpscope::plan {
namespace {

std::string names_of(const std::vector<const ops::Variant*>& variants) {
  std::vector<std::string> names;
  for (const ops::Variant* variant : variants) names.push_back(variant->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

constexpr const char* kParts = "parts";
/// What every training of a network needs, with the layers that all devices have.
constexpr std::array kNeeded{ops::Op::batch_gather,
                             ops::Op::conv2d_forward,
                             ops::Op::linear_forward,
                             ops::Op::conv2d_backward_weights,
                             ops::Op::linear_backward_weights,
                             ops::Op::optimizer_update};
constexpr std::array kBlockOps{ops::Op::block_forward, ops::Op::block_backward_weights,
                               ops::Op::block_backward_input};

void set_all(Selection& selection, std::string_view name, core::DeviceKind device) {
  bool layers = false;
  bool blocks = false;
  for (const ops::OpContract& contract : ops::contracts()) {
    if (ops::find_variant(contract.op, device, name) == nullptr) continue;
    (ops::is_block(contract.op) ? blocks : layers) = true;
    selection.variants[contract.op] = name;
  }
  // A name that layers have means the layers: within blocks theirs would not be seen.
  for (const ops::Op op : kBlockOps) {
    if (layers && selection.variants.contains(op)) selection.variants[op] = kParts;
  }
  if (!layers && !blocks) {
    throw core::BadInput(fmt::format("no operation has a variant '{}' on {}; valid: {}", name,
                                     core::to_string(device), fmt::join(variant_names(device), ", ")));
  }
}

/// If one of the block ops is `parts`, all are.
void settle_blocks(Selection& selection, const core::DeviceInfo& device) {
  const bool whole = std::all_of(kBlockOps.begin(), kBlockOps.end(), [&](ops::Op op) {
    const auto found = selection.variants.find(op);
    return found != selection.variants.end() && found->second != kParts;
  });
  if (whole) return;
  for (const ops::Op op : kBlockOps) {
    if (ops::find_variant(op, device.kind, kParts) != nullptr) selection.variants[op] = kParts;
  }
}

void set_one(Selection& selection, std::string_view op_name, std::string_view name,
             const core::DeviceInfo& info, BlockRule rule) {
  const core::DeviceKind device = info.kind;
  const ops::Op op = ops::parse_op(op_name);
  if (ops::find_variant(op, device, name) == nullptr) {
    throw core::BadInput(fmt::format("{} has no variant '{}' on {}; valid: {}", op_name, name,
                                     core::to_string(device), names_of(ops::variants_of(op, device))));
  }
  choose(selection, op, name, info, rule);
}

/// "conv2d.forward=naive": what is before and after the sign.
struct Item {
  std::string_view op;
  std::string_view name;
};

std::vector<Item> items_of(std::string_view text) {
  std::vector<Item> items;
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
    items.push_back({item.substr(0, equals), item.substr(equals + 1)});
  }
  return items;
}

bool names_blocks(const std::vector<Item>& items) {
  return std::any_of(items.begin(), items.end(), [](const Item& item) {
    return item.name != kParts && std::any_of(kBlockOps.begin(), kBlockOps.end(),
                                              [&](ops::Op op) { return item.op == ops::to_string(op); });
  });
}

/// "block.*: hopper -> parts, layers run one by one" if `to` ends the blocks of `from`.
std::string blocks_ended(const Selection& from, const Selection& to) {
  std::vector<std::string_view> before;
  for (const ops::Op op : kBlockOps) {
    const auto was = from.variants.find(op);
    const auto is = to.variants.find(op);
    if (was == from.variants.end() || was->second == kParts) return {};
    if (is == to.variants.end() || is->second != kParts) return {};
    if (std::find(before.begin(), before.end(), was->second) == before.end()) before.push_back(was->second);
  }
  return fmt::format("block.*: {} -> {}, layers run one by one", fmt::join(before, ", "), kParts);
}

}  // namespace

std::vector<core::Precision> training_precisions(const core::DeviceInfo& device) {
  using enum ops::Op;
  std::vector<core::Precision> precisions;
  for (const core::Precision precision : core::selectable_precisions()) {
    const Selection selection = default_selection(device, precision);
    const bool whole = std::all_of(kNeeded.begin(), kNeeded.end(),
                                   [&](ops::Op op) { return selection.variants.contains(op); });
    if (whole) precisions.push_back(precision);
  }
  return precisions;
}

void check_precision(const core::DeviceInfo& device, core::Precision precision) {
  const std::vector<core::Precision> precisions = training_precisions(device);
  if (std::find(precisions.begin(), precisions.end(), precision) != precisions.end()) return;
  std::vector<std::string_view> names;
  for (const core::Precision each : precisions) names.push_back(core::to_string(each));
  throw core::BadInput(fmt::format("training in {} is not possible on {} ({}); valid: {}",
                                   core::to_string(precision), device.id(), device.name,
                                   fmt::join(names, ", ")));
}

Selection default_selection(const core::DeviceInfo& device, core::Precision precision) {
  Selection selection;
  selection.precision = precision;
  std::map<ops::Op, std::string> placeholders;
  for (const bool library : {true, false}) {  // the later one wins
    for (const ops::Variant& variant : ops::variants()) {
      if (variant.library != library || !ops::unavailable_reason(variant, device, precision).empty())
        continue;
      const bool placeholder = variant.launch == nullptr && !ops::is_block(variant.op);
      (placeholder ? placeholders : selection.variants)[variant.op] = variant.name;
    }
  }
  for (const auto& [op, name] : placeholders) {
    if (absorber(selection, op, device.kind) != nullptr) selection.variants[op] = name;
  }
  return selection;
}

const ops::Variant* absorber(const Selection& selection, ops::Op op, core::DeviceKind device) {
  for (const auto& [other, name] : selection.variants) {
    const ops::Variant* variant = ops::find_variant(other, device, name);
    if (variant == nullptr) continue;
    if (std::find(variant->fuses.begin(), variant->fuses.end(), op) != variant->fuses.end()) return variant;
  }
  return nullptr;
}

void settle_placeholders(Selection& selection, const core::DeviceInfo& device) {
  for (auto& [op, name] : selection.variants) {
    const ops::Variant* variant = ops::find_variant(op, device.kind, name);
    if (variant == nullptr || variant->launch != nullptr || ops::is_block(op)) continue;
    if (absorber(selection, op, device.kind) != nullptr) continue;
    for (const ops::Variant* other : ops::variants_of(op, device.kind)) {
      if (other->launch == nullptr || other->library) continue;
      if (ops::unavailable_reason(*other, device, selection.precision).empty()) name = other->name;
    }
  }
}

Selection with_precision(const Selection& selection, core::Precision precision,
                         const core::DeviceInfo& device) {
  Selection changed = default_selection(device, precision);
  if (selection == default_selection(device, selection.precision)) return changed;
  for (const auto& [op, name] : selection.variants) {
    const ops::Variant* variant = ops::find_variant(op, device.kind, name);
    if (variant != nullptr && ops::unavailable_reason(*variant, device, precision).empty()) {
      changed.variants[op] = name;
    }
  }
  settle_blocks(changed, device);
  settle_placeholders(changed, device);
  return changed;
}

bool uses_blocks(const Selection& selection, core::DeviceKind device) {
  const auto chosen = selection.variants.find(ops::Op::block_forward);
  if (chosen == selection.variants.end()) return false;
  const ops::Variant* variant = ops::find_variant(ops::Op::block_forward, device, chosen->second);
  return variant != nullptr && variant->launch != nullptr;
}

bool blocks_contain(ops::Op op) {
  using enum ops::Op;
  constexpr std::array kContained{conv2d_forward,          bias_forward,         relu_forward,
                                  maxpool2d_forward,       upsample2d_forward,   conv2d_backward_input,
                                  conv2d_backward_weights, conv2d_backward_bias, relu_backward,
                                  maxpool2d_backward,      upsample2d_backward};
  return std::find(kContained.begin(), kContained.end(), op) != kContained.end();
}

void choose(Selection& selection, ops::Op op, std::string_view variant, const core::DeviceInfo& device,
            BlockRule rule) {
  selection.variants[op] = variant;
  if (ops::is_block(op)) {
    const bool parts = variant == kParts;
    for (const ops::Op other : kBlockOps) {
      auto& name = selection.variants[other];
      if (other == op || parts == (name == kParts)) continue;
      name = parts || ops::find_variant(other, device.kind, variant) == nullptr ? kParts : variant;
    }
    settle_blocks(selection, device);
  } else if (rule == BlockRule::layers_end_blocks && blocks_contain(op) &&
             uses_blocks(selection, device.kind)) {
    choose(selection, ops::Op::block_forward, kParts, device);
  }
  settle_placeholders(selection, device);
}

void apply(Selection& selection, std::string_view text, const core::DeviceInfo& device, BlockRule rule) {
  const std::vector<Item> items = items_of(text);
  if (names_blocks(items)) rule = BlockRule::keep_blocks;
  Selection changed = selection;
  for (const Item& item : items) {
    if (item.op == "preset") {
      const Selection preset = preset_selection(item.name, device, changed.precision);
      for (const auto& [each, variant] : preset.variants) changed.variants[each] = variant;
    } else if (item.op == "all") {
      set_all(changed, item.name, device.kind);
    } else {
      set_one(changed, item.op, item.name, device, rule);
    }
  }
  settle_placeholders(changed, device);
  selection = std::move(changed);
}

std::string selection_text(const Selection& selection, const core::DeviceInfo& device) {
  const Selection standard = default_selection(device, selection.precision);
  const bool blocks = uses_blocks(selection, device.kind);
  bool layers = false;  // chosen, though within blocks they are not seen
  std::vector<std::string> chosen;
  for (const auto& [op, name] : selection.variants) {
    const auto usual = standard.variants.find(op);
    if (usual != standard.variants.end() && usual->second == name) continue;
    layers = layers || blocks_contain(op);
    if (!ops::is_block(op)) chosen.push_back(fmt::format("{}={}", ops::to_string(op), name));
  }
  for (const ops::Op op : kBlockOps) {
    const auto found = selection.variants.find(op);
    if (found == selection.variants.end()) continue;
    const auto usual = standard.variants.find(op);
    const bool same = usual != standard.variants.end() && usual->second == found->second;
    // The blocks must be named where they shall stay beside chosen layers.
    if (!same || (blocks && layers))
      chosen.push_back(fmt::format("{}={}", ops::to_string(op), found->second));
  }
  return fmt::format("{}", fmt::join(chosen, ","));
}

std::string to_string(const Selection& selection) {
  std::vector<std::string> items;
  for (const auto& [op, name] : selection.variants)
    items.push_back(fmt::format("{}={}", ops::to_string(op), name));
  return fmt::format("{} {}", core::to_string(selection.precision), fmt::join(items, ","));
}

std::string describe_change(const Selection& from, const Selection& to) {
  std::vector<std::string> changes;
  if (from.precision != to.precision) {
    changes.push_back(
        fmt::format("{} -> {}", core::to_string(from.precision), core::to_string(to.precision)));
  }
  const std::string blocks = blocks_ended(from, to);
  for (const auto& [op, name] : to.variants) {
    const auto before = from.variants.find(op);
    if (before != from.variants.end() && before->second == name) continue;
    if (!blocks.empty() && ops::is_block(op)) continue;
    changes.push_back(fmt::format("{}: {} -> {}", ops::to_string(op),
                                  before == from.variants.end() ? "none" : before->second, name));
  }
  for (const auto& [op, name] : from.variants) {
    if (!to.variants.contains(op)) changes.push_back(fmt::format("{}: {} -> none", ops::to_string(op), name));
  }
  if (!blocks.empty()) changes.push_back(blocks);
  return fmt::format("{}", fmt::join(changes, "; "));
}

std::vector<std::string> variant_names(core::DeviceKind device) {
  std::vector<std::string> names;
  for (const ops::Variant& variant : ops::variants()) {
    if (variant.device != device) continue;
    if (std::find(names.begin(), names.end(), variant.name) == names.end()) names.push_back(variant.name);
  }
  return names;
}

}  // namespace warpscope::plan
