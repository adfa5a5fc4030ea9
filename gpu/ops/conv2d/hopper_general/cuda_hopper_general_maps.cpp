// The tensor maps of hopper_general.cuh.

#include <cstdint>

#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general.h"

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

/// Boxes of a slice of channels and all pixels of a tile, with the 128-byte swizzle. Dimensions: channel, column, row,
/// image.
CUtensorMap map_lattice(const Images& in, const Lattice& lattice, int step, const TileSize& tile,
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
  const auto pixels = static_cast<cuuint32_t>(step);
  const cuuint32_t steps[] = {1, pixels, pixels, 1};
  static const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeIm2col)>(
      fused::hopper::driver_function("cuTensorMapEncodeIm2col"));
  CUtensorMap map{};
  fused::hopper::check_map(encode(
      &map, fused::hopper::data_type(precision), 4, const_cast<void*>(in.data), sizes, strides, lower, upper,
      static_cast<cuuint32_t>(fused::hopper::slice_of(precision)), static_cast<cuuint32_t>(tile.rows()),
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

Maps map_all(const Images& in, const Problem& q, const TileSize& tile, core::Precision precision) {
  Maps maps{};
  for (int k = 0; k < q.lattice_count; ++k) {
    const Lattice& lattice = q.lattices[k];
    if (lattice.down.count * lattice.right.count == 0) continue;  // nothing is read
    maps.pixels[k] = map_lattice(in, lattice, q.read_step, tile, precision);
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

}  // namespace warpscope::ops::conv2d::hopper_general
