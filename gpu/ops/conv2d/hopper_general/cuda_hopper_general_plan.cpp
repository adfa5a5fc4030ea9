#include <algorithm>
#include <limits>

#include "gpu/ops/batch_norm/partial_moments.h"
#include "gpu/ops/conv2d/backward_lattices.h"
#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d::hopper_general {
namespace {

constexpr int kMostKernel = 15;
constexpr int kLeastChannels = 32;  // fewer leave most of a tile's columns, or of a slice, empty
constexpr int kChannelStep = 8;     // 16 bytes, which rows of tensor maps must be multiples of
constexpr int kStepBytes = 32;      // of the summed channels in a product
constexpr int kSliceSteps = kRowBytes / kStepBytes;
constexpr int kStepElements = 16;  // in 16 bits
// What the copy engine has bits for, in images of two dimensions.
constexpr int kLeastCorner = -128;
constexpr int kMostCorner = 127;
constexpr int kMostOffset = 255;

void set_channels(Problem& q, int result, int summed, core::Precision precision) {
  const int steps =
      static_cast<int>(divide_up(std::int64_t{summed} * fused::hopper::element_bytes(precision), kStepBytes));
  q.channels = result;
  // The last slice is a full one too where only half of its last step is missing: copies fill it with zeros.
  q.full_slices = steps / kSliceSteps;
  q.tail_steps = steps % kSliceSteps;
}

int taps_of(const Lattice& lattice) {
  return lattice.down.count * lattice.right.count;
}

bool has_room(int upper, const AxisTaps& axis) {
  return axis.lower >= kLeastCorner && axis.lower <= kMostCorner && upper >= kLeastCorner &&
         upper <= kMostCorner && (axis.count - 1) * axis.shift <= kMostOffset;
}

/// Whether the copy engine can be told of the lattices over images of rows x columns.
bool can_map(const Problem& q, int rows, int columns) {
  return std::all_of(q.lattices, q.lattices + q.lattice_count, [&](const Lattice& lattice) {
    return taps_of(lattice) == 0 ||
           (has_room(upper_corner(lattice.down, q.read_step, rows), lattice.down) &&
            has_room(upper_corner(lattice.right, q.read_step, columns), lattice.right));
  });
}

/// Estimated cycles of one tile. TF32 has half the elements in a step, at half the speed.
double cycles_of(const TileSize& tile, const Lattice& lattice, const Problem& q, bool wide) {
  const double steps = static_cast<double>(taps_of(lattice)) * (kSliceSteps * q.full_slices + q.tail_steps);
  const double area = static_cast<double>(tile.rows()) * tile.columns;
  const double products = steps * area * kStepElements / kProductsPerCycle;
  const double read = steps * kStepBytes * (tile.rows() + tile.columns) / kBytesPerCycle;
  const double written = area * (wide ? 4 : 2) / kBytesPerCycle;
  return std::max(products, read) + written + kTileOverhead;
}

double cycles_of(const TileSize& tile, const Problem& q, bool wide, int multiprocessors) {
  const std::int64_t across = divide_up(q.channels, tile.columns);
  double work = 0;
  double longest = 0;
  std::int64_t tiles = 0;
  for (int k = 0; k < q.lattice_count; ++k) {
    const std::int64_t mine = divide_up(q.lattices[k].pixels, tile.rows()) * across;
    const double cycles = cycles_of(tile, q.lattices[k], q, wide);
    tiles += mine;
    work += static_cast<double>(mine) * cycles;
    longest = std::max(longest, cycles);
  }
  // The rounds of all multiprocessors, of tiles of average length.
  const double rounds = static_cast<double>(divide_up(tiles, multiprocessors));
  return std::max(longest, rounds * work / static_cast<double>(tiles));
}

std::string refuses_size(const OpShape& s) {
  const std::int64_t taps = std::int64_t{s.kernel_height} * s.kernel_width;
  const std::int64_t largest =
      std::max({sizes::input(s), sizes::output(s), taps * s.in_channels * s.out_channels});
  if (largest > kMostElements) return "takes tensors of at most 2,000,000,000 elements";
  if (s.batch < 1 || sizes::output(s) < 1) return "takes images of at least one pixel";
  if (s.stride > kMostStride) return "takes a stride of 1 or 2";
  if (std::max(s.kernel_height, s.kernel_width) > kMostKernel) return "takes kernels of at most 15x15";
  const bool channels = s.in_channels % kChannelStep == 0 && s.out_channels % kChannelStep == 0;
  return channels ? "" : "takes channels in multiples of 8";
}

bool has_few_channels(const OpShape& s) {
  return std::min(s.in_channels, s.out_channels) < kLeastChannels;
}

bool has_one_tap(const OpShape& s) {
  return s.kernel_height * s.kernel_width == 1;
}

constexpr const char* kTooFewChannels = "takes at least 32 channels each way; fewer where the kernel is 1x1";

std::string refuses(const OpShape& s, Problem (*problem)(const OpShape&, core::Precision), int rows,
                    int columns) {
  if (!can_map(problem(s, core::Precision::bf16), rows, columns)) {
    return "takes kernels that reach over less than 128 pixels";
  }
  return leaves_to_hopper(s)
             ? "leaves channels in multiples of 64 with 3x3 taps, or 3 to 7 in one dimension, to hopper"
             : "";
}

}  // namespace

