// conv2d.backward_weights of few_channels.h, a product over the pixels. A block has 64 filters and takes tiles in turn:
// dy is copied while the tile before is multiplied. Its rows are the filters of dy, its columns the units of a patch,
// both read from where they lie, transposed on the way. Warps share the units, and where these are few the pixels. At
// the end those that have the same units add up in order, and the block writes its partial sums, which a second kernel
// adds in order (fused/narrow/narrow_sum.h).
//
// Limits: compute capability 8.0; at most 32 units; dy aligned to 16 bytes; all in 48 KB of shared memory.

#include "gpu/ops/conv2d/few_channels/few_channels.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_sum.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::few_channels {
namespace {

constexpr int kWeightsThreads = 32 * kWarps;
constexpr int kFilterTiles = kSlabFilters / 16;
constexpr int kLineBytes = kSlabFilters * 2;  // a pixel of dy
constexpr int kLineChunks = kLineBytes / 16;
constexpr int kSteps = kTilePixels / 16;

using UnitSums = float[kFilterTiles][kWarpUnits][4];

/// Where chunk `chunk` of a pixel of dy lies: eight neighbouring pixels in different banks.
__device__ __forceinline__ unsigned gradient_place(int pixel, int chunk) {
  return static_cast<unsigned>(pixel * kLineBytes + (chunk ^ pixel % kLineChunks) * 16);
}

/// Starts the copies of a tile of dy; zeros for what does not exist.
__device__ __forceinline__ void copy_gradient(const Problem& q, int tile, const Half* __restrict__ dy,
                                              int first_filter, mma::SharedAddress to) {
  const TilePlace at(q, tile);
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < kTilePixels * kLineChunks; i += kWeightsThreads) {
    const int chunk = i % kLineChunks;
    const TilePixel pixel(q, at, i / kLineChunks);
    const int filter = first_filter + 8 * chunk;
    const bool exists = pixel.exists(q) && filter < q.filters;
    mma::copy_async(to + gradient_place(i / kLineChunks, chunk),
                    exists ? dy + pixel.element(q, at) + filter : dy, exists);
  }
}

/// What a lane reads of two neighbouring units of its warp: from a pixel's first tap on, in pixels, and in columns.
struct UnitPlace {
  int offset;
  int column;

  __device__ __forceinline__ UnitPlace(const Problem& q, int unit) {
    const Units units = units_of(q);
    const int mine = unit < units.count ? unit : 0;  // nobody needs those behind the last
    const int row = mine / units.of_row;
    column = (mine - row * units.of_row) * units.taps * q.dilation;
    offset = row * q.dilation * q.patch_columns + column;
  }
};

template <class Math>
__device__ __forceinline__ void multiply_pixels(UnitSums& sums, const Problem& q,
                                                const UnitPlace (&units)[kWarpUnits / 2],
                                                mma::SharedAddress gradient, mma::SharedAddress patch,
                                                unsigned shifted, int first_filter, int first_step,
                                                int step_stride, int lane) {
  const int matrix = lane / 8;
  for (int step = first_step; step < kSteps; step += step_stride) {
    const int pixel = 16 * step + matrix % 2 * 8 + lane % 8;
    const int place = patch_place(q, pixel);
    const int column = (pixel & (q.tile_columns() - 1)) * q.stride;
    unsigned b[kWarpUnits / 2][4];
#pragma unroll
    for (int u = 0; u < kWarpUnits / 2; ++u) {
      // A pixel in an odd column is read from the other patch, where it lies one place further left.
      const bool odd = (column + units[u].column) % 2 != 0;
      const auto from = static_cast<unsigned>((place + units[u].offset) * kPixelBytes);
      mma::load_matrices_transposed(b[u], patch + from + (odd ? shifted : 0u));
    }
    const int row = 16 * step + matrix / 2 * 8 + lane % 8;
#pragma unroll
    for (int t = 0; t < kFilterTiles; ++t) {
      if (first_filter + 16 * t >= q.filters) break;
      unsigned a[4];
      mma::load_matrices_transposed(a, gradient + gradient_place(row, 2 * t + matrix % 2));
#pragma unroll
      for (int u = 0; u < kWarpUnits; ++u) {
        const unsigned pair[2] = {b[u / 2][u % 2 * 2], b[u / 2][u % 2 * 2 + 1]};
        mma::multiply_add(Math{}, sums[t][u], a, pair);
      }
    }
  }
}

/// Which of a filter's partial sums, by (tap, channel) with that of db behind them, column `column` of a unit is; -1:
/// nobody needs it.
__device__ __forceinline__ int sum_of(const Problem& q, int unit, int column) {
  const Units units = units_of(q);
  const int element = column % 4;
  const int row = unit / units.of_row;
  const int tap = (unit - row * units.of_row) * units.taps + column / 4;
  if (unit >= units.count || column / 4 >= units.taps || tap >= q.kernel_width) return -1;
  if (element < q.channels) return (row * q.kernel_width + tap) * q.channels + element;
  return element == kMostChannels && unit == 0 && column / 4 == 0 ? q.taps() * q.channels : -1;
}

