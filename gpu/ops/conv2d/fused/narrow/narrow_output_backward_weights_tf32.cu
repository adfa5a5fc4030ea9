// conv2d.backward_weights for an upsampled input and few output channels, in TF32: the product of
// narrow_output_backward_weights.cu with other ways to its operands.
//
//   dws[(output, o), c] = sum over pixels of dy[output of the 4x4 around pixel's 2x2, o] * x[pixel, c]
//
// A, the outputs around each pixel, is read from the patch, four bytes at a time: no rows are made.
// B[pixel][c] is x, which comes by asynchronous copies, three tiles deep; a lane's columns of four products
// are 4 channels in a row: one 16-byte read serves them all. The bias gradient is summed from the patches on
// their way through registers, in FP32.
//
// Limits: compute capability 8.0; one block has 256 input channels, more are more blocks that read dy again.
// Two blocks of 256 threads a multiprocessor, 104 KB of shared memory for 3 channels, at most 128
// registers, none spilled; the workspace has 264 copies of the gradients.
// Source: narrow_output_backward_weights.cu.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/general/fused_tf32.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_fold.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_sum.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_tf32.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::narrow::tf32 {
namespace {

inline constexpr int kThreads = 256;
inline constexpr int kStages = 3;
inline constexpr int kFragments = 4;             // of eight channels, of a warp
inline constexpr int kChannels = 32;             // of a warp
inline constexpr int kSteps = kTileWindows / 8;  // of eight pixels of x, one row of a tile
static_assert(kTileColumns == 8);
// Eight lanes of a read have two neighbouring chunks of each of four lines: with two chunks more a line, they
// meet all banks.
inline constexpr int kLineBytes = 4 * kSlabChannels + 32;
inline constexpr int kSumStride = kSlabChannels + 4;  // floats

using Inputs = WideTile<kLineBytes, Single>;

template <int kNarrow>
struct Layout {
  static constexpr int line = kPatchColumns * kNarrow + 2;  // elements of a row of the patch's outputs
  using Patch = narrow::Patch<kNarrow, kThreads, Single, line>;
  static constexpr int patches = kStages * Inputs::bytes;  // where the two of them begin
  static constexpr int bytes = patches + 2 * Patch::bytes;
  static_assert(16 * kNarrow * kSumStride * 4 <= patches);

  /// Where row (output, o) of the result is in the patch, from a pixel's first output.
  static __device__ __forceinline__ int offset(int row) {
    return row / (4 * kNarrow) * line + row % (4 * kNarrow);
  }
};

template <int kNarrow>
using Sums = float[kNarrow][kFragments][4];

/// `outputs` are the lane's places in the tile's patch of each 8 rows of the result, `inputs` its place in x.
template <int kNarrow>
__device__ __forceinline__ void multiply_tile(Sums<kNarrow>& sums,
                                              const mma::SharedAddress (&outputs)[kNarrow][2],
                                              mma::SharedAddress inputs) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    unsigned b[2][kFragments];  // of pixels lane % 4 and lane % 4 + 4
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      mma::load_chunk(b[half], inputs + static_cast<unsigned>((8 * step + 4 * half) * kLineBytes));
#pragma unroll
      for (unsigned& word : b[half]) word = general::tensor::rounded(word);
    }
#pragma unroll
    for (int i = 0; i < kNarrow; ++i) {
      unsigned a[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int place = 2 * step * Layout<kNarrow>::line + e / 2 * 8 * kNarrow;
        a[e] = mma::load_word(outputs[i][e % 2] + static_cast<unsigned>(4 * place));
      }
#pragma unroll
      for (int j = 0; j < kFragments; ++j) {
        const unsigned both[2] = {b[0][j], b[1][j]};
        mma::multiply_add(mma::Tf32{}, sums[i][j], a, both);
      }
    }
  }
}

/// Writes dw as (o, r, s, c), folded from the sums.
template <int kNarrow>
__device__ __forceinline__ void write_partial(const Sums<kNarrow>& sums, float* __restrict__ shared,
                                              const Tiles& tiles, int warp, int lane,
                                              float* __restrict__ partial) {
#pragma unroll
  for (int i = 0; i < kNarrow; ++i) {
#pragma unroll
    for (int j = 0; j < kFragments; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = 16 * i + lane / 4 + 8 * (e / 2);
        shared[row * kSumStride + kChannels * warp + 4 * (2 * (lane % 4) + e % 2) + j] = sums[i][j][e];
      }
    }
  }
  __syncthreads();
  fold_sums<kNarrow, kSumStride>(shared, tiles, partial);
}

