#include <algorithm>
#include <limits>

#include "gpu/ops/conv2d/backward_lattices.h"
#include "gpu/ops/conv2d/pipelined/pipelined.h"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d::pipelined {
namespace {

// Estimates, in cycles of a multiprocessor.
constexpr double kProductsPerCycle = 128.0;
constexpr double kBytesPerCycle = 40.0;  // from the L2 cache
constexpr double kTileOverhead = 2500.0;
constexpr double kPartialBytesPerCycle = 1500.0;  // of all multiprocessors, written and read
constexpr std::int64_t kMostPartialBytes = std::int64_t{128} << 20;
constexpr std::int64_t kMostRounds = 4;
constexpr int kResidentThreads = 512;
// What the grid of transposed_weights.h has room for.
constexpr std::int64_t kMostTaps = 65535;
constexpr int kMostFilters = 2000000;
constexpr int kFullChannels = 64;
constexpr int kMostExtent = 16000;  // of places that 16 bits hold

/// Share of the peak that a thread's products reach beside what it reads of shared memory for them.
double efficiency(const TileShape& tile) {
  const double products = tile.down * tile.across;
  const double reads = (tile.down + tile.across) / 4.0;
  return 0.9 * products / (products + 1.5 * reads);
}

/// Estimated cycles of a tile, where as many are resident as can be.
double cycles_of(const TileShape& tile, double depth) {
  const double products = tile.rows() * static_cast<double>(tile.columns()) * depth;
  const double bytes = 4.0 * (tile.rows() + tile.columns()) * depth;
  return std::max(products / (kProductsPerCycle * efficiency(tile)), bytes / kBytesPerCycle) + kTileOverhead;
}

int resident(const TileShape& tile) {
  return kResidentThreads / tile.threads();
}

/// Estimated cycles of so many tiles of `cycles` each: as many as are resident share the multiprocessors.
double rounds_of(const TileShape& tile, std::int64_t tiles, double cycles) {
  const std::int64_t at_once = std::int64_t{kPlannedProcessors} * resident(tile);
  const std::int64_t whole = tiles / at_once;
  const std::int64_t rest = tiles - whole * at_once;
  // What is left over runs with fewer beside it, which use a multiprocessor less well.
  constexpr double kAlone = 0.7;
  const double last =
      rest == 0 ? 0.0 : std::max(static_cast<double>(divide_up(rest, kPlannedProcessors)), 1.0 / kAlone);
  return (static_cast<double>(whole * resident(tile)) + last) * cycles;
}

std::int64_t depth_of(const Problem& q, const Lattice& lattice) {
  const std::int64_t taps = std::int64_t{lattice.down.count} * lattice.right.count;
  const bool vectors = q.summed % kVector == 0;
  return vectors ? taps * divide_up(q.summed, kDepth) * kDepth : divide_up(taps * q.summed, kDepth) * kDepth;
}

void cut(Problem& q, const TileShape& tile) {
  q.column_tiles = static_cast<int>(divide_up(q.channels, tile.columns()));
  int end = 0;
  for (int k = 0; k < q.lattice_count; ++k) {
    end += static_cast<int>(divide_up(q.lattices[k].pixels, tile.rows()));
    q.lattices[k].end_tile = end;
  }
}

double cycles_of(const Problem& q, const TileShape& tile) {
  std::int64_t tiles = 0;
  double work = 0;
  for (int k = 0; k < q.lattice_count; ++k) {
    const std::int64_t mine = divide_up(q.lattices[k].pixels, tile.rows()) * q.column_tiles;
    tiles += mine;
    work += static_cast<double>(mine) * cycles_of(tile, static_cast<double>(depth_of(q, q.lattices[k])));
  }
  return tiles == 0 ? 0.0 : rounds_of(tile, tiles, work / static_cast<double>(tiles));
}

bool in_fours(const OpShape& s) {
  return s.in_channels % kVector == 0 && s.out_channels % kVector == 0;
}

/// All but tiles and splits.
WeightsProblem weights_problem(const OpShape& s) {
  WeightsProblem q;
  q.down = forward_axis(s, output_height(s), s.kernel_height);
  q.right = forward_axis(s, output_width(s), s.kernel_width);
  q.read_rows = s.height;
  q.read_columns = s.width;
  q.in_channels = s.in_channels;
  q.out_channels = s.out_channels;
  q.read_step = s.stride;
  q.pixels = sizes::output_pixels(s);
  q.bias = s.covered.has(Op::conv2d_backward_bias);
  return q;
}

}  // namespace

