#pragma once
// K positions of a layer norm that a group of lanes holds at once: their moments, and the largest of each channel. For
// kernels of layer_norm and of ops that run one behind them.
//
// center() of layer_norm_rows.cuh gives every sum to every lane. Here lanes share the sums out: at each of the first
// distances half of the lanes go on with one of two sums, half with the other, so that K = 3 positions take 24 shuffles
// instead of 45, and each lane takes the square root and the reciprocal of one position instead of K. Each sum is
// still made of the same pairs in the same order, so its bits are those of center().
//
// The largest of 16-bit numbers is found by instructions that take two of them. They lose the place of a NaN, so
// a window with one goes through maxpool2d::Largest, as all windows do in FP32 and before compute capability 8.0.

#include <cstdint>
#include <type_traits>

#include "gpu/ops/layer_norm/layer_norm_windows.cuh"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"

namespace warpscope::ops::layer_norm {

/// Which lanes of a group have the results of which position.
template <class G>
struct Lanes {
  static constexpr unsigned kFirst = G::kLanes / 2;
  static constexpr unsigned kSecond = G::kLanes / 4;
  static constexpr unsigned kThird = G::kLanes / 8;

  static __device__ __forceinline__ unsigned own() { return threadIdx.x % G::kLanes; }
  /// The `value` of the lane in which the bits of position n stand at these two distances.
  static __device__ __forceinline__ float of_position(float value, int n, unsigned low, unsigned high) {
    const unsigned lane = (n % 2 != 0 ? low : 0) + (n / 2 != 0 ? high : 0);
    return __shfl_sync(0xffffffffu, value, static_cast<int>(lane), static_cast<int>(G::kLanes));
  }
};

/// Adds the values of the lane at this distance and keeps half of them: 0, 2, ... in a lane whose bit there is 0, else
/// 1, 3, ...; a last one without a partner stays in both. Every lane of the warp must call it.
template <int N>
__device__ __forceinline__ void fold(float (&values)[N], float (&kept)[(N + 1) / 2], unsigned distance) {
  const bool odd = (threadIdx.x & distance) != 0;
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    const float own = odd ? values[2 * i + 1] : values[2 * i];
    const float given = odd ? values[2 * i] : values[2 * i + 1];
    kept[i] = own + __shfl_xor_sync(0xffffffffu, given, static_cast<int>(distance));
  }
  if constexpr (N % 2 != 0) {
    kept[N / 2] = values[N - 1] + __shfl_xor_sync(0xffffffffu, values[N - 1], static_cast<int>(distance));
  }
}

/// Adds the sums of K positions, 2 to 4, over the group at `low`, at `high` if they are more than two, and at all
/// distances below. Gives the one of position n, whose bits are those of the lane at these distances; with K = 3 and
/// the bit at `high`, n is 2.
template <class G, int K>
__device__ __forceinline__ float fold_positions(float (&sums)[K], unsigned low, unsigned high) {
  float pairs[(K + 1) / 2];
  fold(sums, pairs, low);
  float sum[1] = {pairs[0]};
  unsigned distance = high;
  if constexpr (K > 2) {
    fold(pairs, sum, high);
    distance = high / 2;
  }
#pragma unroll
  for (; distance > 0; distance /= 2)
    sum[0] += __shfl_xor_sync(0xffffffffu, sum[0], static_cast<int>(distance));
  return sum[0];
}

/// The one of K positions whose moments a lane has first; of 3 some lanes have none, which stands as 3.
template <class G, int K>
__device__ __forceinline__ int own_position() {
  const unsigned lane = Lanes<G>::own();
  return ((lane & Lanes<G>::kSecond) != 0 ? 1 : 0) + (K > 2 && (lane & Lanes<G>::kThird) != 0 ? 2 : 0);
}

/// Whether the lane is the first that has the moments of its position, and writes them.
template <class G, int K>
__device__ __forceinline__ bool writes_statistics() {
  const unsigned bits = Lanes<G>::kSecond | (K > 2 ? Lanes<G>::kThird : 0);
  return (Lanes<G>::own() & ~bits) == 0 && own_position<G, K>() < K;
}