bool leaves_to_hopper(const OpShape& s) {
  if (s.stride != 1 || s.dilation != 1) return false;
  const fused::ChainShape chain = fused::shape_of(s);
  return fused::hopper::is_wide(chain) || fused::hopper::is_line(chain);
}

int upper_corner(const AxisTaps& axis, int step, int extent) {
  return axis.lower + (axis.extent - 1) * step - (extent - 1);
}

Problem forward_problem(const OpShape& s, core::Precision precision) {
  Problem q;
  q.rows = output_height(s);
  q.columns = output_width(s);
  q.read_step = s.stride;
  q.kernel_width = s.kernel_width;
  q.lattice_count = 1;
  Lattice& all = q.lattices[0];
  all.down = forward_axis(s, q.rows, s.kernel_height);
  all.right = forward_axis(s, q.columns, s.kernel_width);
  all.pixels = static_cast<int>(sizes::output_pixels(s));
  set_channels(q, s.out_channels, s.in_channels, precision);
  return q;
}

Problem backward_input_problem(const OpShape& s, core::Precision precision) {
  Problem q;
  q.rows = s.height;
  q.columns = s.width;
  q.write_step = s.stride;
  q.kernel_width = s.kernel_width;
  add_backward_lattices(q, s);
  set_channels(q, s.in_channels, s.out_channels, precision);
  return q;
}

TileSize choose_tile(const Problem& q, core::Precision precision, int multiprocessors) {
  const bool wide = precision == core::Precision::tf32;
  TileSize best;
  double least = std::numeric_limits<double>::infinity();
  for (int products = kMostProducts; products > 0; --products) {
    for (const int columns : kTileColumns) {
      const TileSize tile{products, columns};
      const double cycles = cycles_of(tile, q, wide, multiprocessors);
      if (cycles < least) {
        least = cycles;
        best = tile;
      }
    }
  }
  return best;
}

void cut(Problem& q, const TileSize& tile) {
  q.column_tiles = static_cast<int>(divide_up(q.channels, tile.columns));
  q.tiles = 0;
  for (int k = 0; k < q.lattice_count; ++k) {
    q.tiles += static_cast<int>(divide_up(q.lattices[k].pixels, tile.rows())) * q.column_tiles;
    q.lattices[k].end_tile = q.tiles;
  }
}

int moment_rows(const Problem& q, int multiprocessors) {
  const int most = std::max(1, std::min(multiprocessors, fused::hopper::kMostSummingBlocks) / q.column_tiles);
  return std::min(most, q.tiles / q.column_tiles);
}

std::size_t moments_workspace(const OpShape& s) {
  const std::int64_t least_tiles = divide_up(s.out_channels, kTileColumns.back());
  const std::int64_t rows = std::max(std::int64_t{1}, fused::hopper::kMostSummingBlocks / least_tiles);
  return static_cast<std::size_t>(batch_norm::partial_moments_elements(rows, s.out_channels)) * sizeof(float);
}

std::string refuses_forward(const OpShape& s) {
  const std::string reason = refuses_size(s);
  if (!reason.empty()) return reason;
  // A tap's slice takes as long to copy however few channels it has.
  if (has_few_channels(s) && !has_one_tap(s)) return kTooFewChannels;
  return refuses(s, forward_problem, s.height, s.width);
}

std::string refuses_backward_input(const OpShape& s) {
  const std::string reason = refuses_size(s);
  if (!reason.empty()) return reason;
  const bool passed_over = s.stride > 1 && s.out_channels >= kLeastChannels;
  if (has_few_channels(s) && !has_one_tap(s) && !passed_over) {
    return s.stride > 1 ? "takes at least 32 output channels; fewer where the kernel is 1x1"
                        : kTooFewChannels;
  }
  return refuses(s, backward_input_problem, output_height(s), output_width(s));
}

std::string refuses_weights_size(const OpShape& s) {
  const std::string reason = refuses_size(s);
  if (!reason.empty()) return reason;
  return has_few_channels(s) ? "takes at least 32 channels each way" : "";
}

std::string refuses_backward_weights(const OpShape& s) {
  const std::string reason = refuses_weights_size(s);
  if (!reason.empty()) return reason;
  return refuses(s, forward_problem, s.height, s.width);
}

}  // namespace warpscope::ops::conv2d::hopper_general
