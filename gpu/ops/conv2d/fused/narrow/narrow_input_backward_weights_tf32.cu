// conv2d.backward_weights for few input channels, pooled, in TF32: narrow_input_backward_weights.cu's product
// with other ways to its operands.
//
//   dw[k, (r, s, c)] = sum over pixels of spread[pixel, k] * x[pixel + (r, s), c]
//
// A, the pixels around each pixel, is read from the patch, four bytes at a time: no rows are made. Which tap
// a row of the result has is free: of three channels, eight neighbours of one line of the patch are eight
// rows, which with four windows meet no bank twice. B[pixel][k] is made from dy and its code: a step of 16
// pixels is four windows, ordered so that a lane's four words of B are the pixels of one window and channel;
// dy is in one of them, the others are zero. The bias gradient is the lanes' own sum of dy, in FP32.
//
// Limits: compute capability 8.0; one block has 256 output channels, more are more blocks that read the
// images again. Two blocks of 256 threads a multiprocessor (one for 4 channels), 104 KB of shared memory for
// 3 channels, 128 registers (177 for 4 channels), none spilled; the workspace has 264 copies of the
// gradients.
// Source: narrow_input_backward_weights.cu.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/general/fused_tf32.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_sum.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_tf32.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::narrow::tf32 {
namespace {

inline constexpr int kThreads = 256;
inline constexpr int kStages = 3;
inline constexpr int kFragments = 4;             // of eight output channels, of a warp
inline constexpr int kChannels = 32;             // of a warp
inline constexpr int kSteps = kTileWindows / 4;  // of four windows
// Eight lanes of a read have two neighbouring chunks of each of four lines: with two chunks more a line, they
// meet all banks.
inline constexpr int kLineBytes = 4 * kSlabChannels + 32;
inline constexpr int kSumStride = kSlabChannels + 4;  // floats

using Gradients = WideTile<kLineBytes, Single>;

/// Which tap, (r, s, c), each row of the result has.
template <int kNarrow>
struct Taps {
  static constexpr int count = 9 * kNarrow;
  static constexpr int across = 3 * kNarrow;                // of one r
  static constexpr int line = kPatchColumns * kNarrow + 2;  // elements of a row of the patch's pixels
  static constexpr bool in_eights = kNarrow == 3;           // the ninth of each r after all others

  static __device__ __forceinline__ int row_of(int tap) {
    if (!in_eights) return tap;
    return tap % 9 < 8 ? tap / 9 * 8 + tap % 9 : 24 + tap / 9;
  }
  /// Where row `row`'s tap of a pixel is, from the patch's element at the pixel's own place. Rows without a
  /// tap get any.
  static __device__ __forceinline__ int offset(int row) {
    if (row >= count) row = 0;
    const int tap = !in_eights ? row : row < 24 ? row / 8 * 9 + row % 8 : (row - 24) * 9 + 8;
    return tap / across * line + tap % across;
  }
};

template <int kNarrow>
struct Layout {
  using Patch = narrow::Patch<kNarrow, kThreads, Single, Taps<kNarrow>::line>;
  static constexpr int products = (Taps<kNarrow>::count + 15) / 16;  // rows of the result, in 16s
  static constexpr int blocks = products > 2 ? 1 : 2;                // of a multiprocessor
  static constexpr int patches = kStages * Gradients::bytes;         // where the two of them begin
  static constexpr int bytes = patches + 2 * Patch::bytes;
  static_assert((16 * products + 1) * kSumStride * 4 <= patches);
};

/// The codes of a lane's four channels, 8 bits a step: of the window `lane % 4` of its four. `offset` is the
/// element at the lane's first window and channel, from the tile's first.
using Codes = unsigned[kSteps];

__device__ __forceinline__ void fetch_codes(Codes& codes, const Tiles& tiles, int tile, int offset,
                                            bool exists, const std::uint8_t* __restrict__ argmax) {
  const TilePlace place = place_of(tiles, tile);
  const int rows = exists ? tiles.rows - place.row : 0;
  const int columns = tiles.columns - place.column - static_cast<int>(threadIdx.x) % 4;
  const std::uint8_t* from = argmax + (first_element(tiles, place) + offset) / 4;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int row = step / 2;
    const int column = step % 2 * 4;
    codes[step] = 0;
    if (row < rows && column < columns)
      codes[step] = from[(row * tiles.line() + column * tiles.channels) / 4];
  }
}

