// conv2d.forward for few input channels: on tensor cores, the images read and the pooled result written once.
//
//   z[pixel, k] = sum over (r, s, c) of row[pixel, (r, s, c)] * w[k, (r, s, c)], and a one times bias[k]
//
// A block takes tiles in turn; each of its four warps keeps the weights of 64 output channels in registers
// (TF32: eight, 32).
// The rows of a tile are ordered so that a lane's four results of two 16x8 products are the four pixels of
// one window, and the weights so that its results of four such products (of two in TF32) are 8 channels (4)
// in a row: pooling needs no exchange, and the stores are of 16 bytes.
//
// The pooling is a maximum of integers: of the numbers that are not negative, the bits order as the numbers
// do, and a NaN, which the tensor cores give without a sign, is above all. The two lowest bits give way
// to (3 - code): numbers that differ in no other bit count as equal, and of equal ones the first wins. The
// floor of 3, zero with code 0, is the ReLU. Two more instructions take the code out and the bits away. In
// TF32 the result lacks the two bits, three parts in ten million. There the bias, which FP32 adds, is two
// elements of a row: the number rounded, and what is left of it.
//
// Limits: compute capability 8.0; one block has 256 output channels, more are more blocks that read the
// images again. Four blocks of 128 threads a multiprocessor (three for 4 channels), in TF32 two of 256; 11 KB
// of shared memory for 3 channels (TF32: 21 KB), at most 126 registers (158 for 4 channels; TF32: 124, 140),
// none spilled.
// Source: NVIDIA, "CUTLASS: implicit GEMM convolution", for the product; the codes in the low bits are ours.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/narrow/narrow.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_patch.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::narrow {
namespace {

/// How a block is cut, by the elements' type: 32-bit weights have half as many channels in a warp's
/// registers.
template <class Storage>
struct Cut {
  static constexpr bool wide = sizeof(Storage) == 4;
  static constexpr int threads = wide ? 256 : 128;
  static constexpr int fragments = wide ? 4 : 8;  // of eight output channels, of a warp
  static constexpr int channels = 8 * fragments;
  static constexpr int together = wide ? 2 : 4;  // fragments, of which a lane's results are 16 bytes: a group
  static constexpr int group_channels = 8 * together;

  /// Blocks of a multiprocessor, as registers allow.
  static constexpr int blocks(int narrow, bool pool) {
    if (wide) return narrow < 4 || pool ? 2 : 1;
    return narrow < 4 ? 4 : 3;
  }
};

struct ForwardProblem {
  Tiles tiles;
  unsigned tag_mask;  ///< all bits but a code's; a parameter, because an instruction takes one constant only
  bool relu;          ///< where there is no pooling
};

/// The output channel, among a warp's, of column `column` of fragment `fragment`: a lane's results of a group
/// are neighbours.
template <class Storage>
__device__ __forceinline__ int channel_of(int fragment, int column) {
  constexpr int T = Cut<Storage>::together;
  return 8 * T * (fragment / T) + 2 * T * (column / 2) + 2 * (fragment % T) + column % 2;
}

/// Element k of an output channel's row of weights as it is stored: the bias after the taps.
template <int kNarrow>
__device__ __forceinline__ unsigned weight(const Half* __restrict__ w, const Half* __restrict__ bias,
                                           int channel, int channels, int k) {
  constexpr int kTaps = 9 * kNarrow;
  if (channel >= channels || k > kTaps) return 0;
  return k < kTaps ? w[channel * kTaps + k] : bias[channel];
}
/// In TF32 as an operand, and what the bias lacks after it.
template <int kNarrow>
__device__ __forceinline__ unsigned weight(const Single* __restrict__ w, const Single* __restrict__ bias,
                                           int channel, int channels, int k) {
  constexpr int kTaps = 9 * kNarrow;
  if (channel >= channels || k > kTaps + 1) return 0;
  if (k < kTaps) return mma::operand_word(mma::Tf32{}, w[channel * kTaps + k]);
  const unsigned rounded = mma::operand_word(mma::Tf32{}, bias[channel]);
  if (k == kTaps) return rounded;
  const float all = __uint_as_float(bias[channel]);
  const float most = __uint_as_float(rounded);
  return mma::operand_word(mma::Tf32{}, all == most ? 0u : __float_as_uint(all - most));
}

template <int kNarrow, int kSteps, int kFragments, class Storage>
__device__ __forceinline__ void load_weights(unsigned (&b)[kFragments][kSteps][2],
                                             const Storage* __restrict__ w, const Storage* __restrict__ bias,
                                             int first_channel, int channels, int lane) {
  constexpr int kElements = 4 / static_cast<int>(sizeof(Storage));  // of a word
#pragma unroll
  for (int j = 0; j < kFragments; ++j) {
    const int channel = first_channel + channel_of<Storage>(j, lane / 4);
    const auto element = [&](int k) -> unsigned { return weight<kNarrow>(w, bias, channel, channels, k); };
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int k = kElements * (8 * step + 4 * half + lane % 4);
        b[j][step][half] = kElements == 1 ? element(k) : element(k) | element(k + 1) << 16;
      }
    }
  }
}

