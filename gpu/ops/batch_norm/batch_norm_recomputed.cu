// batch_norm.forward and infer, variant `recomputed`: over `pooled` they add that the convolution before the batch
// norm, of an image of few channels, runs in the same call, and its output y never leaves the registers (recomputed.h).
//
//   y[pixel, f] = sum over k of P[pixel, k] w[f, k];  z = y scale[f] + offset[f];  scale = r gamma,
//   offset = beta - mean scale
//
// The moments of y are products of sums over patches with the weights, which a small kernel makes in FP64. The pass
// that writes has y^T = w P^T on tensor cores: a warp keeps the weights of 32 filters in registers and takes units of
// tiles in turn (recomputed_tiles.cuh), whose results are all four pixels of a window in one lane. z is rounded to the
// stored type before the pooling compares; behind a ReLU it compares integers with the place in their low bits: of
// numbers that are not negative the bits order as the numbers do, and a NaN, which conversions give without a sign, is
// above all. The floor, zero at the first place, is the ReLU.
//
// Limits: compute capability 8.0; 16 bits; 3x3 kernels of 1 to 4 channels, filters in multiples of 32, poolings of 2x2
// (recomputed.h); all operands aligned to 16 bytes, which the memory of plans is. More than 256 filters are more blocks
// that read the images again. Moments take digits from images whose mean is many times their deviation. Bound by memory
// where nothing is pooled, else about as much by instructions. At most 80 registers (96 for 4 channels), 16 KB of
// shared memory, no spills; workspace: that of recomputed_sums.cu. Source: recomputed.h; batch_norm.cpp; maxpool2d.cpp.

#include <cmath>
#include <cstdint>

#include "gpu/ops/batch_norm/recomputed_sums.cuh"
#include "gpu/ops/batch_norm/recomputed_tiles.cuh"
#include "gpu/ops/block_sum.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"
#include "gpu/ops/normalization.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {
namespace recomputed {
namespace {

/// Blocks of a multiprocessor, as registers allow.
constexpr int blocks_of(int channels) {
  return channels < 4 ? 3 : 2;
}

/// A warp: a filter. Mean and r of y.
template <class Math>
__global__ void __launch_bounds__(kThreads)
    batch_norm_patch_moments(PatchSums sums, int filters, const Half* __restrict__ weights,
                             float* __restrict__ statistics) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int filter = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / 32);
  if (filter >= filters) return;
  const Half* w = weights + filter * sums.taps;
  double moments[2] = {};  // mean, variance
  for (int l = lane; l < sums.taps; l += 32) {
    double covariance = 0;  // of y and element l
    for (int k = 0; k < sums.taps; ++k)
      covariance += static_cast<double>(mma::widen(Math{}, w[k])) * sums.covariance(k, l);
    const auto weight = static_cast<double>(mma::widen(Math{}, w[l]));
    moments[0] += weight * sums.mean(l);
    moments[1] += weight * covariance;
  }
  warp_sums(moments);
  if (lane != 0) return;
  statistics[filter] = static_cast<float>(moments[0]);
  statistics[filters + filter] = static_cast<float>(reciprocal_deviation(moments[1]));
}

/// Mean and r of the filters, or the running mean and variance.
struct Moments {
  const float* means;
  const float* spreads;
  bool running;

  __device__ __forceinline__ float factor(int filter) const {
    return running ? reciprocal_deviation(spreads[filter]) : spreads[filter];
  }
};

struct Problem {
  Images images;
  const Half* x;
  const Half* weights;
  const Half* gamma;
  const Half* beta;
  Moments moments;
  bool relu;
  Half* output;
  std::uint8_t* argmax;              ///< nullptr where nothing is pooled
  int filter_warps;                  ///< of a block; the others share the units
  unsigned high_half = 0xffff0000u;  ///< a parameter, because an instruction takes one constant only
};

/// What a lane keeps of its four filters.
struct LaneNorm {
  float scale[kLaneFilters];
  float offset[kLaneFilters];