/// The four words of B of one window and channel, by row and column of pixels: the gradient in the one that
/// its code, the lowest two bits of `codes`, says, and zeros.
__device__ __forceinline__ void expand(unsigned (&b)[2][2], unsigned gradient, unsigned codes) {
  const bool lower = (codes & 2u) != 0;
  const bool right = (codes & 1u) != 0;
  const unsigned of_left = right ? 0u : gradient;
  const unsigned of_right = right ? gradient : 0u;
  b[0][0] = lower ? 0u : of_left;
  b[0][1] = lower ? 0u : of_right;
  b[1][0] = lower ? of_left : 0u;
  b[1][1] = lower ? of_right : 0u;
}

template <int kNarrow>
using Sums = float[Layout<kNarrow>::products][kFragments][4];

/// `taps` are the lane's places in the tile's patch of each 8 rows of the result.
template <int kNarrow>
__device__ __forceinline__ void multiply_tile(Sums<kNarrow>& sums, float (&bias)[kFragments],
                                              const mma::SharedAddress (&taps)[Layout<kNarrow>::products][2],
                                              mma::SharedAddress gradients, const Codes& codes) {
  constexpr int kProducts = Layout<kNarrow>::products;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    unsigned a[2][kProducts][4];  // by row of pixels
#pragma unroll
    for (int y = 0; y < 2; ++y) {
#pragma unroll
      for (int i = 0; i < kProducts; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int pixel = (step / 2 * 2 + y) * Taps<kNarrow>::line + (step % 2 * 8 + e / 2) * kNarrow;
          a[y][i][e] = mma::load_word(taps[i][e % 2] + static_cast<unsigned>(4 * pixel));
        }
      }
    }
    unsigned dy[kFragments];
    mma::load_chunk(dy, gradients + static_cast<unsigned>(4 * step * kLineBytes));
#pragma unroll
    for (int j = 0; j < kFragments; ++j) {
      bias[j] += __uint_as_float(dy[j]);
      unsigned b[2][2];
      expand(b, general::tensor::rounded(dy[j]), codes[step] >> (2 * j));
#pragma unroll
      for (int i = 0; i < kProducts; ++i) {
        mma::multiply_add(mma::Tf32{}, sums[i][j], a[0][i], b[0]);
        mma::multiply_add(mma::Tf32{}, sums[i][j], a[1][i], b[1]);
      }
    }
  }
}

/// Writes the sums as (k, r, s, c), and after these the bias gradient.
template <int kNarrow>
__device__ __forceinline__ void write_partial(const Sums<kNarrow>& sums, const float (&bias)[kFragments],
                                              float* __restrict__ shared, const Tiles& tiles, int warp,
                                              int lane, float* __restrict__ partial) {
  constexpr int kProducts = Layout<kNarrow>::products;
  constexpr int kTaps = Taps<kNarrow>::count;
  constexpr int kBiasRow = 16 * kProducts;
#pragma unroll
  for (int j = 0; j < kFragments; ++j) {
    const int column = warp * kChannels + j;  // of the fragment's first; the others are 4 apart
#pragma unroll
    for (int i = 0; i < kProducts; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = 16 * i + lane / 4 + 8 * (e / 2);
        shared[row * kSumStride + column + 4 * (2 * (lane % 4) + e % 2)] = sums[i][j][e];
      }
    }
    float of_windows = bias[j];
    of_windows += __shfl_xor_sync(0xffffffffu, of_windows, 1);
    of_windows += __shfl_xor_sync(0xffffffffu, of_windows, 2);
    if (lane % 4 == 0) shared[kBiasRow * kSumStride + column + lane] = of_windows;
  }
  __syncthreads();
  const int first = static_cast<int>(blockIdx.y) * kSlabChannels;
  const int channels = min(kSlabChannels, tiles.channels - first);
  for (int i = static_cast<int>(threadIdx.x); i < channels * kTaps; i += kThreads) {
    partial[first * kTaps + i] = shared[Taps<kNarrow>::row_of(i % kTaps) * kSumStride + i / kTaps];
  }
  for (int i = static_cast<int>(threadIdx.x); i < channels; i += kThreads) {
    partial[tiles.channels * kTaps + first + i] = shared[kBiasRow * kSumStride + i];
  }
}

