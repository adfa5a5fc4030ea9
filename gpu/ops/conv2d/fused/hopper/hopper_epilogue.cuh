#pragma once
// How the sums of a patch reach global memory, for the wide layers' activations (hopper_activations.cuh).
//
// A warpgroup has the sums of 64 pixels and 128 channels, in slim tiles 64; warp w has rows 2 w and 2 w + 1 of the
// patch. A lane (group = lane / 4, member = lane % 4) has column `group` of both rows and the channels 8 j + 2 member
// and one more, j = 0 .. 15 (slim: 0 .. 7), together kCount sums: a pooling window is two lanes, 4 apart, with all its
// rows. With lines that are pooled a warpgroup has as many such sums as a window has positions: the i-th of all windows
// are a product of their own, so that a lane has its windows whole. The four members exchange their words, so that each
// writes 16 bytes: 64 bytes of a pixel by a warp's instruction. In FP32 each writes its own 8 bytes, 32 of a pixel. No
// shared memory, no barrier but what gets bias and mask there.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/ops/conv2d/quad_words.cuh"

namespace warpscope::ops::conv2d::fused::hopper {

/// Where an output's pixels lie, in elements; rows and columns of the grid, or of the pooled grid.
struct Layout {
  int images;
  int height;
  int width;
  std::int64_t image;
  std::int64_t row;
  std::int64_t column;
  std::int64_t parity_row;  ///< of interleaved outputs
  std::int64_t parity_column;
  int channels;

  __device__ __forceinline__ bool has(int n, int i, int j) const {
    return n < images && i < height && j < width;
  }
  __device__ __forceinline__ std::int64_t at(int n, int i, int j, int parity) const {
    return n * image + i * row + j * column + (parity >> 1) * parity_row + (parity & 1) * parity_column;
  }
};

/// Not fmaxf: a NaN stays.
__device__ __forceinline__ float activate(float value, bool relu) {
  return relu && value < 0.0f ? 0.0f : value;
}

/// A lane's place in the epilogue.
struct Lane {
  int warp;  ///< of the warpgroup
  int group;
  int member;
};

/// Two neighbouring elements of FP32.
__device__ __forceinline__ void write_floats(std::uint32_t* to, float low, float high) {
  *reinterpret_cast<float2*>(to) = float2{low, high};
}

/// All halves of a pair of elements whose bit of the two is set.
__device__ __forceinline__ unsigned keep_pair(unsigned bits) {
  return ((bits & 1) != 0 ? 0x0000ffffu : 0u) | ((bits & 2) != 0 ? 0xffff0000u : 0u);
}

/// Bias and ReLU, no pooling. `bias`: of the tile's channels, which begin at `channel`.
template <bool kSmall, class Math, int kCount>
__device__ __forceinline__ void write_plain(Math, const float (&sums)[kCount], const Layout& to,
                                            typename Math::Storage* out, const Place& patch, int parity,
                                            int channel, const float* bias, bool relu, const Lane& lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const Place at = pixel_of<kSmall>(patch, 2 * lane.warp + half, lane.group);
    const bool exists = to.has(at.image, at.row, at.column);
    auto* pixel = out + to.at(at.image, at.row, at.column, parity) + channel;
#pragma unroll
    for (int quarter = 0; quarter < kCount / 16; ++quarter) {
      unsigned w[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = 4 * quarter + i;
        const float2 b = *reinterpret_cast<const float2*>(bias + 8 * j + 2 * lane.member);
        w[i] = mma::narrow_pair(Math{}, activate(sums[4 * j + 2 * half] + b.x, relu),
                                activate(sums[4 * j + 2 * half + 1] + b.y, relu));
      }
      transpose(w, lane.member);
      const int first = 8 * (4 * quarter + lane.member);
      if (exists && channel + first < to.channels) write_chunk(pixel + first, w);
    }
  }
}

template <bool kSmall, int kCount>
__device__ __forceinline__ void write_plain(mma::Tf32, const float (&sums)[kCount], const Layout& to,
                                            std::uint32_t* out, const Place& patch, int parity, int channel,
                                            const float* bias, bool relu, const Lane& lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const Place at = pixel_of<kSmall>(patch, 2 * lane.warp + half, lane.group);
    if (!to.has(at.image, at.row, at.column)) continue;
    auto* mine = out + to.at(at.image, at.row, at.column, parity) + channel + 2 * lane.member;
#pragma unroll
    for (int j = 0; j < kCount / 4; ++j) {
      const float2 b = *reinterpret_cast<const float2*>(bias + 8 * j + 2 * lane.member);
      if (channel + 8 * j < to.channels) {
        write_floats(mine + 8 * j, activate(sums[4 * j + 2 * half] + b.x, relu),
                     activate(sums[4 * j + 2 * half + 1] + b.y, relu));
      }
    }
  }
}