/// The moments of K positions, which every lane has, and those of its own position.
template <int K>
struct MomentsAtOnce {
  Moments of[K];
  Moments own;
};

/// The same as center() of K positions that all have `channels` channels or, where there is no position, zeros.
template <class G, int K>
__device__ __forceinline__ MomentsAtOnce<K> center_at_once(Row<G> (&rows)[K], int channels,
                                                           const MeanOf& mean_of) {
  static_assert(G::kVectors == 1 && K >= 2 && K <= 4);
  using L = Lanes<G>;
  MomentsAtOnce<K> moments;
  float sums[K] = {};
#pragma unroll
  for (int n = 0; n < K; ++n) {
#pragma unroll
    for (int i = 0; i < G::kWidth; ++i) sums[n] += rows[n].at[0][i];
  }
  const float mean = mean_of(fold_positions<G>(sums, L::kFirst, L::kSecond));
#pragma unroll
  for (int n = 0; n < K; ++n) moments.of[n].mean = L::of_position(mean, n, L::kFirst, L::kSecond);

  float left[2 * K] = {};  // of the mean, and squares
  if (Row<G>::place(0) < channels) {
#pragma unroll
    for (int n = 0; n < K; ++n) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) {
        rows[n].at[0][i] -= moments.of[n].mean;
        left[2 * n] += rows[n].at[0][i];
        left[2 * n + 1] += rows[n].at[0][i] * rows[n].at[0][i];
      }
    }
  }
  float halves[K];  // what is left in half of the lanes, squares in the other half
  fold(left, halves, L::kFirst);
  const float sum = fold_positions<G>(halves, L::kSecond, L::kThird);
  const float other = __shfl_xor_sync(0xffffffffu, sum, static_cast<int>(L::kFirst));
  const bool has_squares = (threadIdx.x & L::kFirst) != 0;
  moments.own.rest = mean_of(has_squares ? other : sum);
  moments.own.factor =
      reciprocal_deviation(mean_of(has_squares ? sum : other) - moments.own.rest * moments.own.rest);

  moments.own.mean = moments.of[0].mean;
#pragma unroll
  for (int n = 0; n < K; ++n) {
    moments.of[n].rest = L::of_position(moments.own.rest, n, L::kSecond, L::kThird);
    moments.of[n].factor = L::of_position(moments.own.factor, n, L::kSecond, L::kThird);
    if (own_position<G, K>() == n) moments.own.mean = moments.of[n].mean;
  }
  return moments;
}

/// gamma and beta of a lane's channels.
template <int Width>
struct Scales {
  float gamma[Width];
  float beta[Width];
};

/// What a norm makes of channel i of a centred position.
template <class G>
__device__ __forceinline__ float normalized(const Row<G>& row, const Moments& moments,
                                            const Scales<G::kWidth>& scales, int i) {
  return (row.at[0][i] - moments.rest) * moments.factor * scales.gamma[i] + scales.beta[i];
}

/// The largest of each channel of a lane in a window, as it is stored, and its place.
template <class T, int Width>
struct LargestAtOnce {
  Vec<T, Width> values;
  Vec<std::uint8_t, Width> places;
};

