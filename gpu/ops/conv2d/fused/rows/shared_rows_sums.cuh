#pragma once
// The sums of the rows of positions that shared_rows_normed pools, by tensor cores, from a table in shared memory.
//
// For 16 filters and 8 positions D[16][8] = C + A[16][16] * B[16][8], where the columns of A are the rows of two
// positions, 8 slots each: the taps, the bias, zeros; B holds ones where a slot belongs to a column. After four
// products with columns of their own 8 positions are complete. ldmatrix gathers A from shared memory, where the 16
// bytes number c of the row of slot s lie at c xor s, so that the 8 rows of a matrix lie in 8 different banks. A warp
// takes 24 positions next to each other, a lane 6 of them and 16 filters:
//
//   lane 4 g + m: positions 6 m + 0..5; filters 64 u + 8 g + i of its block's 128, u = 0, 1, i = 0..7
//   product of 16 filters (u, j): i = 2 j in row g of D, i = 2 j + 1 in row g + 8
//   product n of 8 positions: 6 m + 2 n and 6 m + 2 n + 1 in columns 2 m and 2 m + 1
//
// The table holds of a symbol the row of each tap and one more, of the means of these over all filters: two numbers of
// 16 bits, whose sum is the mean, in rows g and g + 8 of one more product. That gives every lane the means of its
// positions at once, and C of the other products is what they make negative: D is centred. Symbol 0 and filters that do
// not exist have zeros; the bias stands where the first tap of one more symbol would, and is read by the slot behind
// the taps.
//
// B is zero where a position does not use a row, so a row that is not finite makes all eight positions of its product
// NaN, not only those that use it.
//
// Source: rows.h; NVIDIA, "Parallel Thread Execution ISA", sections "ldmatrix", "mma.m16n8k16".

#include <cstdint>
#include <type_traits>

#include "gpu/ops/layer_norm/layer_norm_at_once.cuh"
#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::fused::rows {

namespace norm = layer_norm;

constexpr int kHalf = 128;  // filters of a block
constexpr int kBlocks = 2;  // of a cluster
constexpr int kRowBytes = 2 * kHalf;
constexpr int kChunkBytes = 16;
constexpr int kPositions = 24;               // of a round
constexpr int kMembers = 4;                  // lanes of different positions
constexpr int kOwn = kPositions / kMembers;  // positions of a lane
constexpr int kSlots = 8;

using Channels = norm::Group<16, 1, 8>;  // of a lane, twice: u = 0, 1

template <class T>
using MathOf = std::conditional_t<std::is_same_v<T, __half>, mma::Fp16, mma::Bf16>;

/// Bytes of a symbol in a block's table: a row of each tap, and one of means.
constexpr int symbol_bytes(int taps) {
  return (taps + 1) * kRowBytes;
}

/// Block: one of taps + 1 slots of a symbol; thread: a filter. It adds weights (K, taps, C). Symbol `characters` + 1
/// is the bias, in its last slot. The last slot of the others is no row: its mean, and those of slots behind it, are
/// 0.
template <class T>
__global__ void __launch_bounds__(kBlocks* kHalf)
    conv2d_halves_of_rows(const T* weights, const T* bias, int characters, int filters, int taps, T* rows) {
  __shared__ float sums[kBlocks * kHalf / 32];
  const int symbol = static_cast<int>(blockIdx.x) / (taps + 1);
  const int slot = static_cast<int>(blockIdx.x) % (taps + 1);
  const auto filter = static_cast<int>(threadIdx.x);
  const bool is_bias = symbol > characters;
  const bool is_last = slot == taps;
  T value = from_float<T>(0.0f);
  if (filter < filters && is_bias && is_last && bias != nullptr) value = bias[filter];
  if (filter < filters && !is_bias && !is_last && symbol > 0) {
    value = weights[(std::int64_t{filter} * taps + slot) * characters + symbol - 1];
  }
  float sum = to_float(value);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (filter % 32 == 0) sums[filter / 32] = sum;
  __syncthreads();
  sum = 0.0f;
  for (const float part : sums) sum += part;
  const float mean = sum / static_cast<float>(filters);

  const std::int64_t half_elements = std::int64_t{characters + 2} * (taps + 1) * kHalf;
  T* const own = rows + std::int64_t{symbol} * (taps + 1) * kHalf;
  if (is_bias == is_last) {
    const int row = is_bias ? 0 : slot;
    const int chunk = filter % kHalf / 64 * 8 + (filter % 8 ^ slot);
    own[filter / kHalf * half_elements + row * kHalf + chunk * 8 + filter % 64 / 8] = value;
  }
  const T high = from_float<T>(mean);
  const T low = from_float<T>(mean - to_float(high));
  const int half = filter / kHalf, part = filter / 64 % 2, chunk = filter / 8 % 8;
  if (chunk == slot || (is_last && chunk > slot)) {
    own[half * half_elements + taps * kHalf + filter % kHalf] = part == 0 ? high : low;
  }
}

