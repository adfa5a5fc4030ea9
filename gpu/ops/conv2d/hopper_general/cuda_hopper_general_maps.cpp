// The tensor maps of hopper_general.cuh.

#include <string>

#include "gpu/core/cuda.h"
#include "gpu/core/error.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general.h"

namespace warpscope::ops::conv2d::hopper_general {
namespace {

using Encode = decltype(&cuTensorMapEncodeIm2col);

/// The driver's function by the runtime: the program does not link to the driver.
Encode encode_function() {
  static const Encode function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    core::check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &found, 12000,
                                                      cudaEnableDefault, &result),
                     "cudaGetDriverEntryPointByVersion(cuTensorMapEncodeIm2col)");
    if (found == nullptr)
      throw core::Error("the driver has no cuTensorMapEncodeIm2col; it must be of CUDA 12 or later");
    return reinterpret_cast<Encode>(found);
  }();
  return function;
}

CUtensorMapDataType data_type(core::Precision precision) {
  switch (precision) {
    case core::Precision::tf32:
      return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    case core::Precision::fp16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  }
}

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
  CUtensorMap map{};
  const CUresult status = encode_function()(
      &map, data_type(precision), 4, const_cast<void*>(in.data), sizes, strides, lower, upper,
      static_cast<cuuint32_t>(fused::hopper::slice_of(precision)), static_cast<cuuint32_t>(tile.rows()),
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    throw core::Error("cuTensorMapEncodeIm2col of a convolution's operand failed with CUDA driver error " +
                      std::to_string(static_cast<int>(status)) + "; operands must be aligned to 16 bytes");
  }
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
