// conv2d.backward_weights, variant `hopper_general`: over `mma` it adds wgmma and the tensor memory accelerator for
// what `hopper` has no kernels for, and the bias's gradient on the way. How its sums are divided among multiprocessors
// is estimated here. Limits: those of forward, in 16 bits.

#include <algorithm>
#include <limits>
#include <utility>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general_weights.h"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace hopper_general {
namespace {

constexpr int kMostRounds = 4;  // of blocks on all multiprocessors
constexpr std::int64_t kMostPartialBytes = std::int64_t{128} << 20;
constexpr std::int64_t kSliceBytes = std::int64_t{kStagePixels} * kRowBytes;

/// All but how the pixels are split.
WeightsProblem problem_of(const OpShape& s, const WeightsTile& tile, int stages) {
  const Problem forward = forward_problem(s, core::Precision::bf16);
  WeightsProblem q;
  q.rows = forward.rows;
  q.columns = forward.columns;
  q.down = forward.lattices[0].down;
  q.right = forward.lattices[0].right;
  q.read_step = forward.read_step;
  q.stages = stages;
  q.taps_in_rows = tile.taps_in_rows;
  q.row_channels = tile.taps_in_rows ? s.in_channels : s.out_channels;
  q.column_channels = tile.taps_in_rows ? s.out_channels : s.in_channels;
  q.slice = tile.slice;
  q.slices = static_cast<int>(divide_up(q.row_channels, tile.slice));
  q.all_slices = tile.taps_in_rows ? q.taps() * q.slices : q.slices;
  q.units = static_cast<int>(divide_up(q.all_slices * tile.slice, kUnitRows));
  q.groups = static_cast<int>(divide_up(q.units, tile.units()));
  q.column_tiles = static_cast<int>(divide_up(q.column_channels, tile.columns));
  q.tile_units = tile.units();
  q.tile_columns = tile.columns;
  q.blocks = (tile.taps_in_rows ? 1 : q.taps()) * q.groups * q.column_tiles;
  q.bias = s.covered.has(Op::conv2d_backward_bias);
  q.bias_at = std::int64_t{q.blocks} * tile.units() * kUnitRows * tile.columns;
  q.split_elements = q.bias_at + (q.bias ? s.out_channels : 0);
  return q;
}

double stage_cycles(const WeightsTile& tile) {
  constexpr double kHalfSlices = 1.25;  // requests of 64 bytes take longer than half of those of 128
  const double area = static_cast<double>(tile.units()) * kUnitRows * tile.columns;
  const double slices = tile.units() * (tile.slice == kSliceChannels ? 1.0 : kHalfSlices) +
                        static_cast<double>(divide_up(tile.columns, kSliceChannels));
  return std::max(area * kStagePixels / kProductsPerCycle, slices * kSliceBytes / kBytesPerCycle);
}

/// Estimated cycles of the call: rounds of blocks, and the partial sums, which are written and read.
double cycles_of(const WeightsProblem& q, double stage) {
  // Partial sums that all multiprocessors together write, and then read, in a cycle.
  constexpr double kPartialBytesPerCycle = 2000.0;
  const auto rounds = static_cast<double>(divide_up(std::int64_t{q.blocks} * q.splits, kPlannedProcessors));
  return rounds * (q.per_split * stage + kTileOverhead) +
         static_cast<double>(partial_bytes(q)) / kPartialBytesPerCycle;
}

/// Divides the pixels in at most `wanted` splits.
void split(WeightsProblem& q, int wanted) {
  q.per_split = static_cast<int>(divide_up(q.stages, wanted));
  q.splits = static_cast<int>(divide_up(q.stages, q.per_split));
}

WeightsPlan plan_in_16_bits(const OpShape& s) {
  return plan_weights(s, static_cast<int>(divide_up(sizes::output_pixels(s), kStagePixels)), stage_cycles);
}

void backward_weights(const OpCall& call) {
  const WeightsPlan plan = plan_in_16_bits(call.shape);
  const WeightsMaps maps = map_backward_weights(call, plan.tile);
  if (call.precision == core::Precision::fp16) {
    launch_weights_fp16(call, plan, maps);
  } else {
    launch_weights_bf16(call, plan, maps);
  }
  add_weight_splits(call, plan.problem);
}

}  // namespace

std::size_t partial_bytes(const WeightsProblem& problem) {
  return sizeof(float) * static_cast<std::size_t>(problem.splits * problem.split_elements);
}

WeightsPlan plan_weights(const OpShape& s, int stages, double (*cycles_of_stage)(const WeightsTile& tile)) {
  WeightsPlan best;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const WeightsTile& tile) {
    WeightsProblem q = problem_of(s, tile, stages);
    for (int rounds = 1; rounds <= kMostRounds; ++rounds) {
      const int wanted = std::clamp(rounds * kPlannedProcessors / q.blocks, 1, q.stages);
      split(q, wanted);
      if (wanted > 1 && static_cast<std::int64_t>(partial_bytes(q)) > kMostPartialBytes) break;
      const double cycles = cycles_of(q, cycles_of_stage(tile));
      if (cycles >= least) continue;
      least = cycles;
      best = {tile, q};
    }
  };
  for (int products = kMostProducts; products > 0; --products) {
    for (const int columns : kTileColumns) {
      consider({true, kSliceChannels, products, columns});
      consider({true, kHalfSliceChannels, products, columns});
      consider({false, kSliceChannels, products, columns});
    }
  }
  return best;
}

}  // namespace hopper_general

Variant hopper_general_backward_weights() {
  Variant more;
  hopper_general::limit(more);
  more.precisions = {core::Precision::fp16, core::Precision::bf16};
  more.chain = {{.op = Op::conv2d_backward_weights}, {.op = Op::conv2d_backward_bias, .optional = true}};
  more.workspace_bytes = [](const OpShape& shape, core::Precision) {
    return hopper_general::partial_bytes(hopper_general::plan_in_16_bits(shape).problem);
  };
  more.refuses = hopper_general::refuses_backward_weights;
  return cuda_variant(
      Op::conv2d_backward_weights, "hopper_general", hopper_general::backward_weights,
      "A product over the pixels by wgmma and TMA, split among blocks, added in a fixed order.",
      std::move(more));
}

}  // namespace warpscope::ops::conv2d
