// Cuts of split_k.h. A model of the time decides: the chunks that a block walks through one after the other,
// at the rate at which a multiprocessor gets through chunks of that tile; blocks beyond one a multiprocessor
// share it; and where sums are split, the hand-over to the last block and the parts that it reads.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "gpu/ops/linear/split_k.h"
#include "gpu/ops/planned_processors.h"

namespace warpscope::ops::linear::split_k {
namespace {

constexpr unsigned kMultiprocessors = kPlannedProcessors;
constexpr unsigned kMostSplits = 32;
// Splitting further than this only adds parts to read.
constexpr std::uint64_t kMostSplitBlocks = 2 * kMultiprocessors;
constexpr double kHandOver = 1.5;  // microseconds from a block's last sum to the last block's first part

/// Microseconds.
struct TileCosts {
  unsigned tile;
  double scalar_chunk;  ///< of one chunk on the CUDA cores
  double tensor_chunk;  ///< of one chunk on the tensor cores
  double part;          ///< of reading one part
};

constexpr std::array<TileCosts, 3> kTiles{
    {{16, 0.13, 0.06, 0.02}, {32, 0.25, 0.12, 0.06}, {64, 0.85, 0.25, 0.2}}};

unsigned divide_up(unsigned a, unsigned b) {
  return a / b + (a % b != 0);
}

unsigned chunk_depth(core::Precision precision) {
  const Role role = Role::activation;
  return kChunkBytes / static_cast<unsigned>(core::size_of(element_type(role, precision)));
}

unsigned chunks_of(const Product& p, core::Precision precision) {
  return std::max(divide_up(p.depth, chunk_depth(precision)), 1u);
}

/// Microseconds of work on one multiprocessor if the cut's blocks had the GPU to themselves, one each.
double block_time(const Cut& cut, const TileCosts& costs, core::Precision precision) {
  const double chunk = precision == core::Precision::fp32 ? costs.scalar_chunk : costs.tensor_chunk;
  return cut.chunks * chunk + (cut.splits > 1 ? cut.splits * costs.part : 0.0);
}

double crowding(double blocks) {
  return std::max(1.0, blocks / kMultiprocessors);
}

double time_of(const Cut& cut, const TileCosts& costs, core::Precision precision) {
  return block_time(cut, costs, precision) * crowding(cut.blocks()) + (cut.splits > 1 ? kHandOver : 0.0);
}

/// The best number of parts in tiles of one size.
Cut best_splits(const Product& p, core::Precision precision, const TileCosts& costs) {
  Cut best = cut_into(p, precision, costs.tile, 1);
  for (unsigned splits = 2; splits <= kMostSplits; ++splits) {
    const Cut cut = cut_into(p, precision, costs.tile, splits);
    if (std::uint64_t{cut.tiles} * cut.splits > kMostSplitBlocks) break;
    if (time_of(cut, costs, precision) < time_of(best, costs, precision)) best = cut;
  }
  return best;
}

Product product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  return {static_cast<unsigned>(rows), static_cast<unsigned>(columns), static_cast<unsigned>(depth)};
}

}  // namespace

Product forward_product(const OpShape& s) {
  return product(s.batch, s.out_channels, s.in_channels);
}
Product backward_input_product(const OpShape& s) {
  return product(s.batch, s.in_channels, s.out_channels);
}
Product backward_weights_product(const OpShape& s) {
  return product(s.out_channels, s.in_channels, s.batch);
}

Cut cut_into(const Product& p, core::Precision precision, unsigned tile, unsigned splits) {
  Cut cut;
  cut.tile = tile;
  cut.across = divide_up(p.columns, tile);
  cut.tiles = divide_up(p.rows, tile) * cut.across;
  const unsigned chunks = chunks_of(p, precision);
  cut.chunks = divide_up(chunks, std::clamp(splits, 1u, chunks));
  cut.splits = divide_up(chunks, cut.chunks);
  return cut;
}

Cut best_cut(const Product& p, core::Precision precision) {
  return best_pair(p, {}, precision).first;
}

Pair best_pair(const Product& first, const Product& second, core::Precision precision) {
  Pair best;
  double least = std::numeric_limits<double>::infinity();
  for (const TileCosts& costs : kTiles) {
    Pair pair;
    pair.first = best_splits(first, precision, costs);
    if (second.rows > 0) pair.second = best_splits(second, precision, costs);
    // Both at once: the longer of the two, or what the multiprocessors need for all of it.
    const double a = block_time(pair.first, costs, precision);
    const double b = second.rows > 0 ? block_time(pair.second, costs, precision) : 0.0;
    const double work = (a * pair.first.blocks() + b * pair.second.blocks()) / kMultiprocessors;
    const bool split = pair.first.splits > 1 || pair.second.splits > 1;
    const double time = std::max({a, b, work}) + (split ? kHandOver : 0.0);
    if (time >= least) continue;
    least = time;
    best = pair;
  }
  return best;
}

std::size_t parts_bytes(const Cut& cut) {
  if (cut.splits <= 1) return 0;
  return std::size_t{cut.blocks()} * part_floats(cut.tile) * sizeof(float);
}

}  // namespace warpscope::ops::linear::split_k
