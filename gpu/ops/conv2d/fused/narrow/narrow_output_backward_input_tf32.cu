// conv2d.backward_input for an upsampled input and few output channels, in TF32: the product of
// narrow_output_backward_input.cu, in which the mask takes another way.
//
// Each of a block's eight warps keeps the summed weights of 32 channels in registers; x, for the mask, comes
// by asynchronous copies, three tiles deep, and waits in shared memory, as the registers have no room for it.
// The columns are ordered so that a lane's results of two products are 4 channels in a row, and those of four
// lanes 64 bytes.
//
// Limits: compute capability 8.0; one block has 256 input channels, more are more blocks that read dy again.
// Two blocks of 256 threads a multiprocessor (one for 4 channels), 111 KB of shared memory for 3 channels, at
// most 119 registers (140 for 4 channels), none spilled.
// Source: narrow_output_backward_input.cu.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_summed.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_tf32.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::narrow::tf32 {
namespace {

inline constexpr int kThreads = 256;
inline constexpr int kStages = 3;
inline constexpr int kFragments = 4;  // of eight channels, of a warp
inline constexpr int kChannels = 32;  // of a warp
// The lanes of a read of the mask have four neighbouring chunks of each of two lines.
inline constexpr int kLineBytes = 4 * kSlabChannels + 64;

using Inputs = WideTile<kLineBytes, Single>;

template <int kNarrow>
struct Layout {
  using Rows = WindowRows<kNarrow, Single>;
  static constexpr int blocks = kNarrow < 4 ? 2 : 1;    // of a multiprocessor
  static constexpr int rows = kStages * Inputs::bytes;  // where the parts of shared memory begin
  static constexpr int patch = rows + Rows::bytes;
  static constexpr int bytes = patch + Patch<kNarrow, kThreads, Single>::bytes;
  static_assert(Rows::elements * kSlabChannels * 4 <= rows);
};

/// Makes the summed weights of the block's 256 channels in the place of the stages, zero where there are
/// none.
template <int kNarrow>
__device__ __forceinline__ void sum_weights(mma::SharedAddress shared, const Single* __restrict__ w,
                                            int channels, int first_channel) {
  constexpr int kChunks = kSlabChannels / 4;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < WindowRows<kNarrow, Single>::elements * kChunks;
       i += kThreads) {
    const int line = i / kChunks;
    const int channel = first_channel + i % kChunks * 4;
    const int position = line / kNarrow;
    unsigned words[4] = {};
    if (channel < channels)
      sum_taps(words, w, line % kNarrow, taps_at(position / 4), taps_at(position % 4), channels, channel);
    mma::store_chunk(shared + static_cast<unsigned>(16 * i), words);
  }
}

/// The channel, in a warp's 32, of column `column` of fragment `fragment`: a lane's results of two fragments
/// are neighbours.
__device__ __forceinline__ int channel_of(int fragment, int column) {
  return 16 * (fragment / 2) + 4 * (column / 2) + 2 * (fragment % 2) + column % 2;
}

template <int kSteps>
__device__ __forceinline__ void load_weights(unsigned (&b)[kFragments][kSteps][2], mma::SharedAddress weights,
                                             int warp, int lane) {
#pragma unroll
  for (int j = 0; j < kFragments; ++j) {
    const int channel = warp * kChannels + channel_of(j, lane / 4);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int line = 8 * step + 4 * half + lane % 4;
        b[j][step][half] =
            mma::load_word(weights + static_cast<unsigned>((line * kSlabChannels + channel) * 4));
      }
    }
  }
}

/// A lane's part of a tile: of product t, pixels (2t, lane / 4) and (2t + 1, lane / 4), each with two chunks
/// of 4 channels, 16 apart.
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
    chunks = channel + 16 < tiles.channels ? 2 : channel < tiles.channels ? 1 : 0;
  }
  __device__ __forceinline__ bool exists(int row, int chunk) const { return row < rows && chunk < chunks; }
  __device__ __forceinline__ std::int64_t element(int row, int chunk) const {
    return first + row * line + 16 * chunk;
  }
};

/// A result, zero where `x` is not above zero. A NaN there lets pass.
__device__ __forceinline__ float masked(unsigned x, float result) {
  return __uint_as_float(x) <= 0.0f ? 0.0f : result;
}