/// Adds the sums of the warps that share pixels, in order, in shared memory, and writes them to `partial`: dw, then db.
__device__ __forceinline__ void write_partial_sums(const UnitSums& sums, const Problem& q, int first_unit,
                                                   int part, int parts, float* shared,
                                                   float* __restrict__ partial, int first_filter, int lane) {
  const int stride = q.taps() * q.channels + 1;
  for (int turn = 0; turn < parts; ++turn) {
    __syncthreads();
    if (turn != part) continue;
#pragma unroll
    for (int u = 0; u < kWarpUnits; ++u) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = sum_of(q, first_unit + u, 2 * (lane % 4) + e);
        if (column < 0) continue;
#pragma unroll
        for (int t = 0; t < kFilterTiles; ++t) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float& sum = shared[(16 * t + 8 * half + lane / 4) * stride + column];
            sum = turn == 0 ? sums[t][u][2 * half + e] : sum + sums[t][u][2 * half + e];
          }
        }
      }
    }
  }
  __syncthreads();
  const int filters = min(kSlabFilters, q.filters - first_filter);
  const int columns = stride - 1;
  for (int i = static_cast<int>(threadIdx.x); i < filters * columns; i += kWeightsThreads) {
    partial[first_filter * columns + i] = shared[i / columns * stride + i % columns];
  }
  for (int i = static_cast<int>(threadIdx.x); i < filters; i += kWeightsThreads) {
    partial[q.filters * columns + first_filter + i] = shared[i * stride + columns];
  }
}

template <class Math>
__global__ void __launch_bounds__(kWeightsThreads, 2)
    few_channels_weights(const __grid_constant__ Problem q, const Half* __restrict__ x,
                         const Half* __restrict__ dy, float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char few_channels_shared[];
  const WeightsLayout layout = weights_layout(q);
  const mma::SharedAddress stages = mma::shared_address(few_channels_shared);
  auto* const patch = reinterpret_cast<uint2*>(few_channels_shared + layout.patch);
  auto* const shifted = reinterpret_cast<uint2*>(few_channels_shared + layout.shifted);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int sharing = unit_warps(q);
  const int first_unit = warp % sharing * kWarpUnits;
  const int part = warp / sharing;
  const int parts = kWarps / sharing;
  const int first_filter = static_cast<int>(blockIdx.y) * kSlabFilters;
  const UnitPlace units[2] = {{q, first_unit + lane / 16}, {q, first_unit + 2 + lane / 16}};
  const auto apart = static_cast<unsigned>(layout.shifted - layout.patch - kPixelBytes);

  const auto stride = static_cast<int>(gridDim.x);
  int tile = static_cast<int>(blockIdx.x);
  if (tile < q.tiles) copy_gradient(q, tile, dy, first_filter, stages);
  mma::commit_copies();
  UnitSums sums = {};
  unsigned stage = 0;
  for (; tile < q.tiles; tile += stride) {
    read_patch<Math, kWeightsThreads>(Math{}, q, TilePlace(q, tile), x,
                                      [&](int i, int column, const uint2& words) {
                                        patch[i] = words;
                                        if (column > 0) shifted[i - 1] = words;
                                      });
    mma::wait_copies<0>();
    __syncthreads();
    if (tile + stride < q.tiles) {
      copy_gradient(q, tile + stride, dy, first_filter, stages + (stage ^ 1u) * kGradientBytes);
    }
    mma::commit_copies();
    multiply_pixels<Math>(sums, q, units, stages + stage * kGradientBytes, stages + layout.patch, apart,
                          first_filter, part, parts, lane);
    stage ^= 1u;
    __syncthreads();  // the patch is read, and the stage that is filled next
  }
  write_partial_sums(
      sums, q, first_unit, part, parts, reinterpret_cast<float*>(few_channels_shared),
      partial + static_cast<std::int64_t>(blockIdx.x) * q.filters * (q.taps() * q.channels + 1), first_filter,
      lane);
#endif
}

}  // namespace

void launch_weights(const Call& call, const Problem& q, int splits, const WeightsTensors& tensors) {
  const dim3 blocks(static_cast<unsigned>(splits), static_cast<unsigned>(divide_up(q.filters, kSlabFilters)));
  const Launch launch{blocks, kWeightsThreads, static_cast<std::size_t>(weights_layout(q).bytes)};
  mma::with_16_bits(call.precision, [&](auto math) {
    run_kernel(call, "few channels", launch, few_channels_weights<decltype(math)>, q, tensors.input,
               tensors.output_gradient, tensors.partial);
  });
  const int weights = q.filters * q.taps() * q.channels;
  fused::narrow::launch_sum(*call.variant, *call.stream, "few channels, the sum",
                            {weights, q.filters, splits},
                            {tensors.partial, tensors.weights_gradient, tensors.bias_gradient});
}

}  // namespace warpscope::ops::conv2d::few_channels
