#include <algorithm>

#include "gpu/ops/conv2d/fused/hopper/hopper_weights_plan.h"

namespace warpscope::ops::conv2d::fused::hopper {
namespace {

constexpr std::int64_t kProductsPerCycle = 2048;  // of a multiprocessor, in 16 bits
// Partial sums that all multiprocessors together write, and then read, in the time of a cycle: estimated from layers
// whose products take no time to speak of.
constexpr std::int64_t kPartialBytesPerCycle = 2000;

/// At most `wanted` splits of all patches.
Splits split_patches(int patches, int wanted) {
  const auto each = static_cast<int>(divide_up(patches, std::clamp(wanted, 1, patches)));
  return {static_cast<int>(divide_up(patches, each)), each};
}

Grid patch_grid(const ChainShape& s, Patches of) {
  switch (of) {
    case Patches::lines:
      return grid_of(Lines{nullptr, static_cast<int>(s.batch), line_outputs(s), s.out_channels});
    case Patches::small_images:
      return small_grid_of(s);
    case Patches::bundles:
      return bundle_grid_of(s);
    default:
      return grid_of(s);
  }
}

WeightsPlan plan_of(const ChainShape& s, Units units, Patches patches) {
  WeightsPlan plan{};
  plan.of_units = units;
  plan.of_patches = patches;
  plan.grid = patch_grid(s, patches);
  plan.planes = s.upsample ? 4 : 1;
  plan.taps = s.upsample ? 4 : s.kernel_height * s.kernel_width;
  plan.rows = s.upsample ? 2 : patches == Patches::lines && units == Units::all_taps ? plan.taps : 3;
  plan.columns = units == Units::columns ? plan.taps / plan.rows : 1;
  const int tile = units == Units::columns ? 2 * kSlice : kSlice;
  plan.filter_tiles = static_cast<int>(divide_up(s.out_channels, tile));
  plan.channel_tiles = static_cast<int>(divide_up(s.in_channels, tile));
  plan.units = plan.planes * plan.filter_tiles * plan.channel_tiles * plan.columns;
  plan.splits = split_patches(plan.grid.patches(), kPlannedProcessors / plan.units);
  plan.bias_at = std::int64_t{plan.planes} * plan.taps * s.out_channels * s.in_channels;
  plan.split_elements = plan.bias_at + std::int64_t{plan.planes} * s.out_channels;
  return plan;
}

/// Cycles of a call on kPlannedProcessors.
std::int64_t cost_of(const WeightsPlan& plan) {
  const std::int64_t side = plan.of_units == Units::columns ? 2 * kSlice : kSlice;
  const std::int64_t pixels = plan.of_patches == Patches::bundles ? kBundlePixels : kPatchPixels;
  const std::int64_t patch = side * side * (plan.taps / plan.columns) * pixels / kProductsPerCycle;
  const std::int64_t blocks = std::int64_t{plan.units} * plan.splits.count;
  return divide_up(blocks, kPlannedProcessors) * plan.splits.patches * patch +
         static_cast<std::int64_t>(partial_bytes(plan)) / kPartialBytesPerCycle;
}

}  // namespace

WeightsPlan plan_weights(const ChainShape& s) {
  if (is_line(s)) return plan_of(s, s.kernel_width == 3 ? Units::columns : Units::all_taps, Patches::lines);
  if (s.upsample) {
    const bool slim = s.out_channels <= kSlice || s.in_channels <= kSlice;
    return plan_of(s, slim ? Units::slim : Units::columns, Patches::image);
  }
  const WeightsPlan columns =
      plan_of(s, Units::columns, is_small(s) ? Patches::small_images : Patches::image);
  const WeightsPlan all_taps = plan_of(s, Units::all_taps, Patches::bundles);
  return cost_of(all_taps) < cost_of(columns) ? all_taps : columns;
}

std::size_t partial_bytes(const WeightsPlan& plan) {
  return sizeof(float) * static_cast<std::size_t>(plan.splits.count * plan.split_elements);
}

}  // namespace warpscope::ops::conv2d::fused::hopper
