// The tensor maps of hopper_general.cuh.

#include <cstdint>

#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general_weights.h"

namespace warpscope::ops::conv2d::hopper_general {
namespace {

/// What the taps read.
struct Images {
  const void* data;
  std::int64_t count;
  int rows;
  int columns;
  int channels;
};

/// Boxes of so many pixels and channels, with the swizzle of the 128 or 64 bytes that these are. Dimensions: channel,
/// column, row, image.
CUtensorMap map_lattice(const Images& in, const Lattice& lattice, int step, int pixels, int box_channels,
                        core::Precision precision) {
  const auto unsigned_of = [](std::int64_t value) { return static_cast<cuuint64_t>(value); };
  const int bytes = fused::hopper::element_bytes(precision);
  const std::int64_t column = std::int64_t{bytes} * in.channels;
  const std::int64_t row = column * in.columns;
  const cuuint64_t sizes[] = {unsigned_of(in.channels), unsigned_of(in.columns), unsigned_of(in.rows),
                              unsigned_of(in.count)};
  const cuuint64_t strides[] = {unsigned_of(column), unsigned_of(row), unsigned_of(row * in.rows)};
  const int lower[] = {lattice.right.lower, lattice.down.lower};
  const int upper[] = {upper_corner(lattice.right, step, in.columns),
                       upper_corner(lattice.down, step, in.rows)};
  const auto apart = static_cast<cuuint32_t>(step);
  const cuuint32_t steps[] = {1, apart, apart, 1};
  static const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeIm2col)>(
      fused::hopper::driver_function("cuTensorMapEncodeIm2col"));
  const auto swizzle =
      box_channels * bytes == kRowBytes ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
  CUtensorMap map{};
  fused::hopper::check_map(encode(&map, fused::hopper::data_type(precision), 4, const_cast<void*>(in.data),
                                  sizes, strides, lower, upper, static_cast<cuuint32_t>(box_channels),
                                  static_cast<cuuint32_t>(pixels), steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

Maps map_all(const Images& in, const Problem& q, const TileSize& tile, core::Precision precision) {
  Maps maps{};
  for (int k = 0; k < q.lattice_count; ++k) {
    const Lattice& lattice = q.lattices[k];
    if (lattice.down.count * lattice.right.count == 0) continue;  // nothing is read
    maps.pixels[k] =
        map_lattice(in, lattice, q.read_step, tile.rows(), fused::hopper::slice_of(precision), precision);
  }
  return maps;
}

}  // namespace

Maps map_forward(const OpCall& call, const Problem& q, const Tensors& tensors, const TileSize& tile) {
  const OpShape& s = call.shape;
  const Images x{tensors.in, s.batch, s.height, s.width, s.in_channels};
  Maps maps = map_all(x, q, tile, call.precision);
  const fused::hopper::Filters w{tensors.weights, s.out_channels, s.kernel_height * s.kernel_width,
                                 s.in_channels, false};
  maps.filters = fused::hopper::map_filters(w, tile.columns, call.precision);
  return maps;
}

Maps map_backward_input(const OpCall& call, const Problem& q, const Tensors& tensors, const TileSize& tile) {
  const OpShape& s = call.shape;
  const Images dy{tensors.in, s.batch, output_height(s), output_width(s), s.out_channels};
  Maps maps = map_all(dy, q, tile, call.precision);
  const fused::hopper::Filters w{tensors.weights, s.in_channels, s.kernel_height * s.kernel_width,
                                 s.out_channels, true};
  maps.filters = fused::hopper::map_filters(w, tile.columns, call.precision);
  return maps;
}

WeightsMaps map_backward_weights(const OpCall& call, const WeightsTile& tile) {
  const OpShape& s = call.shape;
  const Problem forward = forward_problem(s, call.precision);
  const Images x{call.operand<const void>(Name::input), s.batch, s.height, s.width, s.in_channels};
  const Images dy{call.operand<const void>(Name::output_gradient), s.batch, forward.rows, forward.columns,
                  s.out_channels};
  Lattice all;
  all.down.extent = forward.rows;
  all.right.extent = forward.columns;
  const int of_input = tile.taps_in_rows ? tile.slice : kSliceChannels;
  return {map_lattice(x, forward.lattices[0], forward.read_step, kStagePixels, of_input, call.precision),
          map_lattice(dy, all, 1, kStagePixels, kSliceChannels, call.precision)};
}

}  // namespace warpscope::ops::conv2d::hopper_general
