#include <algorithm>
#include <limits>

#include "gpu/ops/conv2d/fused/narrow/narrow_sum.h"
#include "gpu/ops/conv2d/patches/patches.h"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d::patches {
namespace {

constexpr int kMostPairs =
    1600;  // of channels: above, `hopper_general` takes less time (H200: 40 x 40, 48 x 48)
constexpr int kMostReach = 1 << 12;     // of a kernel
constexpr int kMostTries = 16;          // of an axis
constexpr int kMostWeights = 30 << 10;  // leave room for the patches of two blocks on a multiprocessor

Problem problem_of(const OpShape& s) {
  Problem q{};
  q.batch = static_cast<int>(s.batch);
  q.kernel_height = s.kernel_height;
  q.kernel_width = s.kernel_width;
  q.dilation = s.dilation;
  return q;
}

Problem problem_of_forward(const OpShape& s) {
  Problem q = problem_of(s);
  q.height = s.height;
  q.width = s.width;
  q.chunks = s.in_channels / kChunkChannels;
  q.rows = output_height(s);
  q.columns = output_width(s);
  q.filters = s.out_channels;
  q.above = padding_of(s, s.kernel_height);
  q.before = padding_of(s, s.kernel_width);
  return q;
}

/// Tiles of so many images, rows and columns.
void cut_tiles(Problem& q, int images, int rows, int columns, int stages) {
  q.images = images;
  q.tile_rows = rows;
  q.tile_columns = columns;
  q.patch_rows = rows + (q.kernel_height - 1) * q.dilation;
  q.patch_columns = columns + (q.kernel_width - 1) * q.dilation;
  q.across = static_cast<int>(divide_up(q.columns, columns));
  q.down = static_cast<int>(divide_up(q.rows, rows));
  q.tiles = static_cast<int>(divide_up(q.batch, images)) * q.across * q.down;
  q.stages = stages;
}

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kBytesPerCycle = 40.0;
constexpr double kTileOverhead = 300.0;
constexpr int kReadCycles = 4;  // of shared memory, for a fragment of 16 rows

/// Reads of shared memory for a fragment of 16 pixels. Where eight neighbours are not all in a row of the tile, some
/// are in the same banks.
double fragment_reads(const Problem& q) {
  constexpr double kConflicts = 1.4;
  const bool in_a_row = q.tile_columns % 8 == 0 || q.images * q.tile_rows == 1;
  return kReadCycles * (in_a_row ? 1.0 : kConflicts);
}

/// Cycles that a tile's pixels of `channels` take from the L2 cache.
double copy_cycles(int pixels, int channels) {
  return static_cast<double>(pixels) * channels * 2 / kBytesPerCycle;
}

double all_tiles(const Problem& q, double cycles) {
  return (cycles + kTileOverhead) * static_cast<double>(divide_up(q.tiles, kPlannedProcessors));
}

/// Estimated cycles of a multiprocessor for all its tiles: reads of shared memory, copies from the L2 cache, what a
/// tile costs beside.
double cycles_of(const Problem& q) {
  if (layout_of(q).bytes > kSharedBytes) return kNever;
  constexpr double kUncovered = 1.2;     // nothing is copied beside the products of the same block
  constexpr double kHidingWarps = 12.0;  // of a multiprocessor: fewer wait for what they read
  const int fragments = fragments_of(q.filters);
  const int warp_tiles = warp_tiles_of(fragments);
  const auto warps = static_cast<double>(divide_up(q.tile_pixels(), 16 * warp_tiles));
  const double products = warps * q.steps() * (fragment_reads(q) * warp_tiles + 2 * fragments + 1);
  const double waited = std::max(1.0, kHidingWarps / (warps * resident_blocks(q)));
  const double copied = copy_cycles(q.patch_pixels(), q.chunks * kChunkChannels);
  return all_tiles(q, (products * waited + copied) * (q.stages == 1 ? kUncovered : 1.0));
}

/// The same of backward_weights.
double weights_cycles_of(const Problem& q) {
  if (q.stages != 2 || weights_layout(q).bytes > kSharedBytes) return kNever;
  const PairTiles tiles = pair_tiles_of(q);
  const auto steps = static_cast<double>(divide_up(q.tile_pixels(), 16));
  const double products =
      steps * (fragment_reads(q) * tiles.of_slab + 2 * tiles.sharing * fragments_of(q.filters));
  const double copied =
      copy_cycles(q.patch_pixels(), q.chunks * kChunkChannels) + copy_cycles(q.tile_pixels(), q.filters);
  return all_tiles(q, tiles.slabs * (products + copied));
}

/// The tiles that are estimated to take the least time; without tiles where no patch fits.
void choose_tiles(Problem& q, double (*cycles_of_tiles)(const Problem&)) {
  Problem best = q;
  double least = kNever;
  const auto consider = [&](int images, int rows, int columns) {
    for (int stages = 2; stages > 0; --stages) {
      cut_tiles(q, images, rows, columns, stages);
      const double cycles = cycles_of_tiles(q);
      if (cycles >= least) continue;
      least = cycles;
      best = q;
    }
  };
  const auto parts = [](int extent, int part) { return static_cast<int>(divide_up(extent, part)); };
  const int least_across = parts(q.columns, kTilePixels);
  for (int across = least_across; across < least_across + kMostTries; ++across) {
    const int least_columns = parts(q.columns, across);
    for (const int columns : {least_columns, parts(least_columns, 8) * 8}) {
      const int least_down = parts(q.rows, kTilePixels / columns);
      for (int down = least_down; down < least_down + kMostTries; ++down) {
        const int rows = parts(q.rows, down);
        const bool whole = columns >= q.columns && rows == q.rows;
        const int most = whole ? std::min(kTilePixels / (rows * columns), q.batch) : 1;
        for (int images = most; images > 0; images /= 2) consider(images, rows, columns);
      }
    }
  }
  q = best;
}

bool is_multiple(int channels) {
  return channels % kChunkChannels == 0 && channels <= kMostChannels;
}

std::string refuses(const OpShape& s, Problem (*problem)(const OpShape&)) {
  if (!is_multiple(s.in_channels) || !is_multiple(s.out_channels) ||
      s.in_channels * s.out_channels > kMostPairs) {
    return "takes channels in multiples of 8, at most 64, and 1,600 pairs of input and output channels";
  }
  if (s.stride != 1) return "takes a stride of 1";
  if (s.kernel_height * s.kernel_width == 1) return "takes kernels of more than one tap";
  if (s.batch < 1 || sizes::output(s) < 1) return "takes images of at least one pixel";
  if (std::max(sizes::input(s), sizes::output(s)) > kMostElements) {
    return "takes tensors of at most 2,000,000,000 elements";
  }
  const std::int64_t weights =
      std::int64_t{s.kernel_height} * s.kernel_width * s.in_channels * s.out_channels;
  if (weights > kMostWeights) return "takes at most 30,720 weights";
  if (std::max(kernel_reach(s, s.kernel_height), kernel_reach(s, s.kernel_width)) > kMostReach) {
    return "takes kernels that reach over at most 4,096 pixels";
  }
  return problem(s).tiles > 0 ? ""
                              : "takes kernels that fit shared memory together with the pixels they read";
}

}  // namespace

