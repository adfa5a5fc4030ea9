// conv2d.backward_weights for few input channels, pooled: on tensor cores, dy, the codes and the images read
// once.
//
//   dw[k, (r, s, c)] = sum over pixels of spread[pixel, k] * row[pixel, (r, s, c)]
//   spread[pixel, k] = code[window, k] is the pixel's ? dy[window, k] : 0
//
// A[(r, s, c)][pixel] are the rows of narrow_patch.cuh, transposed as they are loaded. B[pixel][k] never
// exists in memory: a step of 16 pixels is four windows, ordered so that a lane's two words of B are the
// upper and the lower two pixels of one window and channel; dy goes to the half of the word that its code
// says, the rest is zero. A lane's columns of eight products are 8 channels in a row: one 16-byte read of dy
// serves them all. The one at the end of each row makes the last row of the result the bias gradient.
//
// Tiles are dealt out to 264 blocks, in each of which two groups of four warps share the pixels of a tile and
// four warps the channels; dy comes by asynchronous copies, three tiles deep. A second kernel adds the
// partial results in a fixed order (narrow_sum.h).
//
// Limits: compute capability 8.0; one block has 256 output channels, more are more blocks that read the
// images again. Two blocks of 256 threads a multiprocessor (one for 4 channels), 64 KB of shared memory for 3
// channels, at most 128 registers (187 for 4 channels), none spilled; the workspace has 264 copies of the
// gradients.
// Source: NVIDIA, "CUTLASS: implicit GEMM convolution", for split-K; the operand made from the codes is ours.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/narrow/narrow.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_patch.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_permute.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_sum.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_tf32.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::narrow {
namespace {

inline constexpr int kThreads = 256;
inline constexpr int kStages = 3;
inline constexpr int kFragments = 8;                 // of eight output channels, of a warp
inline constexpr int kChannels = 64;                 // of a warp
inline constexpr int kSteps = kTileWindows / 4 / 2;  // of four windows, of a group of warps
// The lanes of a read have two chunks of 16 bytes of each of four lines: with two chunks more a line, they
// meet all banks.
inline constexpr int kLineBytes = 2 * kSlabChannels + 32;
inline constexpr int kSumStride = kSlabChannels + 4;  // floats

using Gradients = WideTile<kLineBytes>;

template <class Math, int kNarrow>
struct Layout {
  using Rows = PixelRows<Math, kNarrow>;
  static constexpr int products = (Rows::elements + 15) / 16;  // rows of the result, in 16s
  static constexpr int blocks = products > 2 ? 1 : 2;          // of a multiprocessor
  static constexpr int rows = kStages * Gradients::bytes;      // where the parts of shared memory begin
  static constexpr int patch = rows + Rows::bytes;
  static constexpr int bytes = patch + Patch<kNarrow, kThreads>::bytes;
  static_assert(16 * products * kSumStride * 4 <= rows);
};

/// The rows of a tile: 16 for each four windows, first the upper two pixels of each, then the lower two. Half
/// of the threads copy the first half of each row.
template <class Rows>
__device__ __forceinline__ void copy_rows(mma::SharedAddress rows, const Half* patch) {
  const int row = static_cast<int>(threadIdx.x) % kTilePixels;
  const int window = row / 16 * 4 + row % 8 / 2;
  const int y = 2 * (window / kTileColumns) + row / 8 % 2;
  const int x = 2 * (window % kTileColumns) + row % 2;
  rows += static_cast<unsigned>(row * Rows::stride);
  if (threadIdx.x < kTilePixels) {
    Rows::template copy<0, Rows::steps>(rows, patch, y, x);
  } else {
    Rows::template copy<Rows::steps, 2 * Rows::steps>(rows, patch, y, x);
  }
}

/// A lane's part of a tile: window `lane % 4` of each step of its group of warps, which has two rows of
/// windows, and 8 channels from `channel` on.
struct LanePlace {
  int group;
  int member;
  int channel;  ///< of all
  int offset;   ///< of the element at its first window and channel, from the tile's first
  bool exists;  ///< whether there are these channels
};

/// The codes of the lane's channels, 16 bits a step.
__device__ __forceinline__ void fetch_codes(unsigned (&codes)[kSteps], const Tiles& tiles, int tile,
                                            const LanePlace& at, const std::uint8_t* __restrict__ argmax) {
  const TilePlace place = place_of(tiles, tile);
  const int rows = at.exists ? tiles.rows - place.row - 2 * at.group : 0;
  const int columns = tiles.columns - place.column - at.member;
  const std::uint8_t* from = argmax + (first_element(tiles, place) + at.offset) / 4;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int row = step / 2;
    const int column = step % 2 * 4;
    codes[step] = 0;
    if (row < rows && column < columns) {
      codes[step] = *reinterpret_cast<const Half*>(from + (row * tiles.line() + column * tiles.channels) / 4);
    }
  }
}

