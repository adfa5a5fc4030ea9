#include "gpu/training/variant_history.h"

#include <algorithm>
#include <utility>

namespace warpscope::training {
namespace {

/// What is older is hardly gone back to, and each holds the code of its kernels.
constexpr std::size_t kMostTables = 256;

}  // namespace

void VariantHistory::note(std::uint64_t generation, std::uint64_t step, ops::Variants variants) {
  if (!entries_.empty()) {
    Entry& last = entries_.back();
    if (last.generation == generation && last.variants == variants) return;
    if (last.generation == generation && last.step == step) {
      last.variants = std::move(variants);
      return;
    }
  }
  if (entries_.size() == kMostTables) entries_.erase(entries_.begin());
  entries_.push_back({generation, step, std::move(variants)});
}

void VariantHistory::branch(std::uint64_t generation, std::uint64_t from, std::uint64_t step) {
  branches_.push_back({generation, from, step});
}

void VariantHistory::note(std::shared_ptr<const TrainingSettings> settings, ops::Variants variants) {
  std::erase_if(by_settings_, [&](const auto& each) { return each.first == settings; });
  if (by_settings_.size() == kMostTables) by_settings_.erase(by_settings_.begin());
  by_settings_.emplace_back(std::move(settings), std::move(variants));
}

ops::Variants VariantHistory::at(const std::shared_ptr<const TrainingSettings>& settings,
                                 std::uint64_t generation, std::uint64_t step) const {
  const auto known =
      std::ranges::find_if(by_settings_, [&](const auto& each) { return each.first == settings; });
  if (known != by_settings_.end()) return known->second;
  // A generation goes on from an earlier one, so this ends.
  for (auto branch = branches_.rbegin();; ++branch) {
    ops::Variants found;
    for (const Entry& each : entries_) {
      if (each.generation == generation && each.step <= step) found = each.variants;
    }
    if (found) return found;
    branch = std::find_if(branch, branches_.rend(),
                          [&](const Branch& each) { return each.generation == generation; });
    if (branch == branches_.rend()) return nullptr;
    generation = branch->from;
    step = std::min(step, branch->step);
  }
}

ops::Variants with_versions_of(const ops::Variants& then, const ops::Variants& now,
                               const plan::Selection& selection, core::DeviceKind device) {
  ops::Variants table = now;
  if (!then) return table;
  for (const auto& [op, name] : selection.variants) {
    if (!name.starts_with(ops::kUsers)) continue;
    const ops::Variant* const was = ops::find_variant(*then, op, device, name);
    const ops::Variant* const is = ops::find_variant(*table, op, device, name);
    if (was == nullptr || (is != nullptr && is->version == was->version)) continue;
    table = ops::with_new_version(*table, *was);
  }
  return table;
}

}  // namespace warpscope::training