/// The mask's bits of a pixel of the patch, 32 channels to a word; all are set if `mask` is nullptr.
template <int kWords>
__device__ __forceinline__ void read_bits(const unsigned char* mask, int pixel,
                                          unsigned (&quarters)[kWords]) {
  if constexpr (kWords == 4) {
    uint4 bits{~0u, ~0u, ~0u, ~0u};
    if (mask != nullptr) bits = reinterpret_cast<const uint4*>(mask)[pixel];
    quarters[0] = bits.x;
    quarters[1] = bits.y;
    quarters[2] = bits.z;
    quarters[3] = bits.w;
  } else {
    static_assert(kWords == 2);
    uint2 bits{~0u, ~0u};
    if (mask != nullptr) bits = reinterpret_cast<const uint2*>(mask)[pixel];
    quarters[0] = bits.x;
    quarters[1] = bits.y;
  }
}

/// Gradients, zero where the mask's bit is. `mask`: a byte for each 8 channels, 16 (slim: 8) for each pixel of
/// the patch; none if nullptr.
template <bool kSmall, class Math, int kCount>
__device__ __forceinline__ void write_masked(Math, const float (&sums)[kCount], const Layout& to,
                                             typename Math::Storage* out, const Place& patch, int channel,
                                             const unsigned char* mask, const Lane& lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = 2 * lane.warp + half;
    const Place at = pixel_of<kSmall>(patch, row, lane.group);
    const bool exists = to.has(at.image, at.row, at.column);
    auto* pixel = out + to.at(at.image, at.row, at.column, 0) + channel;
    unsigned quarters[kCount / 16];
    read_bits(mask, row * kPatchSide + lane.group, quarters);
#pragma unroll
    for (int quarter = 0; quarter < kCount / 16; ++quarter) {
      unsigned w[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = 4 * quarter + i;
        w[i] = mma::narrow_pair(Math{}, sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]);
      }
      transpose(w, lane.member);
      const unsigned mine = quarters[quarter] >> (8 * lane.member);
#pragma unroll
      for (int i = 0; i < 4; ++i) w[i] &= keep_pair(mine >> (2 * i));
      const int first = 8 * (4 * quarter + lane.member);
      if (exists && channel + first < to.channels) write_chunk(pixel + first, w);
    }
  }
}

template <bool kSmall, int kCount>
__device__ __forceinline__ void write_masked(mma::Tf32, const float (&sums)[kCount], const Layout& to,
                                             std::uint32_t* out, const Place& patch, int channel,
                                             const unsigned char* mask, const Lane& lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = 2 * lane.warp + half;
    const Place at = pixel_of<kSmall>(patch, row, lane.group);
    if (!to.has(at.image, at.row, at.column)) continue;
    auto* mine = out + to.at(at.image, at.row, at.column, 0) + channel + 2 * lane.member;
    unsigned quarters[kCount / 16];
    read_bits(mask, row * kPatchSide + lane.group, quarters);
#pragma unroll
    for (int j = 0; j < kCount / 4; ++j) {
      const unsigned pair = quarters[j / 4] >> (8 * (j % 4) + 2 * lane.member);
      if (channel + 8 * j < to.channels) {
        write_floats(mine + 8 * j, (pair & 1) != 0 ? sums[4 * j + 2 * half] : 0.0f,
                     (pair & 2) != 0 ? sums[4 * j + 2 * half + 1] : 0.0f);
      }
    }
  }
}

/// Takes the next of a window's elements in order: the first of equal ones stays, the first NaN stays before
/// all.
__device__ __forceinline__ void take_larger(float& best, unsigned& code, float next, unsigned next_code) {
  if (!(next <= best) && best == best) {
    best = next;
    code = next_code;
  }
}

