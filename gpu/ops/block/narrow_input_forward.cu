// block.forward for few input channels: on tensor cores, the images read and the pooled result written once.
//
//   z[pixel, k] = sum over (r, s, c) of row[pixel, (r, s, c)] * w[k, (r, s, c)], and a one times bias[k]
//
// A block takes tiles in turn; each of its four warps keeps the weights of 64 output channels in registers.
// The rows of a tile are ordered so that a lane's four results of two 16x8 products are the four pixels of
// one window, and the weights so that its results of four such products are 8 channels in a row: pooling
// needs no exchange, and the stores are of 16 bytes.
//
// The pooling is a maximum of integers: of the numbers that are not negative, the bits order as the numbers
// do, and a NaN, which the tensor cores give without a sign, is above all. The two lowest bits give way
// to (3 - code): numbers that differ in no other bit count as equal, and of equal ones the first wins. The
// floor of 3, zero with code 0, is the ReLU. Two more instructions take the code out and the bits away.
//
// Limits: compute capability 8.0; one block has 256 output channels, more are more blocks that read the
// images again. Four blocks of 128 threads a multiprocessor (three for 4 channels);
// 11 KB of shared memory for 3 channels, at most 126 registers (158 for 4 channels), none spilled.
// Source: NVIDIA, "CUTLASS: implicit GEMM convolution", for the product; the codes in the low bits are ours.

#include "gpu/ops/block/block.h"
#include "gpu/ops/block/narrow.h"
#include "gpu/ops/block/narrow_patch.cuh"

namespace warpscope::ops::block::narrow {
namespace {

inline constexpr int kThreads = 128;

/// Blocks of a multiprocessor: four fill its registers, but not with the weights of 4 channels.
constexpr int blocks_of(int narrow) {
  return narrow < 4 ? 4 : 3;
}

inline constexpr int kFragments = 8;  // of eight output channels, of a warp
inline constexpr int kChannels = 64;  // of a warp

struct ForwardProblem {
  Tiles tiles;
  unsigned tag_mask;  ///< all bits but a code's; a parameter, because an instruction takes one constant only
  bool relu;          ///< where there is no pooling
};

/// The output channel, in a warp's 64, of column `column` of fragment `fragment`: a lane's results of four
/// fragments are neighbours.
__device__ __forceinline__ int channel_of(int fragment, int column) {
  return 32 * (fragment / 4) + 8 * (column / 2) + 2 * (fragment % 4) + column % 2;
}

template <int kNarrow, int kSteps>
__device__ __forceinline__ void load_weights(unsigned (&b)[kFragments][kSteps][2], const Half* __restrict__ w,
                                             const Half* __restrict__ bias, int first_channel, int channels,
                                             int lane) {
  constexpr int kTaps = 9 * kNarrow;
#pragma unroll
  for (int j = 0; j < kFragments; ++j) {
    const int channel = first_channel + channel_of(j, lane / 4);
    const auto element = [&](int k) -> unsigned {
      if (channel >= channels || k > kTaps) return 0;
      return k < kTaps ? w[channel * kTaps + k] : bias[channel];
    };
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int k = 16 * step + 8 * half + 2 * (lane % 4);
        b[j][step][half] = element(k) | element(k + 1) << 16;
      }
    }
  }
}

/// The rows of a tile: 32 for each row of eight windows, in two products of 16. Product t has the windows'
/// pixels of row t, the left ones first.
template <class Rows>
__device__ __forceinline__ void copy_rows(mma::SharedAddress rows, const Half* patch) {
  const int row = static_cast<int>(threadIdx.x);
  const int y = 2 * (row / 32) + row / 16 % 2;
  const int x = 2 * (row % 8) + row / 8 % 2;
  Rows::template copy<0, 2 * Rows::steps>(rows + static_cast<unsigned>(row * Rows::stride), patch, y, x);
}

/// Results of two products, two rows of pixels, and of 32 output channels.
using Sums = float[2][4][4];

template <class Math, int kSteps>
__device__ __forceinline__ void multiply(Sums& sums, const unsigned (&a)[2][kSteps][4],
                                         const unsigned (&b)[kFragments][kSteps][2], int group) {
#pragma unroll
  for (int t = 0; t < 2; ++t) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[t][j][e] = 0.0f;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        mma::multiply_add(Math{}, sums[t][j], a[t][step], b[4 * group + j][step]);
      }
    }
  }
}

