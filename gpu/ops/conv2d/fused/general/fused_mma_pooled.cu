// conv2d.backward_weights, variant `fused` in TF32, FP16 and BF16, of pooled layers with fewer input channels
// than fill 16 bytes (a network's first): a product over the pixels, a pooling window's four as neighbours,
// of the gradient and the window of x around each. The gradient before pooling, four times as large as the
// pooled one and mostly zeros, is never stored: a lane reads 16 bytes of the pooled gradient and their codes
// and writes to shared memory what belongs to its pixel.
//
// Tile 128x32. Limits: tensors of at most 2e9 elements, kernels of at most 15x15, filters that fill 16 bytes;
// the gradient passes through registers.
// Registers on sm_90, in TF32 and in 16 bits: 138 and 157; none spill. Shared memory: 60 KiB.
// Source: chain.h; those of conv2d_mma_backward_weights.cu.

#include "gpu/ops/conv2d/fused/general/fused.h"
#include "gpu/ops/conv2d/fused/general/fused_mma.cuh"
#include "gpu/ops/conv2d/implicit_gemm_launch.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::general {
namespace tensor {
namespace {

using Tile = conv2d::tensor_cores::TallTile;

struct PooledProblem {
  Window window;
  int rows;
  int columns;
  int split_pixels;
  int column_tiles;
  std::int64_t split_elements;
  bool vectors;  ///< the gradient takes 16 bytes at a time
};

/// A: the gradient before pooling, AlongSide.
template <class Math, class Layout>
struct PooledVectors : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* gradient;
  const std::uint8_t* argmax;
  int filters;
  int filter;
  int end;
  bool vectors;

  __device__ __forceinline__ PooledVectors(const PooledProblem& q, const typename Math::Storage* from,
                                           const std::uint8_t* codes, int first, int end_pixel)
      : gradient(from),
        argmax(codes),
        filters(q.rows),
        filter(first + this->first()),
        end(end_pixel),
        vectors(q.vectors) {}
  /// What pixel `pixel` has of its window's gradient.
  __device__ __forceinline__ Chunk<Math> read(int pixel) const {
    Chunk<Math> chunk{};
    if (filter >= filters || pixel >= end) return chunk;
    const auto element = static_cast<unsigned>((pixel >> 2) * filters + filter);
    if (vectors) {
      chunk.read(gradient + element);
    } else {
#pragma unroll
      for (int e = 0; e < chunk.count; ++e) chunk.put(e, gradient[element + e]);
    }
    unsigned codes = argmax[element / 4];
    if constexpr (Chunk<Math>::count == 8) codes |= static_cast<unsigned>(argmax[element / 4 + 1]) << 8;
#pragma unroll
    for (int e = 0; e < chunk.count; ++e) {
      if ((codes >> 2 * e & 3u) != static_cast<unsigned>(pixel & 3)) chunk.clear(e);
    }
    return chunk;
  }
  __device__ __forceinline__ void fetch(int first_pixel, mma::SharedAddress tile) const {
    // All reads before the first write, which they could not pass.
    Chunk<Math> chunks[Base::count];
#pragma unroll
    for (int i = 0; i < Base::count; ++i) chunks[i] = read(first_pixel + this->line + i * this->line_step);
#pragma unroll
    for (int i = 0; i < Base::count; ++i) mma::store_chunk(this->place(tile, i), chunks[i].words);
  }
};

template <class Math>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks)
    fused_mma_pooled(const __grid_constant__ PooledProblem q,
                     const typename Math::Storage* __restrict__ gradient,
                     const std::uint8_t* __restrict__ argmax,
                     const typename Math::Storage* __restrict__ input, float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using LayoutA = conv2d::tensor_cores::AlongSide<Math, Tile::rows, Tile::depth_bytes, Tile::threads>;
  using LayoutB = conv2d::tensor_cores::AlongSide<Math, Tile::columns, Tile::depth_bytes, Tile::threads>;
  constexpr int kDepth = conv2d::tensor_cores::depth_of<Tile, Math>;

  const int first_row = static_cast<int>(blockIdx.x) / q.column_tiles * Tile::rows;
  const int first_column = static_cast<int>(blockIdx.x) % q.column_tiles * Tile::columns;
  int pixel = static_cast<int>(blockIdx.y) * q.split_pixels;
  const int end = min(q.window.taps.pixels, pixel + q.split_pixels);
  const int stages = (end - pixel + kDepth - 1) / kDepth;
  const PooledVectors<Math, LayoutA> a(q, gradient, argmax, first_row, end);
  const ShiftedScalars<Math, LayoutB> b(q.window, input, first_column, end);
  const auto fetch = [&](mma::SharedAddress a_tile, mma::SharedAddress b_tile) {
    a.fetch(pixel, a_tile);
    b.fetch(q.window, pixel, b_tile);
    pixel += kDepth;
  };
  const auto look = [](mma::SharedAddress, mma::SharedAddress) {};

  const WarpPlace at = conv2d::tensor_cores::warp_place<Tile>();
  Sums<Tile> sums;
  conv2d::tensor_cores::multiply<Tile, Math, LayoutA, LayoutB>(sums, mma::shared_address(shared), stages, at,
                                                               fetch, look);
  auto* mine = reinterpret_cast<std::uint32_t*>(partial + blockIdx.y * q.split_elements);
  conv2d::tensor_cores::finish<Tile, mma::Tf32>(
      sums, shared, at, first_row, first_column,
      conv2d::tensor_cores::Target<mma::Tf32>{mine, q.rows, q.columns, q.columns % 4 == 0});
#endif
}

template <class Math>
void launch_pooled(const Weights& call, const std::uint8_t* argmax) {
  using Storage = typename Math::Storage;
  const auto rows = static_cast<int>(call.plan.rows);
  const auto columns = static_cast<int>(call.plan.columns);
  const int row_tiles = (rows + Tile::rows - 1) / Tile::rows;
  const int column_tiles = (columns + Tile::columns - 1) / Tile::columns;
  const PooledProblem problem{call.window,
                              rows,
                              columns,
                              static_cast<int>(call.plan.split_pixels),
                              column_tiles,
                              call.plan.split_elements(),
                              conv2d::takes_vectors(call.gradient)};
  const dim3 blocks(static_cast<unsigned>(row_tiles) * static_cast<unsigned>(column_tiles),
                    static_cast<unsigned>(call.plan.splits));
  run_kernel(call, "pooled", {blocks, Tile::threads, Tile::shared_bytes}, fused_mma_pooled<Math>, problem,
             call.gradient, argmax, call.input, call.partial);
}

}  // namespace
}  // namespace tensor

void pooled_weights_mma(const Weights& call, const std::uint8_t* argmax, core::Precision precision) {
  mma::with_math(precision, [&]<class Math>(Math) { tensor::launch_pooled<Math>(call, argmax); });
}

}  // namespace warpscope::ops::conv2d::fused::general
