// layer_norm.forward, variant `pooled`: with the ReLU behind it, if there is one, and the max pooling behind that in
// one pass. Over `warp_shuffle` it adds that what the norm and the ReLU give is not stored: x is read once, and the
// statistics, the largest of each window and its place are written. A group of 8, 16 or 32 lanes takes a window. Sums
// and roundings are those of the ops one by one, so statistics have the same bits as `warp_shuffle` gives, and of equal
// values the same one wins.
//
// Windows of 2, 3 or 4 positions, a lane of which has 16 bytes of each, are held whole (layer_norm_at_once.cuh). There
// are as many groups as run at once; each reads its next window before it works on this one, so that memory is never
// idle. They go from the last window to the first (layer_norm_walk.cuh): the end of x, which the op before has written
// last, is still in the L2 cache, and so is the start of y for the op behind. In other windows a group goes through
// the positions one after the other.
//
// Limits: up to 512 channels, which stay in registers; channels that are no multiple of 16 bytes, and memory that does
// not start at one, are read an element at a time. Whole windows run in as many blocks as 132 multiprocessors run at
// once, whatever the GPU has. Bound by memory. At most 80 registers, 117 in windows of 4; no shared memory, no spills.
// Source: layer_norm.cpp; maxpool2d.cpp; normalization.h.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/layer_norm/layer_norm_at_once.cuh"
#include "gpu/ops/layer_norm/layer_norm_walk.cuh"
#include "gpu/ops/layer_norm/layer_norm_windows.cuh"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::layer_norm {
namespace {

template <class T>
struct PooledForward {
  Windows windows;
  int channels;
  MeanOf mean_of;
  float least;  ///< 0: a ReLU follows, which lets a NaN through; else -INFINITY
  const T* x;
  const T* gamma;
  const T* beta;
  T* y;
  std::uint8_t* argmax;
  float* means;
  float* factors;
};

/// The largest of each channel of a lane among the positions that a group has gone through.
template <class G>
struct LargestRow {
  maxpool2d::Largest at[G::kVectors][G::kWidth];

  /// The same as having met this value in the first place. 0 stands for a ReLU before the pooling: where no position
  /// is above 0, that makes zeros of the whole window, of which the first wins.
  __device__ __forceinline__ explicit LargestRow(float least) {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) at[k][i] = {least, 0};
    }
  }

  template <class T>
  __device__ __forceinline__ void store(T* values, std::uint8_t* places, int channels) const {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
      if (Row<G>::place(k) >= channels) continue;
      float value[G::kWidth];
      Vec<std::uint8_t, G::kWidth> place;
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) {
        value[i] = at[k][i].value;
        place.at[i] = static_cast<std::uint8_t>(at[k][i].place);
      }
      store_floats(values + Row<G>::place(k), value);
      *reinterpret_cast<Vec<std::uint8_t, G::kWidth>*>(places + Row<G>::place(k)) = place;
    }
  }
};

/// Normalizes K centred positions, whose places in the window are those from `first` on, rounds what comes out as a
/// norm that stores it does, and shows it to `largest`.
template <class G, int K, class T>
__device__ __forceinline__ void meet(const PooledForward<T>& call, const Row<G> (&rows)[K],
                                     const int (&channels)[K], const Moments (&moments)[K], int first,
                                     LargestRow<G>& largest) {
#pragma unroll
  for (int k = 0; k < G::kVectors; ++k) {
    const int place = Row<G>::place(k);
    if (place >= call.channels) continue;
    float gamma[G::kWidth];
    float beta[G::kWidth];
    load_floats(call.gamma + place, gamma);
    load_floats(call.beta + place, beta);
#pragma unroll
    for (int n = 0; n < K; ++n) {
      if (channels[n] == 0) continue;
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) {
        const float value = (rows[n].at[k][i] - moments[n].rest) * moments[n].factor * gamma[i] + beta[i];
        largest.at[k][i].meet(to_float(from_float<T>(value)), static_cast<unsigned>(first + n));
      }
    }
  }
}

template <class G, int K, class T>
__global__ __launch_bounds__(kElementThreads) void layer_norm_forward_pooled(PooledForward<T> call) {
  const WindowAt window(call.windows, std::int64_t{blockIdx.x} * G::kPositions + threadIdx.x / G::kLanes);
  const T* corner = call.x + window.corner * call.channels;
  LargestRow<G> largest(call.least);
  Place place;
  for (int first = 0; first < call.windows.rows * call.windows.columns; first += K) {
    Row<G> rows[K];
    int offsets[K];
    int channels[K];
#pragma unroll
    for (int n = 0; n < K; ++n) {
      offsets[n] = window.offset(place);
      channels[n] = window.has(place) ? call.channels : 0;
      rows[n].load(corner + std::int64_t{offsets[n]} * call.channels, channels[n]);
      place.go_on(call.windows);
    }
    Moments moments[K];
    center<G>(rows, channels, call.mean_of, moments);
#pragma unroll
    for (int n = 0; n < K; ++n) {
      if (channels[n] == 0 || threadIdx.x % G::kLanes != 0) continue;
      call.means[window.corner + offsets[n]] = moments[n].mean + moments[n].rest;
      call.factors[window.corner + offsets[n]] = moments[n].factor;
    }
    meet(call, rows, channels, moments, first, largest);
  }
  if (window.pooled < 0) return;
  const std::int64_t output = window.pooled * call.channels;
  largest.store(call.y + output, call.argmax + output, call.channels);
}

/// Blocks of a multiprocessor at once, for windows of so many positions.
constexpr int blocks_at_once(int positions) {
  return positions < kMostAtOnce ? 3 : 2;
}