/// Eight times each of the four codes in the low byte, in a byte of its own. Multiplications, which the
/// adders and shifters that expand() keeps busy have no part in.
__device__ __forceinline__ unsigned spread(unsigned codes) {
  const unsigned pairs = (codes * 0x1001u) & 0x000f000fu;
  return (pairs * 0x208u) & 0x18181818u;
}

/// The two words of B of one window and channel: the element of dy, the lower or upper half of `word`, in the
/// half that its code says, and zeros. `shift` has eight times the code in its lowest five bits.
__device__ __forceinline__ void expand(unsigned (&b)[2], unsigned word, bool upper, unsigned shift) {
  // Selectors for both words at once: 4 is a byte of zeros.
  const unsigned selectors = __funnelshift_l(0x44444444u, upper ? 0x44444432u : 0x44444410u, shift);
  b[0] = permute(word, selectors);
  b[1] = permute(word, selectors >> 16);
}

template <class Math, class L>
__device__ __forceinline__ void multiply_tile(float (&sums)[L::products][kFragments][4],
                                              mma::SharedAddress rows, mma::SharedAddress gradients,
                                              const unsigned (&codes)[kSteps], const LanePlace& at,
                                              int lane) {
  using Rows = typename L::Rows;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int number = kSteps * at.group + step;
    unsigned a[L::products][4];
#pragma unroll
    for (int i = 0; i < L::products; ++i) {
      const int row = 16 * number + lane % 8 + lane / 16 * 8;
      mma::load_matrices_transposed(
          a[i], rows + static_cast<unsigned>(row * Rows::stride + 32 * i + lane / 8 % 2 * 16));
    }
    unsigned dy[4];
    mma::load_chunk(dy, gradients + static_cast<unsigned>((4 * number + at.member) * kLineBytes +
                                                          at.channel % kSlabChannels * 2));
    const unsigned shifts[2] = {spread(codes[step] & 0xffu), spread(codes[step] >> 8)};
#pragma unroll
    for (int j = 0; j < kFragments; ++j) {
      unsigned b[2];
      expand(b, dy[j / 2], j % 2 != 0, shifts[j / 4] >> (8 * (j % 4)));
#pragma unroll
      for (int i = 0; i < L::products; ++i) mma::multiply_add(Math{}, sums[i][j], a[i], b);
    }
  }
}

/// Adds the sums of the two groups of warps and writes them as (k, r, s, c), and after these the bias
/// gradient.
template <class L, int kNarrow>
__device__ __forceinline__ void write_partial(const float (&sums)[L::products][kFragments][4],
                                              float* __restrict__ shared, const Tiles& tiles,
                                              const LanePlace& at, int lane, float* __restrict__ partial) {
  constexpr int kTaps = 9 * kNarrow;
  const int first_column = static_cast<int>(threadIdx.x) / 32 % 4 * kChannels;
#pragma unroll
  for (int group = 1; group >= 0; --group) {
    if (at.group == group) {
#pragma unroll
      for (int i = 0; i < L::products; ++i) {
#pragma unroll
        for (int j = 0; j < kFragments; ++j) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int row = 16 * i + lane / 4 + 8 * (e / 2);
            float& sum = shared[row * kSumStride + first_column + 8 * (2 * (lane % 4) + e % 2) + j];
            sum = group == 1 ? sums[i][j][e] : sum + sums[i][j][e];
          }
        }
      }
    }
    __syncthreads();
  }
  const int first = static_cast<int>(blockIdx.y) * kSlabChannels;
  const int channels = min(kSlabChannels, tiles.channels - first);
  for (int i = static_cast<int>(threadIdx.x); i < channels * kTaps; i += kThreads) {
    partial[first * kTaps + i] = shared[i % kTaps * kSumStride + i / kTaps];
  }
  for (int i = static_cast<int>(threadIdx.x); i < channels; i += kThreads) {
    partial[tiles.channels * kTaps + first + i] = shared[kTaps * kSumStride + i];
  }
}