/// Pools one channel of a window, of which this lane has the column `odd` and the lane 4 apart the other.
__device__ __forceinline__ float pool(float top, float bottom, bool odd, unsigned& code) {
  const float other_top = __shfl_xor_sync(0xffffffffu, top, 4);
  const float other_bottom = __shfl_xor_sync(0xffffffffu, bottom, 4);
  float best = odd ? other_top : top;
  code = 0;
  take_larger(best, code, odd ? top : other_top, 1);
  take_larger(best, code, odd ? other_bottom : bottom, 2);
  take_larger(best, code, odd ? bottom : other_bottom, 3);
  return best;
}

/// One word of each lane of a window: the largest of its two channels j of this member, and their codes.
struct PooledPair {
  float first;
  float second;
  unsigned nibble;
};

template <int kCount>
__device__ __forceinline__ PooledPair pool_pair(const float (&sums)[kCount], int j, const float* bias,
                                                bool relu, bool odd, int member) {
  const float2 b = *reinterpret_cast<const float2*>(bias + 8 * j + 2 * member);
  unsigned low = 0;
  unsigned high = 0;
  const float first =
      pool(activate(sums[4 * j] + b.x, relu), activate(sums[4 * j + 2] + b.x, relu), odd, low);
  const float second =
      pool(activate(sums[4 * j + 1] + b.y, relu), activate(sums[4 * j + 3] + b.y, relu), odd, high);
  return {first, second, low | high << 2};
}

/// Where a lane keeps the nibble of the word `pair` of eight (slim: four): byte i has the words i and 4 + i.
__device__ __forceinline__ unsigned nibble_at(unsigned nibble, int pair) {
  return nibble << (8 * (pair % 4) + 4 * (pair / 4));
}

/// From all members' nibbles the two bytes of codes of the chunks of 8 channels `member` and 4 + member.
__device__ __forceinline__ void gather_codes(unsigned codes, int member, unsigned (&chunk_codes)[2]) {
  chunk_codes[0] = 0;
  chunk_codes[1] = 0;
#pragma unroll
  for (int apart = 0; apart < 4; ++apart) {
    const unsigned theirs = apart == 0 ? codes : __shfl_xor_sync(0xffffffffu, codes, apart);
    const unsigned byte = theirs >> (8 * member);
    const int place = 4 * (member ^ apart);
    chunk_codes[0] |= (byte & 15) << place;
    chunk_codes[1] |= (byte >> 4 & 15) << place;
  }
}

/// Two bits an element; eight elements from a multiple of eight fill two bytes.
__device__ __forceinline__ void write_codes(std::uint8_t* argmax, std::int64_t element, unsigned codes) {
  *reinterpret_cast<std::uint16_t*>(argmax + element / 4) = static_cast<std::uint16_t>(codes);
}

/// Bias, ReLU and pooling. Both lanes of a window pool the words of all its channels; the even one writes those
/// of even j.
template <class Math, int kCount>
__device__ __forceinline__ void write_pooled(Math, const float (&sums)[kCount], const Layout& to,
                                             typename Math::Storage* out, std::uint8_t* argmax,
                                             const Place& patch, int channel, const float* bias, bool relu,
                                             const Lane& lane) {
  constexpr int kHalves = kCount / 32;  // of the channels, 64 each
  const bool odd = (lane.group & 1) != 0;
  unsigned w[kHalves][4];
  unsigned codes = 0;
#pragma unroll
  for (int pair = 0; pair < kCount / 8; ++pair) {
    unsigned words[2];
    unsigned nibbles[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const PooledPair pooled = pool_pair(sums, 2 * pair + i, bias, relu, odd, lane.member);
      words[i] = mma::narrow_pair(Math{}, pooled.first, pooled.second);
      nibbles[i] = pooled.nibble;
    }
    w[pair / 4][pair % 4] = odd ? words[1] : words[0];
    codes |= nibble_at(odd ? nibbles[1] : nibbles[0], pair);
  }
  transpose(w[0], lane.member);
  if constexpr (kHalves == 2) transpose(w[1], lane.member);
  unsigned chunk_codes[2];
  gather_codes(codes, lane.member, chunk_codes);
  const int row = patch.row / 2 + lane.warp;
  const int column = patch.column / 2 + lane.group / 2;
  if (!to.has(patch.image, row, column)) return;
  const std::int64_t pixel = to.at(patch.image, row, column, 0) + channel;
#pragma unroll
  for (int half = 0; half < kHalves; ++half) {
    const int first = 8 * (2 * (4 * half + lane.member) + (odd ? 1 : 0));
    if (channel + first >= to.channels) continue;
    write_chunk(out + pixel + first, w[half]);
    write_codes(argmax, pixel + first, chunk_codes[half]);
  }
}

