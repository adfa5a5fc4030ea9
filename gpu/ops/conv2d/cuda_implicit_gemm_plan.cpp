#include <algorithm>
#include <limits>
#include <span>

#include "gpu/ops/conv2d/implicit_gemm_plan.h"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d {
namespace {

struct TileFigures {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  double efficiency;  ///< products a cycle relative to the large tile's, two blocks on a multiprocessor
};

constexpr TileFigures kTiles[] = {
    {128, 128, 16, 1.0}, {128, 64, 16, 0.95}, {64, 64, 32, 0.88}, {64, 32, 32, 0.75}, {128, 32, 32, 0.8}};
constexpr TileName kActivationTiles[] = {TileName::large, TileName::medium, TileName::small, TileName::slim};
constexpr TileName kWeightTiles[] = {TileName::large, TileName::medium, TileName::small, TileName::tall};
constexpr TileName kGeneralWeightTiles[] = {TileName::medium, TileName::tall};  // not plain: fewer to compile

constexpr std::int64_t kMultiprocessors = kPlannedProcessors;
// One block alone on its multiprocessor hides less of its waiting than two do.
constexpr double kAlone = 0.85;
// Products a cycle of a multiprocessor: 128 at best.
constexpr double kProductsPerCycle = 96.0;
// A block's start and end, in cycles, and the bytes of partial results that all multiprocessors move in a
// cycle.
constexpr double kBlockOverhead = 2000.0;
constexpr double kBytesPerCycle = 1500.0;
constexpr std::int64_t kMostSplits = 1024;
constexpr std::int64_t kMostWorkspace = std::int64_t{128} << 20;

const TileFigures& figures(TileName tile) {
  return kTiles[static_cast<int>(tile)];
}

/// Estimated cycles of `blocks` blocks of `depth` products an element. Blocks run in pairs on a
/// multiprocessor; where their number is odd, the last runs by itself.
double cycles(const TileFigures& tile, std::int64_t blocks, std::int64_t depth) {
  const std::int64_t each = divide_up(blocks, kMultiprocessors);
  const double rounds = static_cast<double>(each) + (each % 2 == 1 ? 1.0 / kAlone - 1.0 : 0.0);
  const double products = static_cast<double>(tile.rows * tile.columns * depth);
  return rounds * (products / (kProductsPerCycle * tile.efficiency) + kBlockOverhead);
}

struct Candidate {
  WeightsPlan plan;
  double cost = std::numeric_limits<double>::infinity();
};

/// The best number of splits for one arrangement and tile.
Candidate best_splits(WeightsPlan plan, std::int64_t pixels) {
  const TileFigures& tile = figures(plan.tile);
  const std::int64_t tiles = count_tiles(plan.tile, plan.rows, plan.columns);
  const std::int64_t result_bytes = plan.rows * plan.columns * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t most = std::clamp<std::int64_t>(
      kMostWorkspace / result_bytes, 1, std::min(kMostSplits, divide_up(pixels, 4 * tile.depth)));
  Candidate best;
  for (std::int64_t wanted = 1; wanted <= most; ++wanted) {
    const std::int64_t split_pixels = divide_up(divide_up(pixels, wanted), tile.depth) * tile.depth;
    const std::int64_t splits = divide_up(pixels, split_pixels);
    const double reduction = static_cast<double>(2 * splits * result_bytes) / kBytesPerCycle;
    const double cost = cycles(tile, tiles * splits, split_pixels) + reduction;
    if (cost < best.cost) {
      best.cost = cost;
      best.plan = plan;
      best.plan.splits = splits;
      best.plan.split_pixels = split_pixels;
    }
  }
  return best;
}

}  // namespace

std::int64_t count_tiles(TileName tile, std::int64_t rows, std::int64_t columns) {
  return divide_up(rows, figures(tile).rows) * divide_up(columns, figures(tile).columns);
}

TileName choose_tile(std::int64_t rows, std::int64_t columns) {
  // Any depth ranks the tiles alike but for the overhead of a block; this one is that of a middle layer.
  constexpr std::int64_t kDepth = 1024;
  return *std::min_element(std::begin(kActivationTiles), std::end(kActivationTiles),
                           [&](TileName a, TileName b) {
                             return cycles(figures(a), count_tiles(a, rows, columns), kDepth) <
                                    cycles(figures(b), count_tiles(b, rows, columns), kDepth);
                           });
}

WeightsPlan plan_weights(const OpShape& s) {
  const std::int64_t pixels = sizes::output_pixels(s);
  const std::int64_t taps = std::int64_t{s.kernel_height} * s.kernel_width;
  const bool plain = is_plain(s);
  Candidate best;
  for (const bool swapped : {false, true}) {
    if (swapped && !plain) continue;
    for (const TileName tile : plain ? std::span<const TileName>(kWeightTiles) : kGeneralWeightTiles) {
      WeightsPlan plan;
      plan.swapped = swapped;
      plan.tile = tile;
      plan.rows = swapped ? s.in_channels : s.out_channels;
      plan.columns = taps * (swapped ? s.out_channels : s.in_channels);
      const Candidate candidate = best_splits(plan, pixels);
      if (candidate.cost < best.cost) best = candidate;
    }
  }
  return best.plan;
}

std::string refuses_large(const OpShape& s) {
  const std::int64_t taps = std::int64_t{s.kernel_height} * s.kernel_width;
  const std::int64_t largest =
      std::max({sizes::input(s), sizes::output(s), taps * s.in_channels * s.out_channels});
  if (largest > kMostElements) return "takes tensors of at most 2,000,000,000 elements";
  const std::int64_t reach = kernel_reach(s, s.kernel_height) * std::max(s.width, output_width(s)) *
                             std::max(s.in_channels, s.out_channels);
  const bool far = !is_plain(s) && reach > kMostElements;
  return far ? "takes kernels that reach over at most 2,000,000,000 elements" : "";
}

}  // namespace warpscope::ops::conv2d