Problem forward_problem(const OpShape& s) {
  Problem q;
  q.read_rows = s.height;
  q.read_columns = s.width;
  q.summed = s.in_channels;
  q.rows = output_height(s);
  q.columns = output_width(s);
  q.channels = s.out_channels;
  q.read_step = s.stride;
  q.kernel_width = s.kernel_width;
  q.tap_elements = s.in_channels;
  q.filter_elements = s.kernel_height * s.kernel_width * s.in_channels;
  q.dense = true;
  q.lattice_count = 1;
  q.lattices[0].down = forward_axis(s, q.rows, s.kernel_height);
  q.lattices[0].right = forward_axis(s, q.columns, s.kernel_width);
  q.lattices[0].pixels = static_cast<int>(sizes::output_pixels(s));
  return q;
}

Problem backward_input_problem(const OpShape& s) {
  Problem q;
  q.read_rows = output_height(s);
  q.read_columns = output_width(s);
  q.summed = s.out_channels;
  q.rows = s.height;
  q.columns = s.width;
  q.channels = s.in_channels;
  q.write_step = s.stride;
  q.kernel_width = s.kernel_width;
  q.tap_elements = s.in_channels * s.out_channels;  // (R, S, C, K), transposed_weights.h
  q.filter_elements = s.out_channels;
  q.dense = s.stride == 1;
  add_backward_lattices(q, s);
  return q;
}

int cut(Problem& q) {
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < static_cast<int>(kTiles.size()); ++k) {
    cut(q, kTiles[static_cast<std::size_t>(k)]);
    const double cycles = cycles_of(q, kTiles[static_cast<std::size_t>(k)]);
    if (cycles >= least) continue;
    least = cycles;
    best = k;
  }
  cut(q, kTiles[static_cast<std::size_t>(best)]);
  return best;
}

WeightsPlan plan_weights(const OpShape& s) {
  WeightsPlan best;
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < static_cast<int>(kTiles.size()); ++k) {
    const TileShape& tile = kTiles[static_cast<std::size_t>(k)];
    WeightsProblem q = weights_problem(s);
    q.row_tiles = static_cast<int>(divide_up(q.row_count(), tile.rows()));
    q.column_tiles = static_cast<int>(divide_up(q.out_channels, tile.columns()));
    const std::int64_t tiles = std::int64_t{q.row_tiles} * q.column_tiles;
    const std::int64_t stages = divide_up(q.pixels, kDepth);
    const std::int64_t at_once = std::int64_t{kPlannedProcessors} * resident(tile);
    const std::int64_t fit =
        kMostPartialBytes / static_cast<std::int64_t>(sizeof(float)) / q.split_elements();
    for (std::int64_t rounds = 1; rounds <= kMostRounds; ++rounds) {
      const std::int64_t wanted = std::clamp<std::int64_t>(rounds * at_once / tiles, 1,
                                                           std::max<std::int64_t>(1, std::min(stages, fit)));
      q.per_split = static_cast<int>(divide_up(stages, wanted) * kDepth);
      q.splits = static_cast<int>(divide_up(q.pixels, q.per_split));
      const double partial =
          q.splits > 1 ? 4.0 * q.splits * static_cast<double>(q.split_elements()) / kPartialBytesPerCycle
                       : 0.0;
      const double cycles = rounds_of(tile, tiles * q.splits, cycles_of(tile, q.per_split)) + partial;
      if (cycles >= least) continue;
      least = cycles;
      best = {k, q};
    }
  }
  return best;
}

std::string refuses(const OpShape& s) {
  const std::int64_t taps = std::int64_t{s.kernel_height} * s.kernel_width;
  const std::int64_t weights = taps * s.in_channels * s.out_channels;
  const std::int64_t largest = std::max({sizes::input(s), sizes::output(s), weights});
  if (largest > kMostElements) return "takes tensors of at most 2,000,000,000 elements";
  if (s.batch < 1 || sizes::output(s) < 1) return "takes images of at least one pixel";
  if (s.stride > kMostStride) return "takes a stride of at most 4";
  if (taps > kMostTaps || s.out_channels > kMostFilters)
    return "takes at most 65,535 taps, and 2,000,000 filters";
  const std::int64_t reach = std::int64_t{s.dilation} * std::max(s.kernel_height, s.kernel_width);
  if (std::max(s.height, s.width) + reach > kMostExtent)
    return "takes images of at most 16,000 rows and columns";
  if (!in_fours(s) && is_plain(s))
    return "leaves plain convolutions of other channels than multiples of 4 to fused";
  // Tiles of `fused` are full then, and its stages have twice the depth.
  const bool fills = s.in_channels % kFullChannels == 0 && s.out_channels % kFullChannels == 0;
  return fills && is_plain(s) ? "leaves plain convolutions of channels in multiples of 64 to fused" : "";
}

std::string refuses_weights(const OpShape& s) {
  const std::string reason = refuses(s);
  if (!reason.empty()) return reason;
  const bool one_tap = s.kernel_height * s.kernel_width == 1;
  return one_tap && is_plain(s) ? "leaves plain convolutions of one tap to fused" : "";
}

}  // namespace warpscope::ops::conv2d::pipelined