/// Where a lane finds the rows that it hands to ldmatrix: those of slot lane % 8, of filters i with the parity of
/// lane / 8, of the first or the second position of a pair by lane / 16.
template <int kTaps>
class Slots {
 public:
  __device__ __forceinline__ Slots(mma::SharedAddress table, int characters) {
    const auto lane = static_cast<int>(threadIdx.x) % 32;
    const int slot = lane % kSlots;
    const int odd = lane / kSlots % 2;
    ahead_ = lane / 16 + slot;
    moves_ = slot < kTaps ? 1 : 0;
    start_ = table;  // zeros, of symbol 0
    if (slot < kTaps) start_ += static_cast<unsigned>(slot * kRowBytes);
    if (slot == kTaps) start_ += static_cast<unsigned>((characters + 1) * symbol_bytes(kTaps));  // the bias
    means_ = static_cast<unsigned>(kTaps * kRowBytes - (slot < kTaps ? slot * kRowBytes : 0) +
                                   (odd * kSlots + slot) * kChunkBytes);
#pragma unroll
    for (int j = 0; j < 4; ++j) chunks_[j] = static_cast<unsigned>(((2 * j + odd) ^ slot) * kChunkBytes);
  }

  /// The rows of all pairs. `symbols`: where the rows of each character of the round begin in the table.
  __device__ __forceinline__ void find(const unsigned* symbols) {
#pragma unroll
    for (int i = 0; i < 3 * kMembers; ++i) {
      const int first = kOwn * (i % kMembers) + 2 * (i / kMembers);
      rows_[i] = symbols[first + ahead_] * moves_ + start_;
    }
  }

  /// A of pair m of product n of 8 positions, for the filters (u, j).
  __device__ __forceinline__ void load(unsigned (&a)[4], int n, int m, int u, int j) const {
    mma::load_matrices_transposed(
        a, rows_[kMembers * n + m] + chunks_[j] + static_cast<unsigned>(u * kSlots * kChunkBytes));
  }
  /// The same of the means.
  __device__ __forceinline__ void load_means(unsigned (&a)[4], int n, int m) const {
    mma::load_matrices_transposed(a, rows_[kMembers * n + m] + means_);
  }

 private:
  int ahead_;
  unsigned moves_, start_, means_;
  unsigned chunks_[4];
  unsigned rows_[3 * kMembers];
};

/// The numbers of a lane: (u, window, position of it), of 8 filters each.
template <int P>
using Values = norm::Row<Channels>[2][kOwn / P][P];

/// C of the products of the rows: what makes them centred.
using Negative = float[3][4];

/// The means of a lane's positions over all filters, negative.
template <class T, int kTaps>
__device__ __forceinline__ void add_means(const Slots<kTaps>& slots, const unsigned (&ones)[kMembers][2],
                                          Negative& means) {
#pragma unroll
  for (int n = 0; n < 3; ++n) {
    float sums[4] = {};
#pragma unroll
    for (int m = 0; m < kMembers; ++m) {
      unsigned a[4];
      slots.load_means(a, n, m);
      mma::multiply_add(MathOf<T>{}, sums, a, ones[m]);
    }
#pragma unroll
    for (int e = 0; e < 2; ++e) means[n][e] = means[n][2 + e] = -sums[e] - sums[2 + e];
  }
}

/// A lane's numbers, less the means.
template <class T, int kTaps, int P>
__device__ __forceinline__ void add_rows(const Slots<kTaps>& slots, const unsigned (&ones)[kMembers][2],
                                         const Negative& means, Values<P>& values) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
#pragma unroll
      for (int n = 0; n < 3; ++n) {
        float sums[4];
#pragma unroll
        for (int m = 0; m < kMembers; ++m) {
          unsigned a[4];
          slots.load(a, n, m, u, j);
          if (m == 0) {
            mma::multiply_add(MathOf<T>{}, sums, means[n], a, ones[m]);
          } else {
            mma::multiply_add(MathOf<T>{}, sums, a, ones[m]);
          }
        }
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int k = 2 * n + e;
          values[u][k / P][k % P].at[0][2 * j] = sums[e];
          values[u][k / P][k % P].at[0][2 * j + 1] = sums[2 + e];
        }
      }
    }
  }
}

}  // namespace warpscope::ops::conv2d::fused::rows