Problem forward_problem(const OpShape& s) {
  Problem q = problem_of_forward(s);
  choose_tiles(q, cycles_of);
  return q;
}

Problem backward_weights_problem(const OpShape& s) {
  Problem q = problem_of_forward(s);
  choose_tiles(q, weights_cycles_of);
  return q;
}

Problem backward_input_problem(const OpShape& s) {
  Problem q = problem_of(s);
  q.height = output_height(s);
  q.width = output_width(s);
  q.chunks = s.out_channels / kChunkChannels;
  q.rows = s.height;
  q.columns = s.width;
  q.filters = s.in_channels;
  q.above = (s.kernel_height - 1) * s.dilation - padding_of(s, s.kernel_height);
  q.before = (s.kernel_width - 1) * s.dilation - padding_of(s, s.kernel_width);
  q.turned = true;
  choose_tiles(q, cycles_of);
  return q;
}

std::string refuses_forward(const OpShape& s) {
  return refuses(s, forward_problem);
}

std::string refuses_backward_input(const OpShape& s) {
  return refuses(s, backward_input_problem);
}

std::string refuses_backward_weights(const OpShape& s) {
  return refuses(s, backward_weights_problem);
}

int splits_of(const Problem& q) {
  return std::min(q.tiles, std::max(1, fused::narrow::kSplits / pair_tiles_of(q).slabs));
}

}  // namespace warpscope::ops::conv2d::patches
