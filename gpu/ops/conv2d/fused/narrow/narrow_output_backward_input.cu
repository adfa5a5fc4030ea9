// conv2d.backward_input for an upsampled input and few output channels: on tensor cores, x read for the mask,
// dx written once.
//
//   dx[pixel, c] = sum over the 4x4 outputs around pixel's 2x2, and o, of dy[output, o] * ws[(output, o), c]
//
// where ws sums the taps with which the output meets the pixel: nothing is upsampled. Each block makes ws in
// shared memory and takes tiles in turn; each of its four warps keeps ws of 64 channels in registers. The
// columns are ordered so that a lane's results of four products are 8 channels in a row: it reads the mask
// and writes dx 16 bytes at a time. The mask of a tile is read before dy's rows are made, so that one waits
// for both together.
//
// Limits: compute capability 8.0; one block has 256 input channels, more are more blocks that read dy again.
// Three blocks of 128 threads a multiprocessor (two for 4 channels), 25 KB of shared memory for 3 channels,
// at most 168 registers (230 for 4 channels), none spilled.
// Source: W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?" (2016), for the sums
// of taps.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/narrow/narrow.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_patch.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_summed.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_tf32.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::narrow {
namespace {

inline constexpr int kThreads = 128;
inline constexpr int kFragments = 8;  // of eight channels, of a warp
inline constexpr int kChannels = 64;  // of a warp
inline constexpr int kLineBytes =
    2 * kSlabChannels + 16;  // of the summed weights; eight lines meet all banks

/// Blocks of a multiprocessor, as registers allow.
constexpr int blocks_of(int narrow) {
  return narrow < 4 ? 3 : 2;
}

template <int kNarrow>
struct Layout {
  using Rows = WindowRows<kNarrow>;
  static constexpr int weights = Rows::elements * kLineBytes;  // at the start, before there are rows
  static constexpr int rows_and_patch = Rows::bytes + Patch<kNarrow, kThreads>::bytes;
  static constexpr int bytes = weights > rows_and_patch ? weights : rows_and_patch;
};

/// Makes the summed weights of the block's 256 channels, zero where there are none. The channels of each 32
/// are ordered so that fragment j's columns 2m and 2m + 1 are channels 8m + 2j and 8m + 2j + 1.
template <class Math, int kNarrow>
__device__ __forceinline__ void sum_weights(unsigned char* shared, const Half* __restrict__ w, int channels,
                                            int first_channel) {
  constexpr int kChunks = kSlabChannels / 8;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < WindowRows<kNarrow>::elements * kChunks; i += kThreads) {
    const int line = i / kChunks;
    const int chunk = i % kChunks;
    const int position = line / kNarrow;
    unsigned words[4] = {};
    if (first_channel + 8 * chunk < channels) {
      sum_taps<Math>(words, w, line % kNarrow, taps_at(position / 4), taps_at(position % 4), channels,
                     first_channel + 8 * chunk);
    }
    auto* to = reinterpret_cast<unsigned*>(shared + line * kLineBytes + chunk / 4 * 64 + chunk % 4 * 4);
#pragma unroll
    for (int j = 0; j < 4; ++j) to[4 * j] = words[j];
  }
}

template <int kSteps>
__device__ __forceinline__ void load_weights(unsigned (&b)[kFragments][kSteps][2], mma::SharedAddress weights,
                                             int warp, int lane) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int j = 0; j < kFragments; j += 2) {
      unsigned matrices[4];
      mma::load_matrices_transposed(
          matrices, weights + static_cast<unsigned>((16 * step + lane % 16) * kLineBytes +
                                                    2 * kChannels * warp + (j + lane / 16) * 16));
      b[j][step][0] = matrices[0];
      b[j][step][1] = matrices[1];
      b[j + 1][step][0] = matrices[2];
      b[j + 1][step][1] = matrices[3];
    }
  }
}

/// A lane's part of a tile: of product t, pixels (2t, lane / 4) and (2t + 1, lane / 4), each with two chunks
/// of 8 channels, 32 apart.
struct LanePixels {
  std::int64_t first;  ///< element of the first pixel and chunk
  int line;            ///< elements from one row of pixels to the next
  int rows;            ///< of the tile, that exist; none if the column does not
  int chunks;          ///< that exist

  __device__ __forceinline__ LanePixels(const Tiles& tiles, int tile, int channel, int lane) {
    const TilePlace at = place_of(tiles, tile);
    first = first_element(tiles, at) + (lane / 4 * tiles.channels + channel);
    line = tiles.line();
    rows = at.column + lane / 4 < tiles.columns ? tiles.rows - at.row : 0;
    chunks = channel + 32 < tiles.channels ? 2 : channel < tiles.channels ? 1 : 0;
  }
  __device__ __forceinline__ bool exists(int row, int chunk) const { return row < rows && chunk < chunks; }
  __device__ __forceinline__ std::int64_t element(int row, int chunk) const {
    return first + row * line + 32 * chunk;
  }
};

