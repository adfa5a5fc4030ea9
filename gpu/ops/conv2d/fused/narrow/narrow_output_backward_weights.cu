// conv2d.backward_weights for an upsampled input and few output channels: on tensor cores, x and dy read
// once.
//
//   dws[(output, o), c] = sum over pixels of dy[output of the 4x4 around pixel's 2x2, o] * x[pixel, c]
//   dw[o, r, s, c]      = the sum of the four dws whose output meets the pixel with tap (r, s)
//
// A[(output, o)][pixel] are the rows of narrow_patch.cuh, transposed as they are loaded, B[pixel][c] is x,
// which comes by asynchronous copies, four tiles deep. Tiles are dealt out to 264 blocks, whose eight warps
// have 32 channels each; a block folds dws into dw before it writes, and a second kernel adds the partial
// results in a fixed order (narrow_sum.h). The bias gradient is summed from the patches on their way through
// registers.
//
// Limits: compute capability 8.0; one block has 256 input channels, more are more blocks that read dy again.
// Two blocks of 256 threads a multiprocessor, 72 KB of shared memory for 3 channels, at most 125 registers,
// none spilled; the workspace has 264 copies of the gradients.
// Source: W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?" (2016), for the sums
// of taps; NVIDIA, "CUTLASS: implicit GEMM convolution", for split-K.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/narrow/narrow.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_fold.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_patch.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_sum.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_tf32.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::narrow {
namespace {

inline constexpr int kThreads = 256;
inline constexpr int kStages = 4;
inline constexpr int kFragments = 4;  // of eight channels, of a warp
inline constexpr int kChannels = 32;  // of a warp
inline constexpr int kSteps = kTileWindows / 16;
inline constexpr int kLineBytes = 2 * kSlabChannels + 16;  // eight lines meet all banks
inline constexpr int kSumStride = kSlabChannels + 4;       // floats

using Inputs = WideTile<kLineBytes>;

template <int kNarrow>
struct Layout {
  using Rows = WindowRows<kNarrow>;
  static constexpr int rows = kStages * Inputs::bytes;  // where the parts of shared memory begin
  static constexpr int patch = rows + Rows::bytes;
  static constexpr int bytes = patch + Patch<kNarrow, kThreads>::bytes;
  static_assert(Rows::elements * kSumStride * 4 <= rows);
};

template <class Math, int kNarrow>
__device__ __forceinline__ void multiply_tile(float (&sums)[kNarrow][kFragments][4], mma::SharedAddress rows,
                                              mma::SharedAddress inputs, int warp, int lane) {
  using Rows = WindowRows<kNarrow>;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    unsigned a[kNarrow][4];
#pragma unroll
    for (int i = 0; i < kNarrow; ++i) {
      const int row = 16 * step + lane % 8 + lane / 16 * 8;
      mma::load_matrices_transposed(
          a[i], rows + static_cast<unsigned>(row * Rows::stride + 32 * i + lane / 8 % 2 * 16));
    }
#pragma unroll
    for (int j = 0; j < kFragments; j += 2) {
      unsigned matrices[4];
      mma::load_matrices_transposed(
          matrices, inputs + static_cast<unsigned>((16 * step + lane % 16) * kLineBytes +
                                                   2 * kChannels * warp + (j + lane / 16) * 16));
      const unsigned b[2][2] = {{matrices[0], matrices[1]}, {matrices[2], matrices[3]}};
#pragma unroll
      for (int i = 0; i < kNarrow; ++i) {
        mma::multiply_add(Math{}, sums[i][j], a[i], b[0]);
        mma::multiply_add(Math{}, sums[i][j + 1], a[i], b[1]);
      }
    }
  }
}

/// Writes dw as (o, r, s, c), folded from the sums.
template <int kNarrow>
__device__ __forceinline__ void write_partial(const float (&sums)[kNarrow][kFragments][4],
                                              float* __restrict__ shared, const Tiles& tiles, int warp,
                                              int lane, float* __restrict__ partial) {
#pragma unroll
  for (int i = 0; i < kNarrow; ++i) {
#pragma unroll
    for (int j = 0; j < kFragments; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = 16 * i + lane / 4 + 8 * (e / 2);
        shared[row * kSumStride + kChannels * warp + 8 * j + 2 * (lane % 4) + e % 2] = sums[i][j][e];
      }
    }
  }
  __syncthreads();
  fold_sums<kNarrow, kSumStride>(shared, tiles, partial);
}