  template <class Math>
  __device__ __forceinline__ LaneNorm(Math, const Problem& q, int filter) {
#pragma unroll
    for (int i = 0; i < kLaneFilters; ++i) {
      scale[i] = q.moments.factor(filter + i) * mma::widen(Math{}, q.gamma[filter + i]);
      offset[i] = fmaf(-q.moments.means[filter + i], scale[i], mma::widen(Math{}, q.beta[filter + i]));
    }
  }
};

/// The weights of a warp's 32 filters: row g of product t is filter 4g + 2t, row g + 8 the one after it.
template <int kNarrow, int kSteps>
__device__ __forceinline__ void load_weights(unsigned (&a)[2][kSteps][4], const Half* __restrict__ weights,
                                             int first_filter, int lane) {
  constexpr int kTaps = 9 * kNarrow;
#pragma unroll
  for (int t = 0; t < 2; ++t) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Half* row = weights + (first_filter + lane / 4 * 4 + 2 * t + i % 2) * kTaps;
        const int k = 16 * step + i / 2 * 8 + lane % 4 * 2;
        const unsigned low = k < kTaps ? row[k] : 0u;
        const unsigned high = k + 1 < kTaps ? row[k + 1] : 0u;
        a[t][step][i] = low | high << 16;
      }
    }
  }
}

/// Results of a unit: of[t][u][2 r + e] is filter 2t + r of the lane's four at place 2u + e of its window.
struct Results {
  float of[2][2][4];

  template <class Math, class Rows>
  __device__ __forceinline__ Results(Math math, const unsigned (&a)[2][Rows::steps][4],
                                     const PixelColumns<Rows>& pixels) {
#pragma unroll
    for (int t = 0; t < 2; ++t) {
#pragma unroll
      for (int u = 0; u < 2; ++u) {
#pragma unroll
        for (int e = 0; e < 4; ++e) of[t][u][e] = 0.0f;
#pragma unroll
        for (int step = 0; step < Rows::steps; ++step)
          mma::multiply_add(math, of[t][u], a[t][step], pixels.of[u][step]);
      }
    }
  }
  /// z of filter i of the lane's four.
  __device__ __forceinline__ float normal(const LaneNorm& norm, int i, int place) const {
    return fmaf(of[i / 2][place / 2][i % 2 * 2 + place % 2], norm.scale[i], norm.offset[i]);
  }
  /// z of filters 2t and 2t + 1 as they are stored.
  template <class Math>
  __device__ __forceinline__ unsigned stored(Math math, const LaneNorm& norm, int t, int place) const {
    const float low = normal(norm, 2 * t, place);
    const float high = normal(norm, 2 * t + 1, place);
    return mma::narrow_pair(math, low, high);
  }
};

/// What is stored of a window: the values of the four filters and their places, a byte each.
struct Pooled {
  uint2 values;
  unsigned places;
};

/// Behind a ReLU.
template <class Math>
__device__ __forceinline__ Pooled pool_positive(Math math, const Results& results, const LaneNorm& norm,
                                                unsigned high_half) {
  int best[kLaneFilters];
#pragma unroll
  for (int t = 0; t < 2; ++t) {
    int low = 3;
    int high = 3;
#pragma unroll
    for (int place = 0; place < 4; ++place) {
      const unsigned pair = results.stored(math, norm, t, place);
      const auto before = static_cast<unsigned>(3 - place);
      low = max(low, static_cast<int>((pair << 16) + before));
      high = max(high, static_cast<int>((pair & high_half) | before));
    }
    best[2 * t] = low;
    best[2 * t + 1] = high;
  }
  const auto bytes = [&](int first, unsigned selector) {
    return __byte_perm(static_cast<unsigned>(best[first]), static_cast<unsigned>(best[first + 1]), selector);
  };
  return {{bytes(0, 0x7632u), bytes(2, 0x7632u)},
          ~__byte_perm(bytes(0, 0x0040u), bytes(2, 0x0040u), 0x5410u) & 0x03030303u};
}

