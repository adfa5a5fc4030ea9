// layer_norm.forward, variant `pooled`: with the ReLU behind it, if there is one, and the max pooling behind that in
// one pass. Over `warp_shuffle` it adds that what the norm and the ReLU give is not stored: x is read once, and the
// statistics, the largest of each window and its place are written. A group of 8, 16 or 32 lanes takes a window and
// goes through its positions. Sums and roundings are those of the ops one by one, so statistics have the same bits as
// `warp_shuffle` gives, and of equal values the same one wins.
//
// Limits: up to 512 channels, which stay in registers; channels that are no multiple of 16 bytes, and memory that does
// not start at one, are read an element at a time. Bound by memory. At most 80 registers, no shared memory, no
// spills. Source: layer_norm.h; maxpool2d.h; normalization.h.

#include "gpu/core/cuda.h"
#include "gpu/ops/layer_norm/layer_norm.h"
#include "gpu/ops/layer_norm/layer_norm_variants.h"
#include "gpu/ops/layer_norm/layer_norm_windows.cuh"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::layer_norm {
namespace {

template <class T>
struct PooledForward {
  Windows windows;
  int channels;
  MeanOf mean_of;
  bool relu;  ///< follows; a NaN stays
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

  /// Less than all that may come, in the first place: the same as having met a first value of minus infinity.
  __device__ __forceinline__ LargestRow() {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) at[k][i] = {-INFINITY, 0};
    }
  }

  /// A ReLU between the norm and the pooling, applied to the largest alone: where that is not above 0, the ReLU makes
  /// zeros of the whole window, of which the first wins.
  __device__ __forceinline__ void apply_relu() {
#pragma unroll
    for (int k = 0; k < G::kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < G::kWidth; ++i) {
        if (at[k][i].value <= 0.0f) at[k][i] = {0.0f, 0};
      }
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
  LargestRow<G> largest;
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
  if (call.relu) largest.apply_relu();
  const std::int64_t output = window.pooled * call.channels;
  largest.store(call.y + output, call.argmax + output, call.channels);
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const cudaStream_t stream = core::cuda_stream(*call.stream);
  auto* statistics = call.operand<float>(Name::statistics);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    const PooledForward<T> all{windows_of(s),
                               s.in_channels,
                               MeanOf(s.in_channels),
                               call.covers(Op::relu_forward),
                               call.operand<const T>(Name::input),
                               call.operand<const T>(Name::weights),
                               call.operand<const T>(Name::bias),
                               call.operand<T>(Name::output),
                               call.operand<std::uint8_t>(Name::argmax),
                               statistics,
                               statistics + sizes::pixels(s)};
    const bool aligned = aligned_16(all.x, all.gamma, all.beta, all.y, all.argmax);
    with_window_group<T>(s, aligned, [&](auto group, auto at_once) {
      using G = decltype(group);
      const auto blocks = static_cast<unsigned>((all.windows.count + G::kPositions - 1) / G::kPositions);
      layer_norm_forward_pooled<G, decltype(at_once)::value, T><<<blocks, kElementThreads, 0, stream>>>(all);
    });
  });
  core::check_launch("layer_norm.forward pooled");
}

}  // namespace

Variant pooled_forward() {
  Variant variant = pooled_variant(
      Op::layer_norm_forward,
      "The max pooling behind it, and a ReLU between them, run in the same pass: only what is pooled is "
      "written.");
  variant.chain = pooling_after(Op::layer_norm_forward);
  variant.launch = forward;
  return variant;
}

}  // namespace warpscope::ops::layer_norm