template <class Math, int kNarrow>
__global__ void __launch_bounds__(kThreads, 2)
    narrow_output_weights(const __grid_constant__ Tiles tiles, const Half* __restrict__ x,
                          const Half* __restrict__ dy, float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using L = Layout<kNarrow>;
  using Rows = typename L::Rows;
  const mma::SharedAddress stages = mma::shared_address(shared);
  auto* raw = reinterpret_cast<Half*>(shared + L::patch);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_channel = static_cast<int>(blockIdx.y) * kSlabChannels;

  const auto stride = static_cast<int>(gridDim.x);
  int tile = static_cast<int>(blockIdx.x);
  int next = tile;  // to copy
  const auto copy_next = [&](mma::SharedAddress to) {
    if (next < tiles.count) Inputs::fetch(tiles, next, x, first_channel, to);
    mma::commit_copies();
    next += stride;
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) copy_next(stages + stage * Inputs::bytes);
  Patch<kNarrow, kThreads> patch;
  patch.fetch(tiles, tile, dy);
  float sums[kNarrow][kFragments][4] = {};
  float bias[kNarrow] = {};

  mma::SharedAddress read = stages;
  mma::SharedAddress write = stages + (kStages - 1) * Inputs::bytes;
  const mma::SharedAddress end = stages + kStages * Inputs::bytes;
  for (; tile < tiles.count; tile += stride) {
    patch.store(raw);
#pragma unroll
    for (int i = 0; i < patch.pixels; ++i) {
#pragma unroll
      for (int o = 0; o < kNarrow; ++o)
        bias[o] += patch.inside[i] ? mma::widen(Math{}, patch.values[i][o]) : 0.0f;
    }
    if (tile + stride < tiles.count) patch.fetch(tiles, tile + stride, dy);
    mma::wait_copies<kStages - 2>();
    // Patch and x are complete; all have multiplied the tile before, whose stage is filled next.
    __syncthreads();
    copy_next(write);
    Rows::template copy_all<kThreads>(stages + L::rows, stages + L::patch);
    __syncthreads();
    multiply_tile<Math, kNarrow>(sums, stages + L::rows, read, warp, lane);
    write = read;
    read += Inputs::bytes;
    if (read == end) read = stages;
  }
  mma::wait_copies<0>();
  __syncthreads();
  float* mine = partial + static_cast<int>(blockIdx.x) * (9 * tiles.channels + 1) * kNarrow;
  auto* scratch = reinterpret_cast<float*>(shared);
  if (blockIdx.y == 0)
    write_bias<kNarrow, kThreads>(bias, scratch + L::rows / 4, warp, lane,
                                  mine + 9 * tiles.channels * kNarrow);
  write_partial<kNarrow>(sums, scratch, tiles, warp, lane, mine);
#endif
}

template <class Math, int kNarrow>
void launch_kernel(const ChainCall& call, const Tiles& tiles) {
  constexpr int kShared = Layout<kNarrow>::bytes;
  const dim3 blocks(static_cast<unsigned>(splits_of(tiles.count)),
                    static_cast<unsigned>((tiles.channels + kSlabChannels - 1) / kSlabChannels));
  run_kernel(call, "narrow_output", {blocks, kThreads, kShared}, narrow_output_weights<Math, kNarrow>, tiles,
             Name::input, Name::output_gradient, call.workspace);
}

Tiles tiles_of_shape(const ChainShape& s) {
  return tiles_of(s.batch, s.height, s.width, s.in_channels);
}

}  // namespace

namespace output_backward_weights {

bool takes(const ChainShape& s) {
  return takes_layer(s, s.out_channels, s.in_channels, s.height, s.width) && s.upsample && !s.pool &&
         s.in_channels <= 16384;
}

std::size_t workspace(const ChainShape& s, core::Precision) {
  const auto elements =
      static_cast<std::size_t>(9 * s.in_channels + 1) * static_cast<std::size_t>(s.out_channels);
  return sizeof(float) * elements * static_cast<std::size_t>(splits_of(tiles_of_shape(s).count));
}

void launch(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const Tiles tiles = tiles_of_shape(s);
  if (call.precision == core::Precision::tf32) {
    tf32::launch_output_weights(call, tiles);
  } else {
    mma::with_16_bits(call.precision, [&](auto math) {
      with_narrow(s.out_channels,
                  [&](auto narrow) { launch_kernel<decltype(math), decltype(narrow)::value>(call, tiles); });
    });
  }
  launch_sum(call, "narrow_output, the sum",
             {9 * s.in_channels * s.out_channels, s.out_channels, splits_of(tiles.count)});
}

}  // namespace output_backward_weights
}  // namespace warpscope::ops::conv2d::fused::narrow