template <class Math>
__device__ __forceinline__ Pooled pool_any(Math math, const Results& results, const LaneNorm& norm) {
  Pooled pooled{{0, 0}, 0};
#pragma unroll
  for (int t = 0; t < 2; ++t) {
    maxpool2d::Largest largest[2] = {{-INFINITY, 0}, {-INFINITY, 0}};
#pragma unroll
    for (unsigned place = 0; place < 4; ++place) {
      const unsigned pair = results.stored(math, norm, t, static_cast<int>(place));
      largest[0].meet(mma::widen(math, static_cast<Half>(pair)), place);
      largest[1].meet(mma::widen(math, static_cast<Half>(pair >> 16)), place);
    }
    (t == 0 ? pooled.values.x : pooled.values.y) = mma::narrow_pair(math, largest[0].value, largest[1].value);
    pooled.places |= (largest[0].place | largest[1].place << 8) << (16 * t);
  }
  return pooled;
}

/// A unit's windows: the lane's is the one at (row, column) of the windows of the image.
template <class Math>
__device__ __forceinline__ void write_pooled(Math math, const Problem& q, const Results& results,
                                             const LaneNorm& norm, const TilePlace& at, const Unit& unit,
                                             int lane, int filter) {
  const Images& images = q.images;
  const Pooled pooled =
      q.relu ? pool_positive(math, results, norm, q.high_half) : pool_any(math, results, norm);
  const int row = at.y / 2 + unit.row;
  const int column = at.x / 2 + unit.half * 4 + lane % 4;
  if (row >= images.rows || column >= images.columns) return;
  const std::int64_t image =
      static_cast<std::int64_t>(at.image) * (images.rows * images.columns * images.filters);
  const std::int64_t element = image + ((row * images.columns + column) * images.filters + filter);
  *reinterpret_cast<uint2*>(q.output + element) = pooled.values;
  *reinterpret_cast<unsigned*>(q.argmax + element) = pooled.places;
}

template <class Math>
__device__ __forceinline__ void write_pixels(Math math, const Problem& q, const Results& results,
                                             const LaneNorm& norm, const TilePlace& at, const Unit& unit,
                                             int lane, int filter) {
  const Images& images = q.images;
  const float floor = q.relu ? 0.0f : -INFINITY;
  const auto value = [&](int i, int place) {
    const float z = results.normal(norm, i, place);
    return z < floor ? floor : z;  // a NaN stays
  };
  const std::int64_t image =
      static_cast<std::int64_t>(at.image) * (images.height * images.width * images.filters);
#pragma unroll
  for (int place = 0; place < 4; ++place) {
    const int y = at.y + unit.row * 2 + place / 2;
    const int x = at.x + unit.half * 8 + lane % 4 * 2 + place % 2;
    if (!is_inside(images, y, x)) continue;
    const std::int64_t element = image + ((y * images.width + x) * images.filters + filter);
    *reinterpret_cast<uint2*>(q.output + element) = {
        mma::narrow_pair(math, value(0, place), value(1, place)),
        mma::narrow_pair(math, value(2, place), value(3, place))};
  }
}

template <class Math, int kNarrow, bool kPools>
__global__ void __launch_bounds__(kThreads, (blocks_of(kNarrow)))
    batch_norm_recompute(const __grid_constant__ Problem q) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  using Rows = narrow::PixelRows<Math, kNarrow>;
  __shared__ Shared<Math, kNarrow> shared;
  const Images& images = q.images;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_filter =
      static_cast<int>(blockIdx.y) * (kWarps * kWarpFilters) + warp % q.filter_warps * kWarpFilters;
  const bool exists = first_filter < images.filters;
  const int filter = (exists ? first_filter : 0) + lane / 4 * kLaneFilters;
  const LaneNorm norm(Math{}, q, filter);
  unsigned weights[2][Rows::steps][4];
  load_weights<kNarrow>(weights, q.weights, exists ? first_filter : 0, lane);
  const int first_row = exists ? warp / q.filter_warps : narrow::kTileRows;
  const int row_step = kWarps / q.filter_warps;
  const mma::SharedAddress rows = mma::shared_address(shared.rows);
  const auto stride = static_cast<int>(gridDim.x);
  PatchPixel<kNarrow> pixel;
  auto tile = static_cast<int>(blockIdx.x);
  TilePlace next = place_of(images, tile);
  pixel.fetch(images, next, q.x);
  for (; tile < images.tiles; tile += stride) {
    const TilePlace at = next;
    pixel.store(shared.patch);
    if (tile + stride < images.tiles) {
      next = place_of(images, tile + stride);
      pixel.fetch(images, next, q.x);
    }
    // The patch is complete; all have taken their units of the tile before.
    __syncthreads();
    copy_rows<Rows>(rows, shared.patch, true);
    __syncthreads();
#pragma unroll 1
    for (int row = first_row; row < narrow::kTileRows; row += row_step) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Unit unit{row, half};
        PixelColumns<Rows> pixels;
        pixels.load(rows + unit_offset<Rows>(unit), lane);
        const Results results(Math{}, weights, pixels);
        if constexpr (kPools) {
          write_pooled(Math{}, q, results, norm, at, unit, lane, filter);
        } else {
          write_pixels(Math{}, q, results, norm, at, unit, lane, filter);
        }
      }
    }
  }