/// The rows of a tile: 32 for each row of eight windows, in two products of 16. Product t has the windows'
/// pixels of row t, the left ones first.
template <class Rows>
__device__ __forceinline__ void copy_rows(mma::SharedAddress rows, const typename Rows::Storage* patch) {
  constexpr int kChunks = 2 * Rows::steps;
  constexpr bool kWhole = Cut<typename Rows::Storage>::threads == kTilePixels;
  const int row = static_cast<int>(threadIdx.x) - (kWhole || threadIdx.x < kTilePixels ? 0 : kTilePixels);
  const int y = 2 * (row / 32) + row / 16 % 2;
  const int x = 2 * (row % 8) + row / 8 % 2;
  rows += static_cast<unsigned>(row * Rows::stride);
  if constexpr (kWhole) {
    Rows::template copy<0, kChunks>(rows, patch, y, x);
  } else if (threadIdx.x < kTilePixels) {
    Rows::template copy<0, kChunks / 2>(rows, patch, y, x);
  } else {
    Rows::template copy<kChunks / 2, kChunks>(rows, patch, y, x);
  }
}

/// Results of two products, two rows of pixels, and of a group of output channels.
template <class Math>
using Sums = float[2][Cut<typename Math::Storage>::together][4];

template <class Math, int kSteps, int kFragments>
__device__ __forceinline__ void multiply(Sums<Math>& sums, const unsigned (&a)[2][kSteps][4],
                                         const unsigned (&b)[kFragments][kSteps][2], int group) {
  constexpr int kColumns = Cut<typename Math::Storage>::together;
#pragma unroll
  for (int t = 0; t < 2; ++t) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[t][j][e] = 0.0f;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        mma::multiply_add(Math{}, sums[t][j], a[t][step], b[kColumns * group + j][step]);
      }
    }
  }
}

/// The largest of a window, and its code before those in `codes`: the newest is in the highest two bits.
template <int kColumns>
__device__ __forceinline__ float pool(const float (&sums)[2][kColumns][4], int j, int e, unsigned mask,
                                      unsigned& codes) {
  const unsigned first = __float_as_uint(sums[0][j][e]) | 3u;
  const unsigned second = (__float_as_uint(sums[0][j][2 + e]) & mask) | 2u;
  const unsigned third = (__float_as_uint(sums[1][j][e]) & mask) | 1u;
  const unsigned fourth = __float_as_uint(sums[1][j][2 + e]) & mask;
  int best = max(max(static_cast<int>(first), static_cast<int>(second)), static_cast<int>(third));
  best = max(max(best, static_cast<int>(fourth)), 3);
  codes = __funnelshift_r(codes, static_cast<unsigned>(best), 2);
  return __uint_as_float(static_cast<unsigned>(best) & mask);
}

/// A lane's part of the results: one window, and of each group of the warp's channels those of 16 bytes.
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

/// The same in TF32, of 32 channels: 8 bits a lane of each 16, of which a pair of lanes makes 16 bits.
__device__ __forceinline__ void store_codes_tf32(unsigned codes, std::uint8_t* __restrict__ argmax,
                                                 const LanePlace& at, int channels, bool odd) {
  codes = ~codes;
  // The first lane of a pair takes the first 16 channels' 8 of both, the second the others'.
  const unsigned other = __shfl_xor_sync(0xffffffffu, codes, 1);
  const unsigned both = __byte_perm(codes, other, odd ? 0x37u : 0x62u);
  const int shift = odd ? 16 - 4 : 0;
  if (at.exists && at.channel + shift < channels)
    *reinterpret_cast<Half*>(argmax + (at.element + shift) / 4) = static_cast<Half>(both);
}

/// A lane's results of a group as they are stored; value(j, e) is that of fragment j, column e of its two.
template <class Math, class Value>
__device__ __forceinline__ uint4 stored(Value value) {
  unsigned words[4];
  if constexpr (sizeof(typename Math::Storage) == 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = __float_as_uint(value(i / 2, i % 2));
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float low = value(j, 0);
      const float high = value(j, 1);
      words[j] = mma::narrow_pair(Math{}, low, high);
    }
  }
  return {words[0], words[1], words[2], words[3]};
}

template <class Math, int kSteps, int kFragments, class Storage>
__device__ __forceinline__ void pooled(const ForwardProblem& q, const unsigned (&a)[2][kSteps][4],
                                       const unsigned (&b)[kFragments][kSteps][2], const LanePlace& at,
                                       bool odd, Storage* __restrict__ y, std::uint8_t* __restrict__ argmax) {
  constexpr int kGroup = Cut<Storage>::group_channels;
  unsigned codes = 0;
#pragma unroll
  for (int group = 0; group < Cut<Storage>::channels / kGroup; ++group) {
    Sums<Math> sums;
    multiply<Math>(sums, a, b, group);
    const uint4 words = stored<Math>([&](int j, int e) { return pool(sums, j, e, q.tag_mask, codes); });
    if (at.exists && at.channel + kGroup * group < q.tiles.channels)
      *reinterpret_cast<uint4*>(y + at.element + kGroup * group) = words;
  }
  if constexpr (sizeof(Storage) == 4) {
    store_codes_tf32(codes, argmax, at, q.tiles.channels, odd);
  } else {
    store_codes(codes, argmax, at, q.tiles.channels, odd);
  }
}