/// The largest of a window, and its code before those in `codes`: the newest is in the highest two bits.
__device__ __forceinline__ float pool(const Sums& sums, int j, int e, unsigned mask, unsigned& codes) {
  const unsigned first = __float_as_uint(sums[0][j][e]) | 3u;
  const unsigned second = (__float_as_uint(sums[0][j][2 + e]) & mask) | 2u;
  const unsigned third = (__float_as_uint(sums[1][j][e]) & mask) | 1u;
  const unsigned fourth = __float_as_uint(sums[1][j][2 + e]) & mask;
  int best = max(max(static_cast<int>(first), static_cast<int>(second)), static_cast<int>(third));
  best = max(max(best, static_cast<int>(fourth)), 3);
  codes = __funnelshift_r(codes, static_cast<unsigned>(best), 2);
  return __uint_as_float(static_cast<unsigned>(best) & mask);
}

/// A lane's part of the results: one window, and of each 32 of the warp's channels eight.
struct LanePlace {
  std::int64_t element;  ///< of the pooled result, at the first of the channels
  int channel;           ///< the first
  bool exists;
};

/// Writes the codes of a window's 64 channels: 16 bits a lane of each 32 channels, of which a pair of lanes
/// makes 32 bits. All lanes call it.
__device__ __forceinline__ void store_codes(unsigned codes, std::uint8_t* __restrict__ argmax,
                                            const LanePlace& at, int channels, bool odd) {
  codes = ~codes;
  if (channels % 16 != 0) {
#pragma unroll
    for (int group = 0; group < 2; ++group) {
      if (at.exists && at.channel + 32 * group < channels) {
        *reinterpret_cast<Half*>(argmax + (at.element + 32 * group) / 4) =
            static_cast<Half>(codes >> (16 * group));
      }
    }
    return;
  }
  // The first lane of a pair takes the first 32 channels' 16 of both, the second the others'.
  const unsigned other = __shfl_xor_sync(0xffffffffu, codes, 1);
  const unsigned word = __byte_perm(codes, other, odd ? 0x3276u : 0x5410u);
  const int shift = odd ? 32 - 8 : 0;
  if (at.exists && at.channel + shift < channels)
    *reinterpret_cast<unsigned*>(argmax + (at.element + shift) / 4) = word;
}

template <class Math, int kSteps>
__device__ __forceinline__ void pooled(const ForwardProblem& q, const unsigned (&a)[2][kSteps][4],
                                       const unsigned (&b)[kFragments][kSteps][2], const LanePlace& at,
                                       bool odd, Half* __restrict__ y, std::uint8_t* __restrict__ argmax) {
  unsigned codes = 0;
#pragma unroll
  for (int group = 0; group < 2; ++group) {
    Sums sums;
    multiply<Math>(sums, a, b, group);
    unsigned words[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float low = pool(sums, j, 0, q.tag_mask, codes);
      const float high = pool(sums, j, 1, q.tag_mask, codes);
      words[j] = mma::narrow_pair(Math{}, low, high);
    }
    if (at.exists && at.channel + 32 * group < q.tiles.channels) {
      *reinterpret_cast<uint4*>(y + at.element + 32 * group) = uint4{words[0], words[1], words[2], words[3]};
    }
  }
  store_codes(codes, argmax, at, q.tiles.channels, odd);
}

/// Zero where negative; NaN stays.
__device__ __forceinline__ float rectify(float z, bool relu) {
  return relu && z < 0.0f ? 0.0f : z;
}

/// Without pooling: a window's four pixels, `corner` the element of the first.
template <class Math, int kSteps>
__device__ __forceinline__ void plain(const ForwardProblem& q, const unsigned (&a)[2][kSteps][4],
                                      const unsigned (&b)[kFragments][kSteps][2], const LanePlace& at,
                                      std::int64_t corner, Half* __restrict__ y) {
#pragma unroll
  for (int group = 0; group < 2; ++group) {
    Sums sums;
    multiply<Math>(sums, a, b, group);
    if (!at.exists || at.channel + 32 * group >= q.tiles.channels) continue;
#pragma unroll
    for (int t = 0; t < 2; ++t) {
#pragma unroll
      for (int right = 0; right < 2; ++right) {
        unsigned words[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          words[j] = mma::narrow_pair(Math{}, rectify(sums[t][j][2 * right], q.relu),
                                      rectify(sums[t][j][2 * right + 1], q.relu));
        }
        Half* to = y + corner + t * 2 * q.tiles.line() + right * q.tiles.channels + 32 * group;
        *reinterpret_cast<uint4*>(to) = uint4{words[0], words[1], words[2], words[3]};
      }
    }
  }
}

