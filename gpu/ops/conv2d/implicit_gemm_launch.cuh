#pragma once
// Launches the kernels of implicit_gemm_activations.cuh and implicit_gemm_narrow.cuh.

#include <cstdint>

#include "gpu/ops/conv2d/implicit_gemm_activations.cuh"
#include "gpu/ops/conv2d/implicit_gemm_narrow.cuh"
#include "gpu/ops/conv2d/implicit_gemm_plan.h"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/op.h"

namespace warpscope::ops::conv2d {

inline Taps taps_of(const OpShape& s, int channels) {
  Taps taps{};
  taps.pixels = static_cast<int>(s.batch * s.height * s.width);
  taps.height = s.height;
  taps.width = s.width;
  taps.channels = channels;
  taps.kernel_height = s.kernel_height;
  taps.kernel_width = s.kernel_width;
  taps.by_height = FastDivide::by(static_cast<unsigned>(s.height));
  taps.by_width = FastDivide::by(static_cast<unsigned>(s.width));
  taps.by_channels = FastDivide::by(static_cast<unsigned>(channels));
  taps.by_kernel_width = FastDivide::by(static_cast<unsigned>(s.kernel_width));
  return taps;
}

/// Whether 16-byte accesses may start at `memory`. Contracts promise no alignment, so it is looked at.
inline bool takes_vectors(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % 16 == 0;
}

/// The tensors of one call, in the terms of implicit_gemm_activations.cuh.
struct ActivationsCall {
  Taps taps;
  int filters;
  const float* in;
  const float* weights;
  float* out;
  const Variant* variant;
  core::Stream* stream;
};

/// Whether a call reads 16 bytes at a time. Blocks of channels waste what the last one hangs over the end;
/// beyond a quarter, slower reads are the lesser loss.
template <class T, bool kBackward>
bool reads_vectors(const ActivationsCall& call) {
  const int channels = call.taps.channels;
  const bool fits_blocks = 4 * ((channels + T::depth - 1) / T::depth * T::depth) <= 5 * channels;
  return channels % 4 == 0 && fits_blocks && (call.filters % 4 == 0 || !kBackward) &&
         takes_vectors(call.in) && takes_vectors(call.weights);
}

template <class T, bool kBackward>
void launch_tile(const ActivationsCall& call) {
  const int column_tiles = (call.filters + T::columns - 1) / T::columns;
  const int row_tiles = (call.taps.pixels + T::rows - 1) / T::rows;
  const ActivationsProblem problem{call.taps, call.filters, column_tiles,
                                   call.filters % 4 == 0 && takes_vectors(call.out)};
  const unsigned blocks = static_cast<unsigned>(column_tiles) * static_cast<unsigned>(row_tiles);
  const auto kernel = reads_vectors<T, kBackward>(call) ? implicit_gemm_vectors<T, kBackward>
                                                        : implicit_gemm_scalars<T, kBackward>;
  run_kernel(call, {blocks, kGemmThreads}, kernel, problem, call.in, call.weights, call.out);
}

/// Any number of filters.
template <bool kBackward>
void launch_activations(const ActivationsCall& call) {
  switch (choose_tile(call.taps.pixels, call.filters)) {
    case TileName::large:
      return launch_tile<LargeTile, kBackward>(call);
    case TileName::medium:
      return launch_tile<MediumTile, kBackward>(call);
    case TileName::small:
      return launch_tile<SmallTile, kBackward>(call);
    case TileName::slim:
      return launch_tile<SlimTile, kBackward>(call);
    case TileName::tall:
      break;
  }
}

template <int kFilters>
void launch_narrow_filters(const ActivationsCall& call) {
  const auto blocks = static_cast<unsigned>((call.taps.pixels + kNarrowBlockPixels - 1) / kNarrowBlockPixels);
  const bool vectors = call.taps.channels % 4 == 0 && takes_vectors(call.in) && takes_vectors(call.weights);
  const auto kernel = vectors ? implicit_gemm_narrow<kFilters, 4> : implicit_gemm_narrow<kFilters, 1>;
  run_kernel(call, {blocks, kGemmThreads}, kernel, call.taps, call.in, call.weights, call.out);
}

/// At most kNarrowFilters filters, weights as (filters, R, S, channels). Compiled once, in
/// conv2d_implicit_gemm_forward.cu.
void launch_narrow(const ActivationsCall& call);

}  // namespace warpscope::ops::conv2d