/// Zero where negative; NaN stays.
__device__ __forceinline__ float rectify(float z, bool relu) {
  return relu && z < 0.0f ? 0.0f : z;
}

/// Without pooling: a window's four pixels, `corner` the element of the first.
template <class Math, int kSteps, int kFragments, class Storage>
__device__ __forceinline__ void plain(const ForwardProblem& q, const unsigned (&a)[2][kSteps][4],
                                      const unsigned (&b)[kFragments][kSteps][2], const LanePlace& at,
                                      std::int64_t corner, Storage* __restrict__ y) {
  constexpr int kGroup = Cut<Storage>::group_channels;
#pragma unroll
  for (int group = 0; group < Cut<Storage>::channels / kGroup; ++group) {
    Sums<Math> sums;
    multiply<Math>(sums, a, b, group);
    if (!at.exists || at.channel + kGroup * group >= q.tiles.channels) continue;
#pragma unroll
    for (int t = 0; t < 2; ++t) {
#pragma unroll
      for (int right = 0; right < 2; ++right) {
        Storage* to = y + corner + t * 2 * q.tiles.line() + right * q.tiles.channels + kGroup * group;
        *reinterpret_cast<uint4*>(to) =
            stored<Math>([&](int j, int e) { return rectify(sums[t][j][2 * right + e], q.relu); });
      }
    }
  }
}

template <class Math, int kNarrow, bool kPool>
__global__ void __launch_bounds__(Cut<typename Math::Storage>::threads,
                                  Cut<typename Math::Storage>::blocks(kNarrow, kPool))
    narrow_input_forward(const __grid_constant__ ForwardProblem q,
                         const typename Math::Storage* __restrict__ x,
                         const typename Math::Storage* __restrict__ w,
                         const typename Math::Storage* __restrict__ bias,
                         typename Math::Storage* __restrict__ y, std::uint8_t* __restrict__ argmax) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using Rows = PixelRows<Math, kNarrow>;
  using Storage = typename Math::Storage;
  constexpr int kSteps = Rows::steps;
  const mma::SharedAddress rows = mma::shared_address(shared);
  auto* raw = reinterpret_cast<Storage*>(shared + Rows::bytes);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first_channel = static_cast<int>(blockIdx.y) * kSlabChannels +
                            static_cast<int>(threadIdx.x) / 32 * Cut<Storage>::channels;
  const int channel = first_channel + lane % 4 * 2 * Cut<Storage>::together;
  unsigned b[Cut<Storage>::fragments][kSteps][2];
  load_weights<kNarrow>(b, w, bias, first_channel, q.tiles.channels, lane);

  const auto stride = static_cast<int>(gridDim.x);
  int tile = static_cast<int>(blockIdx.x);
  Patch<kNarrow, Cut<Storage>::threads, Storage> patch;
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
void launch_kernel(const ChainCall& call) {
  using Storage = typename Math::Storage;
  const ChainShape& s = call.shape;
  const Tiles tiles = tiles_of(s.batch, s.height / 2, s.width / 2, s.out_channels);
  constexpr unsigned kShared =
      PixelRows<Math, kNarrow>::bytes + Patch<kNarrow, Cut<Storage>::threads, Storage>::bytes;
  const dim3 blocks(persistent_blocks(tiles.count, Cut<Storage>::blocks(kNarrow, kPool)),
                    static_cast<unsigned>((s.out_channels + kSlabChannels - 1) / kSlabChannels));
  run_kernel(call, "narrow_input", {blocks, Cut<Storage>::threads, kShared},
             narrow_input_forward<Math, kNarrow, kPool>, ForwardProblem{tiles, ~3u, s.relu}, Name::input,
             Name::weights, Name::bias, Name::output, Name::argmax);
}

}  // namespace

namespace input_forward {

bool takes(const ChainShape& s) {
  return takes_layer(s, s.in_channels, s.out_channels, s.height / 2, s.width / 2) && !s.upsample &&
         s.height % 2 == 0 && s.width % 2 == 0 && (!s.pool || s.relu);
}

void launch(const ChainCall& call) {
  mma::with_math(call.precision, [&]<class Math>(Math) {
    with_narrow(call.shape.in_channels, [&]<int kNarrow>(std::integral_constant<int, kNarrow>) {
      call.shape.pool ? launch_kernel<Math, kNarrow, true>(call) : launch_kernel<Math, kNarrow, false>(call);
    });
  });
}

}  // namespace input_forward
}  // namespace warpscope::ops::conv2d::fused::narrow