#endif
}

/// Enqueues the pass that writes, with these moments.
void recompute(const OpCall& call, const Moments& moments) {
  constexpr int kSlab = kWarps * kWarpFilters;
  const Images images = images_of(call.shape);
  const Problem problem{images,
                        call.operand<const Half>(Name::input),
                        call.operand<const Half>(Name::weights),
                        call.operand<const Half>(Name::norm_weights),
                        call.operand<const Half>(Name::norm_bias),
                        moments,
                        call.covers(Op::relu_forward),
                        call.operand<Half>(Name::output),
                        call.operand<std::uint8_t>(Name::argmax),
                        filter_warps_of(images.filters)};
  const dim3 blocks(narrow::persistent_blocks(images.tiles, blocks_of(call.shape.patch_channels)),
                    static_cast<unsigned>((images.filters + kSlab - 1) / kSlab));
  mma::with_16_bits(call.precision, [&]<class Math>(Math) {
    narrow::with_narrow(call.shape.patch_channels, [&]<int kNarrow>(std::integral_constant<int, kNarrow>) {
      const auto kernel = pools(call.shape) ? batch_norm_recompute<Math, kNarrow, true>
                                            : batch_norm_recompute<Math, kNarrow, false>;
      run_kernel(call, {blocks, kThreads}, kernel, problem);
    });
  });
}

void forward(const OpCall& call) {
  const int filters = call.shape.in_channels;
  auto* statistics = call.operand<float>(Name::statistics);
  const PatchSums sums = sum_patches(call);
  mma::with_16_bits(call.precision, [&](auto math) {
    run_kernel(call, "moments", {static_cast<unsigned>(filters / kWarps), kThreads},
               batch_norm_patch_moments<decltype(math)>, sums, filters, Name::weights, statistics);
  });
  recompute(call, {statistics, statistics + filters, false});
}

std::size_t forward_workspace(const OpShape& s, core::Precision) {
  return patch_sums_bytes(s);
}

void infer(const OpCall& call) {
  recompute(call, {call.operand<const float>(Name::running_mean),
                   call.operand<const float>(Name::running_variance), true});
}

}  // namespace
}  // namespace recomputed

Variant recomputed_forward() {
  return cuda_variant(
      Op::batch_norm_forward, "recomputed", recomputed::forward,
      "The convolution of an image of few channels before it in the same call: moments from the "
      "covariance of "
      "its patches, and its output is never stored.",
      {.precisions = {core::Precision::fp16, core::Precision::bf16},
       .minimum_compute_capability = 80,
       .far_means = false,
       .chain = recomputed::forward_chain(Op::batch_norm_forward),
       .workspace_bytes = recomputed::forward_workspace,
       .refuses = recomputed::refuses});
}

Variant recomputed_infer() {
  return {.op = Op::batch_norm_infer,
          .name = "recomputed",
          .device = core::DeviceKind::cuda,
          .precisions = {core::Precision::fp16, core::Precision::bf16},
          .minimum_compute_capability = 80,
          .far_means = false,  // proofs would draw images far off 0, whose convolutions FP16 cannot hold
          .chain = recomputed::forward_chain(Op::batch_norm_infer),
          .summary =
              "The convolution of an image of few channels before it in the same pass, which never stores "
              "its output.",
          .launch = recomputed::infer,
          .refuses = recomputed::refuses};
}

}  // namespace warpscope::ops::batch_norm