/// Rows 2t and 2t + 1 of pixels of a tile; `x` is where the lane's part of its mask is.
template <bool kMasked, int kSteps>
__device__ __forceinline__ void multiply_rows(int t, const unsigned (&a)[kSteps][4],
                                              const unsigned (&b)[kFragments][kSteps][2],
                                              const LanePixels& at, mma::SharedAddress x,
                                              Single* __restrict__ dx) {
#pragma unroll
  for (int chunk = 0; chunk < 2; ++chunk) {
    float sums[2][4] = {};
#pragma unroll
    for (int j = 0; j < 2; ++j) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step)
        mma::multiply_add(mma::Tf32{}, sums[j], a[step], b[2 * chunk + j][step]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = 2 * t + half;
      float4 results{sums[0][2 * half], sums[0][2 * half + 1], sums[1][2 * half], sums[1][2 * half + 1]};
      if constexpr (kMasked) {
        unsigned mask[4];
        mma::load_chunk(mask, x + static_cast<unsigned>(kTileColumns * row * kLineBytes + 64 * chunk));
        results = float4{masked(mask[0], results.x), masked(mask[1], results.y), masked(mask[2], results.z),
                         masked(mask[3], results.w)};
      }
      if (at.exists(row, chunk)) *reinterpret_cast<float4*>(dx + at.element(row, chunk)) = results;
    }
  }
}

template <int kNarrow, bool kMasked>
__global__ void __launch_bounds__(kThreads, Layout<kNarrow>::blocks)
    narrow_output_input_tf32(const __grid_constant__ Tiles tiles, const Single* __restrict__ dy,
                             const Single* __restrict__ w, const Single* __restrict__ x,
                             Single* __restrict__ dx) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using L = Layout<kNarrow>;
  using Rows = typename L::Rows;
  constexpr int kSteps = Rows::steps;
  const mma::SharedAddress stages = mma::shared_address(shared);
  const mma::SharedAddress rows = stages + L::rows;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_channel = static_cast<int>(blockIdx.y) * kSlabChannels;
  const int slab_channel = warp * kChannels + lane % 4 * 4;
  const auto stride = static_cast<int>(gridDim.x);
  int tile = static_cast<int>(blockIdx.x);
  Patch<kNarrow, kThreads, Single> patch;
  patch.fetch(tiles, tile, dy);

  sum_weights<kNarrow>(stages, w, tiles.channels, first_channel);
  __syncthreads();
  unsigned b[kFragments][kSteps][2];
  load_weights<kSteps>(b, stages, warp, lane);
  __syncthreads();

  int next = tile;  // to copy
  const auto copy_next = [&](mma::SharedAddress to) {
    if constexpr (kMasked) {
      if (next < tiles.count) Inputs::fetch(tiles, next, x, first_channel, to);
      mma::commit_copies();
      next += stride;
    }
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) copy_next(stages + stage * Inputs::bytes);
  const auto of_lane = static_cast<unsigned>(lane / 4 * kLineBytes + slab_channel * 4);
  mma::SharedAddress read = stages;
  mma::SharedAddress write = stages + (kStages - 1) * Inputs::bytes;
  const mma::SharedAddress end = stages + kStages * Inputs::bytes;
  for (; tile < tiles.count; tile += stride) {
    patch.store(reinterpret_cast<Single*>(shared + L::patch));
    if (tile + stride < tiles.count) patch.fetch(tiles, tile + stride, dy);
    if constexpr (kMasked) mma::wait_copies<kStages - 2>();
    // Patch and x are complete; all are done with the tile before, whose stage is filled next.
    __syncthreads();
    copy_next(write);
    Rows::template copy_all<kThreads>(rows, stages + L::patch);
    __syncthreads();
    const LanePixels at(tiles, tile, first_channel + slab_channel, lane);
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      unsigned a[kSteps][4];
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        mma::load_matrices(a[step], rows + static_cast<unsigned>((16 * t + lane % 16) * Rows::stride +
                                                                 32 * step + lane / 16 * 16));
      }
      multiply_rows<kMasked>(t, a, b, at, read + of_lane, dx);
    }
    write = read;
    read += Inputs::bytes;
    if (read == end) read = stages;
  }
#endif
}

template <int kNarrow, bool kMasked>
void launch_kernel(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const Tiles tiles = tiles_of(s.batch, s.height, s.width, s.in_channels);
  constexpr int kShared = Layout<kNarrow>::bytes;
  const dim3 blocks(persistent_blocks(tiles.count, Layout<kNarrow>::blocks),
                    static_cast<unsigned>((s.in_channels + kSlabChannels - 1) / kSlabChannels));
  run_kernel(call, "narrow_output", {blocks, kThreads, kShared}, narrow_output_input_tf32<kNarrow, kMasked>,
             tiles, Name::output_gradient, Name::weights, Name::input, Name::input_gradient);
}

}  // namespace

void launch_output_input(const ChainCall& call) {
  with_narrow(call.shape.out_channels, [&]<int kNarrow>(std::integral_constant<int, kNarrow>) {
    call.shape.masked ? launch_kernel<kNarrow, true>(call) : launch_kernel<kNarrow, false>(call);
  });
}

}  // namespace warpscope::ops::conv2d::fused::narrow::tf32