template <int kCount>
__device__ __forceinline__ void write_pooled(mma::Tf32, const float (&sums)[kCount], const Layout& to,
                                             std::uint32_t* out, std::uint8_t* argmax, const Place& patch,
                                             int channel, const float* bias, bool relu, const Lane& lane) {
  const bool odd = (lane.group & 1) != 0;
  const int row = patch.row / 2 + lane.warp;
  const int column = patch.column / 2 + lane.group / 2;
  const bool exists = to.has(patch.image, row, column);
  const std::int64_t pixel = to.at(patch.image, row, column, 0) + channel;
  unsigned codes = 0;
#pragma unroll
  for (int pair = 0; pair < kCount / 8; ++pair) {
    const PooledPair even = pool_pair(sums, 2 * pair, bias, relu, odd, lane.member);
    const PooledPair next = pool_pair(sums, 2 * pair + 1, bias, relu, odd, lane.member);
    codes |= nibble_at(odd ? next.nibble : even.nibble, pair);
    const int first = 8 * (2 * pair + (odd ? 1 : 0));
    if (exists && channel + first < to.channels) {
      write_floats(out + pixel + first + 2 * lane.member, odd ? next.first : even.first,
                   odd ? next.second : even.second);
    }
  }
  unsigned chunk_codes[2];
  gather_codes(codes, lane.member, chunk_codes);
#pragma unroll
  for (int half = 0; half < kCount / 32; ++half) {
    const int first = 8 * (2 * (4 * half + lane.member) + (odd ? 1 : 0));
    if (exists && channel + first < to.channels) write_codes(argmax, pixel + first, chunk_codes[half]);
  }
}

/// The largest of a window of a line, with bias and ReLU, and its place. With a ReLU, where no position is above 0 all
/// are 0, of which the first wins.
template <int kWindow>
__device__ __forceinline__ float pool_window(const float (&window)[kWindow], float bias, bool relu,
                                             unsigned& place) {
  float best = window[0] + bias;
  place = 0;
#pragma unroll
  for (unsigned i = 1; i < kWindow; ++i) take_larger(best, place, window[i] + bias, i);
  if (relu && best <= 0.0f) {
    best = 0.0f;
    place = 0;
  }
  return best;
}

/// Bias, ReLU and pooling of lines: row and column of the patch are window and text, `argmax` has a byte an element.
template <int kWindow, class Math, int kCount>
__device__ __forceinline__ void write_windows(Math, const float (&sums)[kWindow][kCount], const Layout& to,
                                              typename Math::Storage* out, std::uint8_t* argmax,
                                              const Place& patch, int channel, const float* bias, bool relu,
                                              const Lane& lane) {
  constexpr bool kNarrow = sizeof(typename Math::Storage) == 2;
  const int row = patch.row + 2 * lane.warp;
  const int column = patch.column + lane.group;
  const bool exists[2] = {to.has(patch.image, row, column), to.has(patch.image, row + 1, column)};
  const std::int64_t pixel = to.at(patch.image, row, column, 0) + channel;
#pragma unroll
  for (int quarter = 0; quarter < kCount / 16; ++quarter) {
    unsigned w[2][4];
    unsigned places[4];  // of two channels in the low bytes, those of the next window in the high ones
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int j = 4 * quarter + i;
      const float2 b = *reinterpret_cast<const float2*>(bias + 8 * j + 2 * lane.member);
      places[i] = 0;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float first[kWindow];
        float second[kWindow];
#pragma unroll
        for (int p = 0; p < kWindow; ++p) {
          first[p] = sums[p][4 * j + 2 * half];
          second[p] = sums[p][4 * j + 2 * half + 1];
        }
        unsigned low;
        unsigned high;
        const float one = pool_window(first, b.x, relu, low);
        const float other = pool_window(second, b.y, relu, high);
        places[i] |= (low | high << 8) << (16 * half);
        if constexpr (kNarrow) {
          w[half][i] = mma::narrow_pair(Math{}, one, other);
        } else if (exists[half] && channel + 8 * j < to.channels) {
          write_floats(out + pixel + half * to.row + 8 * j + 2 * lane.member, one, other);
        }
      }
    }
    transpose(places, lane.member);
    const int first = 8 * (4 * quarter + lane.member);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t element = pixel + half * to.row + first;
      if constexpr (kNarrow) transpose(w[half], lane.member);
      if (!exists[half] || channel + first >= to.channels) continue;
      if constexpr (kNarrow) write_chunk(out + element, w[half]);
      const unsigned bytes = half == 0 ? 0x5410 : 0x7632;
      *reinterpret_cast<uint2*>(argmax + element) =
          uint2{__byte_perm(places[0], places[1], bytes), __byte_perm(places[2], places[3], bytes)};
    }
  }
}