template <int kNarrow>
__global__ void __launch_bounds__(kThreads, 2)
    narrow_output_weights_tf32(const __grid_constant__ Tiles tiles, const Single* __restrict__ x,
                               const Single* __restrict__ dy, float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using L = Layout<kNarrow>;
  const mma::SharedAddress stages = mma::shared_address(shared);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_channel = static_cast<int>(blockIdx.y) * kSlabChannels;
  mma::SharedAddress outputs[kNarrow][2];
#pragma unroll
  for (int i = 0; i < kNarrow; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int place = L::offset(16 * i + 8 * half + lane / 4) + lane % 4 * 2 * kNarrow;
      outputs[i][half] = stages + static_cast<unsigned>(L::patches + 4 * place);
    }
  }
  const auto of_lane = static_cast<unsigned>(lane % 4 * kLineBytes + (kChannels * warp + lane / 4 * 4) * 4);

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
  typename L::Patch patch;
  patch.fetch(tiles, tile, dy);
  Sums<kNarrow> sums = {};
  float bias[kNarrow] = {};

  mma::SharedAddress read = stages;
  mma::SharedAddress write = stages + (kStages - 1) * Inputs::bytes;
  const mma::SharedAddress end = stages + kStages * Inputs::bytes;
  int which = 0;  // of the two patches, in bytes
  for (; tile < tiles.count; tile += stride) {
    patch.store(reinterpret_cast<Single*>(shared + L::patches + which));
#pragma unroll
    for (int i = 0; i < patch.pixels; ++i) {
#pragma unroll
      for (int o = 0; o < kNarrow; ++o)
        bias[o] += patch.inside[i] ? __uint_as_float(patch.values[i][o]) : 0.0f;
    }
    if (tile + stride < tiles.count) patch.fetch(tiles, tile + stride, dy);
    mma::wait_copies<kStages - 2>();
    // Patch and x are complete; all have multiplied the tile before, whose stage is filled next, and whose
    // patch when the next barrier is behind them.
    __syncthreads();
    copy_next(write);
    multiply_tile<kNarrow>(sums, outputs, read + of_lane);
    const int change = L::Patch::bytes - 2 * which;
    which += change;
#pragma unroll
    for (int i = 0; i < kNarrow; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) outputs[i][half] += static_cast<unsigned>(change);
    }
    write = read;
    read += Inputs::bytes;
    if (read == end) read = stages;
  }
  mma::wait_copies<0>();
  __syncthreads();
  float* mine = partial + static_cast<int>(blockIdx.x) * (9 * tiles.channels + 1) * kNarrow;
  auto* scratch = reinterpret_cast<float*>(shared);
  if (blockIdx.y == 0) {
    write_bias<kNarrow, kThreads>(bias, scratch + L::patches / 4, warp, lane,
                                  mine + 9 * tiles.channels * kNarrow);
  }
  write_partial<kNarrow>(sums, scratch, tiles, warp, lane, mine);
#endif
}

template <int kNarrow>
void launch_kernel(const ChainCall& call, const Tiles& tiles) {
  constexpr int kShared = Layout<kNarrow>::bytes;
  const dim3 blocks(static_cast<unsigned>(splits_of(tiles.count)),
                    static_cast<unsigned>((tiles.channels + kSlabChannels - 1) / kSlabChannels));
  run_kernel(call, "narrow_output", {blocks, kThreads, kShared}, narrow_output_weights_tf32<kNarrow>, tiles,
             Name::input, Name::output_gradient, call.workspace);
}

}  // namespace

void launch_output_weights(const ChainCall& call, const Tiles& tiles) {
  with_narrow(call.shape.out_channels,
              [&](auto narrow) { launch_kernel<decltype(narrow)::value>(call, tiles); });
}

}  // namespace warpscope::ops::conv2d::fused::narrow::tf32