/// The largest of K centred positions after the norm. `least` is 0 with a ReLU between norm and pooling, where the
/// first place wins in a window without a number above 0, else -INFINITY.
template <class G, int K, class T>
__device__ __forceinline__ LargestAtOnce<T, G::kWidth> largest_one_by_one(const Row<G> (&rows)[K],
                                                                          const Moments (&moments)[K],
                                                                          const Scales<G::kWidth>& scales,
                                                                          float least) {
  LargestAtOnce<T, G::kWidth> found;
#pragma unroll
  for (int i = 0; i < G::kWidth; ++i) {
    maxpool2d::Largest largest{least, 0};
#pragma unroll
    for (int n = 0; n < K; ++n) {
      const T value = from_float<T>(normalized(rows[n], moments[n], scales, i));
      largest.meet(to_float(value), static_cast<unsigned>(n));
    }
    found.values.at[i] = from_float<T>(largest.value);
    found.places.at[i] = static_cast<std::uint8_t>(largest.place);
  }
  return found;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

template <class T>
using Pair = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;

template <class T>
__device__ __forceinline__ Pair<T> pair_of(float low, float high) {
  if constexpr (std::is_same_v<T, __half>) {
    return __floats2half2_rn(low, high);
  } else {
    return __floats2bfloat162_rn(low, high);
  }
}

/// The same as largest_one_by_one(), two channels at a time.
template <class G, int K, class T>
__device__ __forceinline__ LargestAtOnce<T, G::kWidth> largest_in_pairs(const Row<G> (&rows)[K],
                                                                        const Moments (&moments)[K],
                                                                        const Scales<G::kWidth>& scales,
                                                                        float least) {
  constexpr int kPairs = G::kWidth / 2;
  const Pair<T> lowest = pair_of<T>(least, least);
  Pair<T> met[kPairs][K];
  Pair<T> largest[kPairs];
  unsigned places[kPairs];  // two, of 16 bits each
#pragma unroll
  for (int p = 0; p < kPairs; ++p) {
#pragma unroll
    for (int n = 0; n < K; ++n) {
      met[p][n] = pair_of<T>(normalized(rows[n], moments[n], scales, 2 * p),
                             normalized(rows[n], moments[n], scales, 2 * p + 1));
    }
    // Made equal to the ReLU's zeros, the first place wins among them.
    met[p][0] = __hmax2_nan(met[p][0], lowest);
    largest[p] = met[p][0];
#pragma unroll
    for (int n = 1; n < K; ++n) largest[p] = __hmax2_nan(largest[p], met[p][n]);
    places[p] = static_cast<unsigned>(K - 1) * 0x10001u;
#pragma unroll
    for (int n = K - 2; n >= 0; --n) {
      const unsigned same = __heq2_mask(met[p][n], largest[p]);
      places[p] = (places[p] & ~same) | (static_cast<unsigned>(n) * 0x10001u & same);
    }
  }
  Pair<T> sum = largest[0];  // NaN if one of them is; of infinities it may be one too
#pragma unroll
  for (int p = 1; p < kPairs; ++p) sum = __hadd2(sum, largest[p]);
  if (!__hbeq2(sum, sum)) {
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
      maxpool2d::Largest of[2] = {{least, 0}, {least, 0}};
#pragma unroll
      for (int n = 0; n < K; ++n) {
        of[0].meet(to_float(met[p][n].x), static_cast<unsigned>(n));
        of[1].meet(to_float(met[p][n].y), static_cast<unsigned>(n));
      }
      largest[p] = pair_of<T>(of[0].value, of[1].value);
      places[p] = of[0].place | of[1].place << 16;
    }
  }
  LargestAtOnce<T, G::kWidth> found;
#pragma unroll
  for (int p = 0; p < kPairs; ++p) {
    found.values.at[2 * p] = largest[p].x;
    found.values.at[2 * p + 1] = largest[p].y;
  }
#pragma unroll
  for (int p = 0; p < kPairs; p += 2) {  // a byte of each 16 bits
    const unsigned four = __byte_perm(places[p], places[p + 1], 0x6420);
    reinterpret_cast<Vec<unsigned, kPairs / 2>&>(found.places).at[p / 2] = four;
  }
  return found;
}

#endif

template <class G, int K, class T>
__device__ __forceinline__ LargestAtOnce<T, G::kWidth> largest_at_once(const Row<G> (&rows)[K],
                                                                       const Moments (&moments)[K],
                                                                       const Scales<G::kWidth>& scales,
                                                                       float least) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (sizeof(T) == 2) return largest_in_pairs<G, K, T>(rows, moments, scales, least);
#endif
  return largest_one_by_one<G, K, T>(rows, moments, scales, least);
}

}  // namespace warpscope::ops::layer_norm