/// All halves of the pair i of eight elements whose bit is set: that of element e is bit 2 e. `bits` are or-ed with
/// themselves 14 further up, so that those of a pair are 16 apart.
__device__ __forceinline__ unsigned keep_spread_pair(unsigned bits, int i) {
  return (bits >> (4 * i) & 0x00010001) * 0xffffu;
}

/// Gradients, each to the place of its window that `kept` says, zeros elsewhere: kWindow positions for one. `kept`: two
/// bits an element, 3 for none (hopper_mask.cuh); of the patch.
template <int kWindow, class Math, int kCount>
__device__ __forceinline__ void write_unpooled(Math, const float (&sums)[kCount], const Layout& to,
                                               typename Math::Storage* out, const Place& patch, int channel,
                                               const unsigned char* kept, const Lane& lane) {
  static_assert(kWindow == 3);
  const auto* eights = reinterpret_cast<const std::uint16_t*>(kept);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = 2 * lane.warp + half;
    const Place at = pixel_of<false>(patch, row, lane.group);
    const bool exists = to.has(at.image, at.row, at.column);
    auto* window = out + kWindow * to.at(at.image, at.row, at.column, 0) + channel;
    const auto* pixel = eights + (row * kPatchSide + lane.group) * (kCount / 4);
#pragma unroll
    for (int quarter = 0; quarter < kCount / 16; ++quarter) {
      unsigned w[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = 4 * quarter + i;
        w[i] = mma::narrow_pair(Math{}, sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]);
      }
      transpose(w, lane.member);
      const unsigned places = pixel[4 * quarter + lane.member];
      const unsigned low = places & 0x5555;
      const unsigned high = places >> 1 & 0x5555;
      const unsigned bits[kWindow] = {~(low | high) & 0x5555, low & ~high, high & ~low};
      const int first = 8 * (4 * quarter + lane.member);
      const bool writes = exists && channel + first < to.channels;
#pragma unroll
      for (int place = 0; place < kWindow; ++place) {
        const unsigned both = bits[place] | bits[place] << 14;
        unsigned mine[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) mine[i] = w[i] & keep_spread_pair(both, i);
        if (writes) write_chunk(window + place * to.row + first, mine);
      }
    }
  }
}

template <int kWindow, int kCount>
__device__ __forceinline__ void write_unpooled(mma::Tf32, const float (&sums)[kCount], const Layout& to,
                                               std::uint32_t* out, const Place& patch, int channel,
                                               const unsigned char* kept, const Lane& lane) {
  const auto* eights = reinterpret_cast<const std::uint16_t*>(kept);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = 2 * lane.warp + half;
    const Place at = pixel_of<false>(patch, row, lane.group);
    if (!to.has(at.image, at.row, at.column)) continue;
    auto* window = out + kWindow * to.at(at.image, at.row, at.column, 0) + channel + 2 * lane.member;
    const auto* pixel = eights + (row * kPatchSide + lane.group) * (kCount / 4);
#pragma unroll
    for (int j = 0; j < kCount / 4; ++j) {
      if (channel + 8 * j >= to.channels) continue;
      const unsigned pair = static_cast<unsigned>(pixel[j]) >> (4 * lane.member);
#pragma unroll
      for (unsigned place = 0; place < kWindow; ++place) {
        write_floats(window + place * to.row + 8 * j, (pair & 3) == place ? sums[4 * j + 2 * half] : 0.0f,
                     (pair >> 2 & 3) == place ? sums[4 * j + 2 * half + 1] : 0.0f);
      }
    }
  }
}

}  // namespace warpscope::ops::conv2d::fused::hopper