template <class Math, int kNarrow>
__global__ void __launch_bounds__(kThreads, (Layout<Math, kNarrow>::blocks))
    narrow_input_weights(const __grid_constant__ Tiles tiles, const Half* __restrict__ x,
                         const Half* __restrict__ dy, const std::uint8_t* __restrict__ argmax,
                         float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using L = Layout<Math, kNarrow>;
  const mma::SharedAddress stages = mma::shared_address(shared);
  auto* raw = reinterpret_cast<Half*>(shared + L::patch);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_channel = static_cast<int>(blockIdx.y) * kSlabChannels;
  const int channel = first_channel + warp % 4 * kChannels + lane / 4 * 8;
  const LanePlace at{warp / 4, lane % 4, channel,
                     warp / 4 * 2 * tiles.line() + lane % 4 * tiles.channels + channel,
                     channel < tiles.channels};

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
  Patch<kNarrow, kThreads> patch;
  patch.fetch(tiles, tile, x);
  unsigned codes[kSteps];
  fetch_codes(codes, tiles, tile, at, argmax);
  float sums[L::products][kFragments][4] = {};

  mma::SharedAddress read = stages;
  mma::SharedAddress write = stages + (kStages - 1) * Gradients::bytes;
  const mma::SharedAddress end = stages + kStages * Gradients::bytes;
  for (; tile < tiles.count; tile += stride) {
    const bool last = tile + stride >= tiles.count;
    patch.store(raw);
    if (!last) patch.fetch(tiles, tile + stride, x);
    mma::wait_copies<kStages - 2>();
    // Patch and dy are complete; all have multiplied the tile before, whose stage is filled next.
    __syncthreads();
    copy_next(write);
    copy_rows<typename L::Rows>(stages + L::rows, raw);
    unsigned next_codes[kSteps] = {};
    if (!last) fetch_codes(next_codes, tiles, tile + stride, at, argmax);
    __syncthreads();
    multiply_tile<Math, L>(sums, stages + L::rows, read, codes, at, lane);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) codes[step] = next_codes[step];
    write = read;
    read += Gradients::bytes;
    if (read == end) read = stages;
  }
  mma::wait_copies<0>();
  __syncthreads();
  write_partial<L, kNarrow>(sums, reinterpret_cast<float*>(shared), tiles, at, lane,
                            partial + static_cast<int>(blockIdx.x) * tiles.channels * (9 * kNarrow + 1));
#endif
}

template <class Math, int kNarrow>
void launch_kernel(const ChainCall& call, const Tiles& tiles) {
  constexpr int kShared = Layout<Math, kNarrow>::bytes;
  const dim3 blocks(static_cast<unsigned>(splits_of(tiles.count)),
                    static_cast<unsigned>((tiles.channels + kSlabChannels - 1) / kSlabChannels));
  run_kernel(call, "narrow_input", {blocks, kThreads, kShared}, narrow_input_weights<Math, kNarrow>, tiles,
             Name::input, Name::output_gradient, Name::argmax, call.workspace);
}

Tiles tiles_of_shape(const ChainShape& s) {
  return tiles_of(s.batch, s.height / 2, s.width / 2, s.out_channels);
}

}  // namespace

namespace input_backward_weights {

bool takes(const ChainShape& s) {
  return takes_layer(s, s.in_channels, s.out_channels, s.height / 2, s.width / 2) && !s.upsample &&
         s.height % 2 == 0 && s.width % 2 == 0 && s.pool && s.out_channels <= 16384;
}

std::size_t workspace(const ChainShape& s, core::Precision) {
  const auto elements =
      static_cast<std::size_t>(s.out_channels) * static_cast<std::size_t>(9 * s.in_channels + 1);
  return sizeof(float) * elements * static_cast<std::size_t>(splits_of(tiles_of_shape(s).count));
}

void launch(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const Tiles tiles = tiles_of_shape(s);
  if (call.precision == core::Precision::tf32) {
    tf32::launch_input_weights(call, tiles);
  } else {
    mma::with_16_bits(call.precision, [&](auto math) {
      with_narrow(s.in_channels,
                  [&](auto narrow) { launch_kernel<decltype(math), decltype(narrow)::value>(call, tiles); });
    });
  }
  launch_sum(call, "narrow_input, the sum",
             {9 * s.in_channels * s.out_channels, s.out_channels, splits_of(tiles.count)});
}

}  // namespace input_backward_weights
}  // namespace warpscope::ops::conv2d::fused::narrow