/// Two results in 16 bits, zero where the two numbers of `x` are not above zero. A NaN there lets pass.
template <class Math>
__device__ __forceinline__ unsigned masked_pair(unsigned x, float low, float high) {
  if (mma::widen(Math{}, static_cast<Half>(x & 0xffffu)) <= 0.0f) low = 0.0f;
  if (mma::widen(Math{}, static_cast<Half>(x >> 16)) <= 0.0f) high = 0.0f;
  return mma::narrow_pair(Math{}, low, high);
}

template <class Math, int kNarrow, bool kMasked>
__global__ void __launch_bounds__(kThreads, blocks_of(kNarrow))
    narrow_output_input(const __grid_constant__ Tiles tiles, const Half* __restrict__ dy,
                        const Half* __restrict__ w, const Half* __restrict__ x, Half* __restrict__ dx) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using Rows = WindowRows<kNarrow>;
  constexpr int kSteps = Rows::steps;
  const mma::SharedAddress rows = mma::shared_address(shared);
  auto* raw = reinterpret_cast<Half*>(shared + Rows::bytes);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_channel = static_cast<int>(blockIdx.y) * kSlabChannels;
  const int channel = first_channel + warp * kChannels + lane % 4 * 8;
  const auto stride = static_cast<int>(gridDim.x);
  int tile = static_cast<int>(blockIdx.x);
  Patch<kNarrow, kThreads> patch;
  patch.fetch(tiles, tile, dy);

  sum_weights<Math, kNarrow>(shared, w, tiles.channels, first_channel);
  __syncthreads();
  unsigned b[kFragments][kSteps][2];
  load_weights<kSteps>(b, rows, warp, lane);
  __syncthreads();

  for (; tile < tiles.count; tile += stride) {
    const LanePixels at(tiles, tile, channel, lane);
    uint4 mask[kTileRows][2] = {};
    if constexpr (kMasked) {
#pragma unroll
      for (int row = 0; row < kTileRows; ++row) {
#pragma unroll
        for (int chunk = 0; chunk < 2; ++chunk) {
          if (at.exists(row, chunk))
            mask[row][chunk] = *reinterpret_cast<const uint4*>(x + at.element(row, chunk));
        }
      }
    }
    patch.store(raw);
    if (tile + stride < tiles.count) patch.fetch(tiles, tile + stride, dy);
    __syncthreads();  // the patch is complete, and all have multiplied the rows of the tile before
    Rows::template copy_all<kThreads>(rows, rows + Rows::bytes);
    __syncthreads();
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      unsigned a[kSteps][4];
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        mma::load_matrices(a[step], rows + static_cast<unsigned>((16 * t + lane % 16) * Rows::stride +
                                                                 32 * step + lane / 16 * 16));
      }
#pragma unroll
      for (int chunk = 0; chunk < 2; ++chunk) {
        float sums[4][4] = {};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int step = 0; step < kSteps; ++step) {
            mma::multiply_add(Math{}, sums[j], a[step], b[4 * chunk + j][step]);
          }
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = 2 * t + half;
          const uint4 m = mask[row][chunk];
          const unsigned masks[4] = {m.x, m.y, m.z, m.w};
          unsigned words[4];
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const float low = sums[j][2 * half];
            const float high = sums[j][2 * half + 1];
            words[j] = kMasked ? masked_pair<Math>(masks[j], low, high) : mma::narrow_pair(Math{}, low, high);
          }
          if (!at.exists(row, chunk)) continue;
          *reinterpret_cast<uint4*>(dx + at.element(row, chunk)) =
              uint4{words[0], words[1], words[2], words[3]};
        }
      }
    }
  }
#endif
}

template <class Math, int kNarrow, bool kMasked>
void launch_kernel(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const Tiles tiles = tiles_of(s.batch, s.height, s.width, s.in_channels);
  const dim3 blocks(persistent_blocks(tiles.count, blocks_of(kNarrow)),
                    static_cast<unsigned>((s.in_channels + kSlabChannels - 1) / kSlabChannels));
  run_kernel(call, "narrow_output", {blocks, kThreads, Layout<kNarrow>::bytes},
             narrow_output_input<Math, kNarrow, kMasked>, tiles, Name::output_gradient, Name::weights,
             Name::input, Name::input_gradient);
}

}  // namespace

namespace output_backward_input {

bool takes(const ChainShape& s) {
  return takes_layer(s, s.out_channels, s.in_channels, s.height, s.width) && s.upsample && !s.pool;
}

void launch(const ChainCall& call) {
  if (call.precision == core::Precision::tf32) {
    tf32::launch_output_input(call);
  } else {
    mma::with_16_bits(call.precision, [&]<class Math>(Math) {
      with_narrow(call.shape.out_channels, [&]<int kNarrow>(std::integral_constant<int, kNarrow>) {
        call.shape.masked ? launch_kernel<Math, kNarrow, true>(call)
                          : launch_kernel<Math, kNarrow, false>(call);
      });
    });
  }
}

}  // namespace output_backward_input
}  // namespace warpscope::ops::conv2d::fused::narrow