template <class Math, int kNarrow, bool kPool>
__global__ void __launch_bounds__(kThreads, blocks_of(kNarrow))
    narrow_input_forward(const __grid_constant__ ForwardProblem q, const Half* __restrict__ x,
                         const Half* __restrict__ w, const Half* __restrict__ bias, Half* __restrict__ y,
                         std::uint8_t* __restrict__ argmax) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using Rows = PixelRows<Math, kNarrow>;
  constexpr int kSteps = Rows::steps;
  const mma::SharedAddress rows = mma::shared_address(shared);
  auto* raw = reinterpret_cast<Half*>(shared + Rows::bytes);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first_channel =
      static_cast<int>(blockIdx.y) * kSlabChannels + static_cast<int>(threadIdx.x) / 32 * kChannels;
  const int channel = first_channel + lane % 4 * 8;
  unsigned b[kFragments][kSteps][2];
  load_weights<kNarrow>(b, w, bias, first_channel, q.tiles.channels, lane);

  const auto stride = static_cast<int>(gridDim.x);
  int tile = static_cast<int>(blockIdx.x);
  Patch<kNarrow, kThreads> patch;
  patch.fetch(q.tiles, tile, x);
  for (; tile < q.tiles.count; tile += stride) {
    patch.store(raw);
    if (tile + stride < q.tiles.count) patch.fetch(q.tiles, tile + stride, x);
    __syncthreads();  // the patch is complete, and all have multiplied the rows of the tile before
    copy_rows<Rows>(rows, raw);
    __syncthreads();
    if (first_channel >= q.tiles.channels) continue;
    const TilePlace at = place_of(q.tiles, tile);
    const int rows_left = at.column + lane / 4 < q.tiles.columns ? q.tiles.rows - at.row : 0;
    LanePlace place{first_element(q.tiles, at) + (lane / 4 * q.tiles.channels + channel), channel, false};
#pragma unroll 1
    for (int line = 0; line < kTileRows; ++line) {
      unsigned a[2][kSteps][4];
#pragma unroll
      for (int t = 0; t < 2; ++t) {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          mma::load_matrices(a[t][step],
                             rows + static_cast<unsigned>((32 * line + 16 * t + lane % 16) * Rows::stride +
                                                          32 * step + lane / 16 * 16));
        }
      }
      place.exists = line < rows_left;
      if constexpr (kPool) {
        pooled<Math>(q, a, b, place, lane % 2 != 0, y, argmax);
      } else {
        const std::int64_t corner = ((static_cast<std::int64_t>(at.image) * q.tiles.rows + at.row + line) *
                                         2 * (2 * q.tiles.columns) +
                                     2 * (at.column + lane / 4)) *
                                        q.tiles.channels +
                                    channel;
        plain<Math>(q, a, b, place, corner, y);
      }
      place.element += q.tiles.line();
    }
  }
#endif
}

template <class Math, int kNarrow, bool kPool>
void launch_kernel(const OpCall& call) {
  const OpShape& s = call.shape;
  const Tiles tiles = tiles_of(s.batch, s.height / 2, s.width / 2, s.out_channels);
  constexpr unsigned kShared = PixelRows<Math, kNarrow>::bytes + Patch<kNarrow, kThreads>::bytes;
  const dim3 blocks(persistent_blocks(tiles.count, blocks_of(kNarrow)),
                    static_cast<unsigned>((s.out_channels + kSlabChannels - 1) / kSlabChannels));
  narrow_input_forward<Math, kNarrow, kPool><<<blocks, kThreads, kShared, core::cuda_stream(*call.stream)>>>(
      ForwardProblem{tiles, ~3u, s.relu}, call.operand<const Half>(kForwardInput),
      call.operand<const Half>(kForwardWeights), call.operand<const Half>(kForwardBias),
      call.operand<Half>(kForwardOutput), call.operand<std::uint8_t>(kForwardArgmax));
}

}  // namespace

namespace input_forward {

bool takes(const OpShape& s) {
  return takes_layer(s, s.in_channels, s.out_channels, s.height / 2, s.width / 2) && !s.upsample &&
         s.height % 2 == 0 && s.width % 2 == 0 && (!s.pool || s.relu);
}

std::size_t workspace(const OpShape&, core::Precision) {
  return 0;
}

void launch(const OpCall& call) {
  with_math(call.precision, [&](auto math) {
    with_narrow(call.shape.in_channels, [&](auto narrow) {
      using Math = decltype(math);
      constexpr int kNarrow = decltype(narrow)::value;
      call.shape.pool ? launch_kernel<Math, kNarrow, true>(call) : launch_kernel<Math, kNarrow, false>(call);
    });
  });
  core::check_launch("block.forward narrow_input");
}

}  // namespace input_forward
}  // namespace warpscope::ops::block::narrow
