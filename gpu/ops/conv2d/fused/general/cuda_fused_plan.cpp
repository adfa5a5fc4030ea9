#include <algorithm>
#include <limits>

#include "gpu/ops/conv2d/fused/general/fused_plan.h"
#include "gpu/ops/planned_processors.h"

namespace warpscope::ops::conv2d::fused::general {
namespace {

/// A kernel's tile; products a cycle relative to the best with all blocks resident; how many are resident on
/// a multiprocessor, and the share of its rate that one alone has.
struct TileFigures {
  WeightsKernel kernel;
  std::int64_t rows;
  std::int64_t columns;
  double efficiency;
  std::int64_t resident;
  double alone;
};

constexpr TileFigures kSimtTiles[] = {{WeightsKernel::large, 128, 128, 1.0, 2, 0.85},
                                      {WeightsKernel::medium, 128, 64, 0.95, 2, 0.85},
                                      {WeightsKernel::small, 64, 64, 0.88, 2, 0.85},
                                      {WeightsKernel::tall, 128, 32, 0.8, 2, 0.85},
                                      {WeightsKernel::scalars, 64, 64, 0.6, 2, 0.85}};
constexpr TileFigures kMmaTiles[] = {{WeightsKernel::wide, 128, 256, 1.0, 1, 1.0},
                                     {WeightsKernel::large, 128, 128, 0.9, 2, 0.55},
                                     {WeightsKernel::small, 64, 64, 0.6, 4, 0.55},
                                     {WeightsKernel::tall, 128, 32, 0.4, 3, 0.55},
                                     {WeightsKernel::scalars, 64, 64, 0.15, 4, 0.55}};

constexpr std::int64_t kMultiprocessors = kPlannedProcessors;
// A block's start and end, in cycles, and the bytes of partial results that all multiprocessors move in a
// cycle.
constexpr double kBlockOverhead = 2500.0;
constexpr double kBytesPerCycle = 1500.0;
constexpr std::int64_t kMostSplits = 1024;
constexpr std::int64_t kMostWorkspace = std::int64_t{128} << 20;
// Fewer pixels are not worth a block.
constexpr std::int64_t kFewestPixels = 128;
constexpr std::int64_t kPixelStep = 64;  // as many as the deepest stage has
// Channels of x without which the tiles of 128 rows are mostly empty.
constexpr int kFewestRows = 64;

/// Products a cycle of a multiprocessor.
double products_per_cycle(core::Precision precision) {
  switch (precision) {
    case core::Precision::fp32:
      return 96.0;
    case core::Precision::tf32:
      return 500.0;
    default:
      return 1100.0;
  }
}

/// Estimated cycles of `blocks` blocks of `depth` products an element.
double cycles(const TileFigures& tile, double peak, std::int64_t blocks, std::int64_t depth) {
  const std::int64_t each = divide_up(blocks, kMultiprocessors);
  const double filled = tile.resident == 1 ? 1.0
                                           : static_cast<double>(std::min(each, tile.resident) - 1) /
                                                 static_cast<double>(tile.resident - 1);
  const double rate = peak * tile.efficiency * (tile.alone + (1.0 - tile.alone) * filled);
  const double products = static_cast<double>(tile.rows * tile.columns * depth);
  return static_cast<double>(each) * products / rate +
         kBlockOverhead * static_cast<double>(divide_up(each, tile.resident));
}

/// Elements of a chunk of 16 bytes.
int chunk_elements(core::Precision precision) {
  return precision == core::Precision::fp32 || precision == core::Precision::tf32 ? 4 : 8;
}

bool reads(WeightsKernel kernel, bool rows_in_chunks, bool columns_in_chunks) {
  if (kernel == WeightsKernel::scalars) return true;
  return rows_in_chunks && (columns_in_chunks || kernel == WeightsKernel::tall);
}

}  // namespace

WeightsPlan plan_weights(const ChainShape& s, core::Precision precision) {
  const bool simt = precision == core::Precision::fp32;
  const bool pooled = weights_way(s, precision) == WeightsWay::pooled;
  const int per_chunk = chunk_elements(precision);
  const int more = s.upsample ? 1 : 0;
  const std::int64_t taps = std::int64_t{s.kernel_height + more} * (s.kernel_width + more);
  const std::int64_t pixels = s.batch * (pooled ? 4 * (s.height / 2) * (s.width / 2) : s.height * s.width);
  WeightsPlan plan;
  plan.rows = pooled ? s.out_channels : s.in_channels;
  plan.columns = taps * (pooled ? s.in_channels : s.out_channels);
  const std::int64_t bytes = plan.split_elements() * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t most = std::clamp<std::int64_t>(kMostWorkspace / bytes, 1,
                                                     std::min(kMostSplits, divide_up(pixels, kFewestPixels)));
  double least = std::numeric_limits<double>::infinity();
  for (const TileFigures& tile : simt ? kSimtTiles : kMmaTiles) {
    if (pooled && tile.kernel != WeightsKernel::tall) continue;
    if (!pooled && !reads(tile.kernel, s.in_channels % per_chunk == 0, s.out_channels % per_chunk == 0))
      continue;
    const std::int64_t tiles = divide_up(plan.rows, tile.rows) * divide_up(plan.columns, tile.columns);
    for (std::int64_t wanted = 1; wanted <= most; ++wanted) {
      const std::int64_t split_pixels = divide_up(divide_up(pixels, wanted), kPixelStep) * kPixelStep;
      const std::int64_t splits = divide_up(pixels, split_pixels);
      const double cost = cycles(tile, products_per_cycle(precision), tiles * splits, split_pixels) +
                          static_cast<double>(2 * splits * bytes) / kBytesPerCycle;
      if (cost >= least) continue;
      least = cost;
      plan.kernel = tile.kernel;
      plan.splits = splits;
      plan.split_pixels = split_pixels;
    }
  }
  return plan;
}

WeightsWay weights_way(const ChainShape& s, core::Precision precision) {
  if (s.upsample) return WeightsWay::window;
  if (precision == core::Precision::fp32 || s.valid) return WeightsWay::conv2d;
  const int per_chunk = chunk_elements(precision);
  if (s.out_channels % per_chunk != 0) return WeightsWay::conv2d;
  if (s.in_channels % per_chunk == 0 && s.in_channels >= kFewestRows) return WeightsWay::window;
  const bool pooled = s.pool && s.height >= 2 && s.width >= 2;
  return pooled && s.in_channels < per_chunk ? WeightsWay::pooled : WeightsWay::conv2d;
}

}  // namespace warpscope::ops::conv2d::fused::general