template <int kNarrow>
__global__ void __launch_bounds__(kThreads, Layout<kNarrow>::blocks)
    narrow_input_weights_tf32(const __grid_constant__ Tiles tiles, const Single* __restrict__ x,
                              const Single* __restrict__ dy, const std::uint8_t* __restrict__ argmax,
                              float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using L = Layout<kNarrow>;
  const mma::SharedAddress stages = mma::shared_address(shared);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_channel = static_cast<int>(blockIdx.y) * kSlabChannels;
  const int channel = first_channel + warp * kChannels + lane / 4 * 4;
  const int offset = lane % 4 * tiles.channels + channel;
  mma::SharedAddress taps[L::products][2];
#pragma unroll
  for (int i = 0; i < L::products; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int place = Taps<kNarrow>::offset(16 * i + 8 * half + lane / 4) + lane % 4 * 2 * kNarrow;
      taps[i][half] = stages + static_cast<unsigned>(L::patches + 4 * place);
    }
  }
  const auto of_lane = static_cast<unsigned>(lane % 4 * kLineBytes + (channel - first_channel) * 4);

  const auto stride = static_cast<int>(gridDim.x);
  int tile = static_cast<int>(blockIdx.x);
  int next = tile;  // to copy
  const auto copy_next = [&](mma::SharedAddress to) {
    if (next < tiles.count) Gradients::fetch(tiles, next, dy, first_channel, to);
    mma::commit_copies();
    next += stride;
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) copy_next(stages + stage * Gradients::bytes);
  typename L::Patch patch;
  patch.fetch(tiles, tile, x);
  Codes codes;
  fetch_codes(codes, tiles, tile, offset, channel < tiles.channels, argmax);
  Sums<kNarrow> sums = {};
  float bias[kFragments] = {};

  mma::SharedAddress read = stages;
  mma::SharedAddress write = stages + (kStages - 1) * Gradients::bytes;
  const mma::SharedAddress end = stages + kStages * Gradients::bytes;
  int which = 0;  // of the two patches, in bytes
  for (; tile < tiles.count; tile += stride) {
    const bool last = tile + stride >= tiles.count;
    patch.store(reinterpret_cast<Single*>(shared + L::patches + which));
    if (!last) patch.fetch(tiles, tile + stride, x);
    Codes next_codes = {};
    if (!last) fetch_codes(next_codes, tiles, tile + stride, offset, channel < tiles.channels, argmax);
    mma::wait_copies<kStages - 2>();
    // Patch and dy are complete; all have multiplied the tile before, whose stage is filled next, and whose
    // patch when the next barrier is behind them.
    __syncthreads();
    copy_next(write);
    multiply_tile<kNarrow>(sums, bias, taps, read + of_lane, codes);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) codes[step] = next_codes[step];
    const int change = L::Patch::bytes - 2 * which;
    which += change;
#pragma unroll
    for (int i = 0; i < L::products; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) taps[i][half] += static_cast<unsigned>(change);
    }
    write = read;
    read += Gradients::bytes;
    if (read == end) read = stages;
  }
  mma::wait_copies<0>();
  __syncthreads();
  write_partial<kNarrow>(sums, bias, reinterpret_cast<float*>(shared), tiles, warp, lane,
                         partial + static_cast<int>(blockIdx.x) * tiles.channels * (9 * kNarrow + 1));
#endif
}

template <int kNarrow>
void launch_kernel(const ChainCall& call, const Tiles& tiles) {
  constexpr int kShared = Layout<kNarrow>::bytes;
  const dim3 blocks(static_cast<unsigned>(splits_of(tiles.count)),
                    static_cast<unsigned>((tiles.channels + kSlabChannels - 1) / kSlabChannels));
  run_kernel(call, "narrow_input", {blocks, kThreads, kShared}, narrow_input_weights_tf32<kNarrow>, tiles,
             Name::input, Name::output_gradient, Name::argmax, call.workspace);
}

}  // namespace

void launch_input_weights(const ChainCall& call, const Tiles& tiles) {
  with_narrow(call.shape.in_channels,
              [&](auto narrow) { launch_kernel<decltype(narrow)::value>(call, tiles); });
}

}  // namespace warpscope::ops::conv2d::fused::narrow::tf32
