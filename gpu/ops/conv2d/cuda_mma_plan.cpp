#include <algorithm>
#include <limits>

#include "gpu/core/cuda.h"
#include "gpu/ops/conv2d/mma_plan.h"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d::tensor_cores {
namespace {

/// A block's tile, and how it runs: products a cycle relative to the largest tile's with all blocks resident,
/// and how many blocks are resident on a multiprocessor.
struct TileFigures {
  std::int64_t rows;
  std::int64_t columns;
  double efficiency;
  std::int64_t resident;
};

constexpr TileFigures kActivationTiles[] = {
    {256, 128, 1.0, 1}, {128, 128, 0.92, 2}, {128, 64, 0.8, 3}, {64, 64, 0.6, 4}, {128, 16, 0.3, 4}};
constexpr TileFigures kWeightTiles[] = {
    {128, 256, 1.0, 1}, {128, 128, 0.9, 2}, {64, 64, 0.6, 4}, {128, 32, 0.4, 3}, {64, 64, 0.15, 4}};
constexpr int kHugeSharedBytes = 144 << 10;  // mma_tile.cuh: HugeTile::shared_bytes

// For the weights, whose plan must not depend on the device.
constexpr int kMultiprocessors = kPlannedProcessors;
// One block alone on its multiprocessor, of those that could be there: what it waits for is not hidden.
constexpr double kAlone = 0.55;
// Products a cycle of a multiprocessor in 16 bits; TF32 does half.
constexpr double kProductsPerCycle = 1100.0;
// A block's start and end, in cycles, and the bytes of partial results that all multiprocessors move in a
// cycle.
constexpr double kBlockOverhead = 2500.0;
constexpr double kBytesPerCycle = 1500.0;
constexpr std::int64_t kMostSplits = 1024;
constexpr std::int64_t kMostWorkspace = std::int64_t{128} << 20;
constexpr int kMostKernel = 15;  // mma_loaders.cuh: kMostTaps

std::int64_t count_tiles(const TileFigures& tile, std::int64_t rows, std::int64_t columns) {
  return divide_up(rows, tile.rows) * divide_up(columns, tile.columns);
}

/// Estimated cycles of `blocks` blocks of `depth` products an element.
double cycles(const TileFigures& tile, std::int64_t blocks, std::int64_t depth, int multiprocessors) {
  const std::int64_t each = divide_up(blocks, multiprocessors);
  // A multiprocessor with fewer blocks than it could hold is slower.
  const double filled = tile.resident == 1 ? 1.0
                                           : static_cast<double>(std::min(each, tile.resident) - 1) /
                                                 static_cast<double>(tile.resident - 1);
  const double rate = kProductsPerCycle * tile.efficiency * (kAlone + (1.0 - kAlone) * filled);
  const double products = static_cast<double>(tile.rows * tile.columns * depth);
  return static_cast<double>(each) * products / rate +
         kBlockOverhead * static_cast<double>(divide_up(each, tile.resident));
}

struct Candidate {
  WeightsPlan plan;
  double cost = std::numeric_limits<double>::infinity();
};

/// The best number of splits for one arrangement and kernel.
Candidate best_splits(WeightsPlan plan, std::int64_t pixels, std::int64_t stage_pixels,
                      std::int64_t out_channels) {
  const TileFigures& tile = kWeightTiles[static_cast<int>(plan.kernel)];
  const std::int64_t tiles = count_tiles(tile, plan.rows, plan.columns);
  const std::int64_t result_bytes =
      (plan.rows * plan.columns + out_channels) * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t most = std::clamp<std::int64_t>(
      kMostWorkspace / result_bytes, 1, std::min(kMostSplits, divide_up(pixels, 4 * stage_pixels)));
  Candidate best;
  for (std::int64_t wanted = 1; wanted <= most; ++wanted) {
    const std::int64_t split_pixels = divide_up(divide_up(pixels, wanted), stage_pixels) * stage_pixels;
    const std::int64_t splits = divide_up(pixels, split_pixels);
    const double reduction = static_cast<double>(2 * splits * result_bytes) / kBytesPerCycle;
    const double cost = cycles(tile, tiles * splits, split_pixels, kMultiprocessors) + reduction;
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

DeviceFigures current_device() {
  int device = 0;
  DeviceFigures figures{};
  core::check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  core::check_cuda(cudaDeviceGetAttribute(&figures.multiprocessors, cudaDevAttrMultiProcessorCount, device),
                   "cudaDeviceGetAttribute");
  core::check_cuda(
      cudaDeviceGetAttribute(&figures.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
      "cudaDeviceGetAttribute");
  return figures;
}

TileName choose_tile(std::int64_t rows, std::int64_t columns, const DeviceFigures& device) {
  // Any depth ranks the tiles alike but for the overhead of a block; this one is that of a middle layer.
  constexpr std::int64_t kDepth = 1024;
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < static_cast<int>(std::size(kActivationTiles)); ++i) {
    const TileFigures& tile = kActivationTiles[i];
    if (static_cast<TileName>(i) == TileName::huge && device.shared_bytes < kHugeSharedBytes) continue;
    const double cost = cycles(tile, count_tiles(tile, rows, columns), kDepth, device.multiprocessors);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return static_cast<TileName>(best);
}

WeightsPlan plan_weights(const OpShape& s, core::Precision precision) {
  const std::int64_t pixels = sizes::output_pixels(s);
  const std::int64_t taps = std::int64_t{s.kernel_height} * s.kernel_width;
  const bool wide = precision == core::Precision::tf32;
  const int per_chunk = wide ? 4 : 8;
  const std::int64_t stage_pixels = wide ? 32 : 64;
  Candidate best;
  for (const bool swapped : {false, true}) {
    if (swapped && !is_plain(s)) continue;
    const bool plain = (swapped ? s.in_channels : s.out_channels) % per_chunk == 0;
    const bool shifted = (swapped ? s.out_channels : s.in_channels) % per_chunk == 0;
    for (const auto kernel : {WeightsKernel::wide, WeightsKernel::large, WeightsKernel::small,
                              WeightsKernel::tall, WeightsKernel::scalars}) {
      const bool elements = kernel == WeightsKernel::tall || kernel == WeightsKernel::scalars;
      if ((!elements && !(plain && shifted)) || (kernel == WeightsKernel::tall && !plain)) continue;
      WeightsPlan plan;
      plan.swapped = swapped;
      plan.kernel = kernel;
      plan.rows = swapped ? s.in_channels : s.out_channels;
      plan.columns = taps * (swapped ? s.out_channels : s.in_channels);
      const Candidate candidate = best_splits(plan, pixels, stage_pixels, s.out_channels);
      if (candidate.cost < best.cost) best = candidate;
    }
  }
  return best.plan;
}

std::string refuses(const OpShape& s) {
  const std::int64_t taps = std::int64_t{s.kernel_height} * s.kernel_width;
  const std::int64_t largest =
      std::max({sizes::input(s), sizes::output(s), taps * s.in_channels * s.out_channels});
  if (largest > kMostElements) return "takes tensors of at most 2,000,000,000 elements";
  if (std::max(s.kernel_height, s.kernel_width) > kMostKernel) return "takes kernels of at most 15x15";
  const std::int64_t reach = kernel_reach(s, s.kernel_height) * std::max(s.width, output_width(s)) *
                             std::max(s.in_channels, s.out_channels);
  if (!is_plain(s) && reach > kMostElements)
    return "takes kernels that reach over at most 2,000,000,000 elements";
  return "";
}

}  // namespace warpscope::ops::conv2d::tensor_cores