/// Windows of K positions, through which a Walker goes (layer_norm_walk.cuh).
template <class Walker, class G, int K, class T>
__global__ void __launch_bounds__(kElementThreads, blocks_at_once(K))
    layer_norm_forward_windows(const __grid_constant__ PooledForward<T> call,
                               const __grid_constant__ Walk walk) {
  using Stored = Vec<T, G::kWidth>;
  static_assert(sizeof(Stored) == sizeof(uint4));
  const int channel = Row<G>::place(0);
  const bool inside = channel < call.channels;
  const int own = own_position<G, K>();
  const unsigned own_bit = writes_statistics<G, K>() ? 1u << own : 0;
  const std::int64_t own_offset = own < K ? walk.offset[own] : 0;
  Walker window(call.windows, walk, blockIdx.x * G::kPositions + threadIdx.x / G::kLanes);
  unsigned positions;
  uint4 stored[K];
  const auto read = [&] {
    const T* corner = call.x + window.position() * call.channels + channel;
    positions = window.positions();
#pragma unroll
    for (int n = 0; n < K; ++n) {
      const auto* from =
          reinterpret_cast<const uint4*>(reinterpret_cast<const char*>(corner) + walk.bytes[n]);
      stored[n] = inside && (positions & 1u << n) != 0 ? __ldcs(from) : uint4{0, 0, 0, 0};
    }
  };
  read();
  for (int round = 0; round < walk.rounds; ++round) {
    Row<G> rows[K];
#pragma unroll
    for (int n = 0; n < K; ++n) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i)
        rows[n].at[0][i] = to_float(reinterpret_cast<const Stored&>(stored[n]).at[i]);
    }
    const bool writes = (positions & own_bit) != 0;
    const std::int64_t statistics = window.position() + own_offset;
    const bool pools = inside && window.is_whole();
    const std::int64_t output = window.output() * call.channels + channel;
    window.advance();
    read();
    const MomentsAtOnce<K> moments = center_at_once<G>(rows, call.channels, call.mean_of);
    if (writes) {
      call.means[statistics] = moments.own.mean + moments.own.rest;
      call.factors[statistics] = moments.own.factor;
    }
    if (!pools) continue;
    Scales<G::kWidth> scales;  // read again each time: they are in the cache, and registers are few
    load_floats(call.gamma + channel, scales.gamma);
    load_floats(call.beta + channel, scales.beta);
    const auto largest = largest_at_once<G, K, T>(rows, moments.of, scales, call.least);
    *reinterpret_cast<Stored*>(call.y + output) = largest.values;
    *reinterpret_cast<Vec<std::uint8_t, G::kWidth>*>(call.argmax + output) = largest.places;
  }
}

template <class G, int K, class T>
void launch_windows(const OpCall& call, const PooledForward<T>& how) {
  constexpr std::int64_t kProcessors = kPlannedProcessors;
  constexpr auto kGroups = static_cast<std::int64_t>(G::kPositions);
  const Windows& all = how.windows;
  const auto blocks =
      static_cast<unsigned>(std::min(kProcessors * blocks_at_once(K), (all.count + kGroups - 1) / kGroups));
  const Walk walk = walk_of(all, static_cast<int>(blocks * kGroups), how.channels * sizeof(T));
  const auto launch = [&](auto kernel) { run_kernel(call, {blocks}, kernel, how, walk); };
  if (is_side_by_side(all)) return launch(layer_norm_forward_windows<WalkerOfLines<K>, G, K, T>);
  launch(layer_norm_forward_windows<WalkerOfImages<K>, G, K, T>);
}

/// Whether a kernel holds windows of so many positions whole; if so, launches it.
template <class G, class T>
bool launch_at_once(const OpCall& call, const PooledForward<T>& how) {
  if constexpr (G::kVectors == 1 && G::kWidth == kWide<T>) {
    switch (how.windows.rows * how.windows.columns) {
      case 2:
        return launch_windows<G, 2>(call, how), true;
      case 3:
        return launch_windows<G, 3>(call, how), true;
      case 4:
        return launch_windows<G, 4>(call, how), true;
      default:
        break;
    }
  }
  return false;
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  auto* statistics = call.operand<float>(Name::statistics);
  with_storage(call.precision, [&]<class T>(T) {
    const PooledForward<T> all{windows_of(s),
                               s.in_channels,
                               MeanOf(s.in_channels),
                               call.covers(Op::relu_forward) ? 0.0f : -INFINITY,
                               call.operand<const T>(Name::input),
                               call.operand<const T>(Name::weights),
                               call.operand<const T>(Name::bias),
                               call.operand<T>(Name::output),
                               call.operand<std::uint8_t>(Name::argmax),
                               statistics,
                               statistics + sizes::pixels(s)};
    const bool aligned = aligned_16(all.x, all.gamma, all.beta, all.y, all.argmax);
    with_window_group<T>(s, aligned, [&]<class G>(G, auto at_once) {
      if (launch_at_once<G>(call, all)) return;
      const auto blocks = static_cast<unsigned>((all.windows.count + G::kPositions - 1) / G::kPositions);
      run_kernel(call, {blocks}, layer_norm_forward_pooled<G, decltype(at_once)::value, T>, all);
    });
  });
}

}  // namespace

Variant pooled_forward() {
  return cuda_variant(
      Op::layer_norm_forward, "pooled", forward,
      "The max pooling behind it, and a ReLU between them, run in the same pass: only what is pooled is "
      "written.",
      {.chain = pooling_after(Op::layer_norm_forward), .refuses = refuses_wide});
}

}  // namespace warpscope::ops::layer_norm
