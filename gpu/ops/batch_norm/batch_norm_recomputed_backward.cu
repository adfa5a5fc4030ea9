// batch_norm.backward, variant `recomputed`: over `pooled` it adds the gradient of the weights of the convolution
// before the batch norm, of an image of few channels, so that nobody stores the convolution's output y, nor the
// gradient of it, and nothing is computed again either: all that the formulas of batch_norm.cpp need of y are sums that
// follow from
//
//   D[f][k] = sum over pixels n of dy[n][f] P[n][k],  dbeta[f] = sum of dy[n][f], which the ones of the rows give,
//
// from w, and from means m and covariances C of the patches (recomputed.h), which are summed first. With D' = D - dbeta
// m, the mean u of y, v[k] = sum over l of w[f][l] C[l][k], and mean and r as they are given:
//
//   dgamma = r (sum over k of w[f][k] D'[f][k] + dbeta (u - mean))
//   dw[f][k] = r gamma (D'[f][k] - dgamma r (v[k] + (u - mean) m[k]))
//
// D is summed on tensor cores in one pass over dy, which a small kernel follows, in FP64. A warp has 32 filters and
// takes units of tiles (recomputed_tiles.cuh). The first operand, dy, goes from memory to registers, some units ahead:
// a pooled gradient to the half of a word that its place says, of others pairs of pixels are put together. The second
// operand are the rows. As many blocks as only the shape says leave their sums in the workspace, which are added in a
// fixed order.
//
// Limits: those of batch_norm_recomputed.cu. Bound by memory: dy is read once, with the places where it is pooled. At
// most 128 registers, 16 KB of shared memory, no spills; workspace: that of recomputed_sums.cu and 264 copies of the
// gradients of the weights, four times as many up to 64 filters, twice up to 128.
// Source: recomputed.h; batch_norm.cpp; maxpool2d.cpp.

#include <cstdint>

#include "gpu/ops/batch_norm/recomputed_sums.cuh"
#include "gpu/ops/batch_norm/recomputed_tiles.cuh"
#include "gpu/ops/block_sum.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_permute.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {
namespace recomputed {
namespace {

struct Problem {
  Images images;
  const Half* x;
  const Half* dy;
  const std::uint8_t* argmax;  ///< nullptr where nothing is pooled
  float* parts;
};

/// dy of a lane's four filters at the four pixels of its window of a unit: pooled.
struct PooledGradient {
  static constexpr int most_ahead = 8;
  uint2 values = {0, 0};
  unsigned places = 0;

  __device__ __forceinline__ void fetch(const Problem& q, const TilePlace& at, const Unit& unit, int lane,
                                        int filter) {
    const Images& images = q.images;
    const int row = at.y / 2 + unit.row;
    const int column = at.x / 2 + unit.half * 4 + lane % 4;
    *this = {};
    if (row >= images.rows || column >= images.columns) return;
    const std::int64_t element =
        static_cast<std::int64_t>(at.image) * (images.rows * images.columns * images.filters) +
        ((row * images.columns + column) * images.filters + filter);
    values = *reinterpret_cast<const uint2*>(q.dy + element);
    places = *reinterpret_cast<const unsigned*>(q.argmax + element);
  }
  /// The operand of filters 2t (rows g) and 2t + 1 (rows g + 8): the upper pixels of the window, then the lower.
  __device__ __forceinline__ void operand(unsigned (&a)[4], int t) const {
    const unsigned word = t == 0 ? values.x : values.y;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      // Eight times the place shifts selectors for both words at once: 4 is a byte of zeros.
      const unsigned shift = places * 8 >> (8 * (2 * t + r));
      const unsigned selectors = __funnelshift_l(0x44444444u, r == 0 ? 0x44444410u : 0x44444432u, shift);
      a[r] = narrow::permute(word, selectors);
      a[2 + r] = narrow::permute(word, selectors >> 16);
    }
  }
};

/// The same of a gradient that is none of a pooling.
struct PixelGradient {
  static constexpr int most_ahead = 2;
  uint2 values[4] = {};

  __device__ __forceinline__ void fetch(const Problem& q, const TilePlace& at, const Unit& unit, int lane,
                                        int filter) {
    const Images& images = q.images;
    const std::int64_t image =
        static_cast<std::int64_t>(at.image) * (images.height * images.width * images.filters);
#pragma unroll
    for (int place = 0; place < 4; ++place) {
      const int y = at.y + unit.row * 2 + place / 2;
      const int x = at.x + unit.half * 8 + lane % 4 * 2 + place % 2;
      values[place] = {0, 0};
      if (is_inside(images, y, x)) {
        const std::int64_t element = image + ((y * images.width + x) * images.filters + filter);
        values[place] = *reinterpret_cast<const uint2*>(q.dy + element);
      }
    }
  }
  __device__ __forceinline__ void operand(unsigned (&a)[4], int t) const {
    const auto word = [&](int place) { return t == 0 ? values[place].x : values[place].y; };
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      a[2 * row] = __byte_perm(word(2 * row), word(2 * row + 1), 0x5410u);
      a[2 * row + 1] = __byte_perm(word(2 * row), word(2 * row + 1), 0x7632u);
    }
  }
};

/// A warp's part of D: of[t][j] is product t of 16 filters, elements [8j, 8j + 8).
template <class Rows>
struct Sums {
  static constexpr int columns = (Rows::elements + 7) / 8;
  float of[2][columns][4] = {};

  template <class Math, class Gradient>
  __device__ __forceinline__ void add(Math math, const Gradient& gradient, const PixelsSummed<Rows>& pixels) {
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      unsigned a[4];
      gradient.operand(a, t);
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        const unsigned b[2] = {pixels.of[j / 2][j % 2], pixels.of[j / 2][2 + j % 2]};
        mma::multiply_add(math, of[t][j], a, b);
      }
    }
  }
  /// To (filters, elements); `filter` is the first of the lane's four.
  __device__ __forceinline__ void write(float* __restrict__ part, int filter, int lane) const {
#pragma unroll
    for (int t = 0; t < 2; ++t) {
#pragma unroll
      for (int j = 0; j < columns; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int element = 8 * j + lane % 4 * 2 + e % 2;
          if (element < Rows::elements)
            part[(filter + 2 * t + e / 2) * Rows::elements + element] = of[t][j][e];
        }
      }
    }
  }
};

/// kFilterWarps warps of a block share its filters; so many of them, one next to the other, have the same units.
template <class Math, int kNarrow, class Gradient, int kFilterWarps>
__global__ void __launch_bounds__(kThreads, 2) batch_norm_patch_gradients(const __grid_constant__ Problem q) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  using Rows = narrow::PixelRows<Math, kNarrow>;
  constexpr int kGroups = kWarps / kFilterWarps;
  constexpr int kTurns = kUnits / kGroups;  // units of a warp of each tile
  constexpr int kAhead = kTurns < Gradient::most_ahead ? kTurns : Gradient::most_ahead;
  __shared__ Shared<Math, kNarrow> shared;
  const Images& images = q.images;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const unsigned group = threadIdx.x / (32 * kFilterWarps);
  const int first_filter = (static_cast<int>(blockIdx.y) * kFilterWarps + warp % kFilterWarps) * kWarpFilters;
  const bool exists = first_filter < images.filters;
  const int filter = first_filter + lane / 4 * kLaneFilters;
  const mma::SharedAddress rows = mma::shared_address(shared.rows);
  const auto stride = static_cast<int>(gridDim.x);
  auto tile = static_cast<int>(blockIdx.x);
  TilePlace next = place_of(images, tile);
  PatchPixel<kNarrow> pixel;
  pixel.fetch(images, next, q.x);
  Gradient ahead[kAhead];
#pragma unroll
  for (int turn = 0; turn < kAhead; ++turn) {
    if (exists) ahead[turn].fetch(q, next, unit_of(group + kGroups * turn), lane, filter);
  }
  Sums<Rows> sums;
  for (; tile < images.tiles; tile += stride) {
    const TilePlace at = next;
    const bool last = tile + stride >= images.tiles;
    pixel.store(shared.patch);
    if (!last) {
      next = place_of(images, tile + stride);
      pixel.fetch(images, next, q.x);
    }
    // The patch is complete; all have taken their units of the tile before.
    __syncthreads();
    copy_rows<Rows>(rows, shared.patch, true);
    __syncthreads();
    if (!exists) continue;
#pragma unroll 1
    for (int first = 0; first < kTurns; first += kAhead) {
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const Unit unit = unit_of(group + kGroups * static_cast<unsigned>(first + i));
        const Gradient gradient = ahead[i];
        const int later = first + i + kAhead;
        if (later < kTurns) {
          ahead[i].fetch(q, at, unit_of(group + kGroups * static_cast<unsigned>(later)), lane, filter);
        } else if (!last) {
          ahead[i].fetch(q, next, unit_of(group + kGroups * static_cast<unsigned>(later - kTurns)), lane,
                         filter);
        }
        PixelsSummed<Rows> pixels;
        pixels.load(rows + unit_offset<Rows>(unit), lane);
        sums.add(Math{}, gradient, pixels);
      }
    }
  }
  if (!exists) return;
  const std::int64_t part = std::int64_t{blockIdx.x} * kGroups + group;
  sums.write(q.parts + part * (images.filters * Rows::elements), filter, lane);
#endif
}

/// What the last kernel reads and writes beside the sums over patches.
struct Gradients {
  const double* products;  ///< D, and dbeta after the taps of each filter: (filters, elements)
  int filters;
  const Half* weights;
  const Half* gamma;
  const float* statistics;
  float* dw;
  float* dgamma;
  float* dbeta;
};

/// A warp: a filter. A lane has one element or two.
template <class Math>
__global__ void __launch_bounds__(kThreads) batch_norm_patch_finish(PatchSums sums, Gradients q) {
  constexpr int kMost = (9 * kMostPatchChannels + 31) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int filter = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / 32);
  if (filter >= q.filters) return;
  const auto weight = [&](int k) {
    return static_cast<double>(mma::widen(Math{}, q.weights[filter * sums.taps + k]));
  };
  const double* products = q.products + filter * (sums.taps + 1);
  const double dbeta = products[sums.taps];
  const auto mean = static_cast<double>(q.statistics[filter]);
  const auto factor = static_cast<double>(q.statistics[q.filters + filter]);
  double centered[kMost];    // D'
  double covariance[kMost];  // v
  double own[2] = {};        // mean of y, products of D' with the weights
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    const int l = lane + 32 * i;
    centered[i] = covariance[i] = 0;
    if (l >= sums.taps) continue;
    for (int k = 0; k < sums.taps; ++k) covariance[i] += weight(k) * sums.covariance(k, l);
    centered[i] = products[l] - dbeta * sums.mean(l);
    own[0] += weight(l) * sums.mean(l);
    own[1] += weight(l) * centered[i];
  }
  warp_sums(own);
  const double apart = own[0] - mean;
  const double dgamma = factor * (own[1] + dbeta * apart);
  const double scale = factor * static_cast<double>(mma::widen(Math{}, q.gamma[filter]));
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    const int l = lane + 32 * i;
    if (l >= sums.taps) continue;
    const double normal = factor * (covariance[i] + apart * sums.mean(l));
    q.dw[filter * sums.taps + l] = static_cast<float>(scale * (centered[i] - dgamma * normal));
  }
  if (lane != 0) return;
  q.dgamma[filter] = static_cast<float>(dgamma);
  q.dbeta[filter] = static_cast<float>(dbeta);
}

/// Parts that the blocks leave: one for each group of warps.
std::int64_t parts_of(const Images& images) {
  return std::int64_t{summing_blocks(images)} * (kWarps / filter_warps_of(images.filters));
}

std::size_t sums_bytes(const OpShape& s) {
  const std::size_t bytes = static_cast<std::size_t>(s.in_channels * elements_of(s)) * sizeof(double);
  return (bytes + 255) / 256 * 256;
}

template <class Math, int kNarrow, class Gradient>
void launch_gradients(const OpCall& call, const Problem& problem) {
  const Images& images = problem.images;
  const auto launch = [&]<int kFilterWarps>(std::integral_constant<int, kFilterWarps>) {
    constexpr int kSlab = kFilterWarps * kWarpFilters;
    const dim3 blocks(summing_blocks(images), static_cast<unsigned>((images.filters + kSlab - 1) / kSlab));
    run_kernel(call, "products with patches", {blocks, kThreads},
               batch_norm_patch_gradients<Math, kNarrow, Gradient, kFilterWarps>, problem);
  };
  switch (filter_warps_of(images.filters)) {
    case 2:
      return launch(std::integral_constant<int, 2>{});
    case 4:
      return launch(std::integral_constant<int, 4>{});
    default:
      return launch(std::integral_constant<int, 8>{});
  }
}

template <class Math>
void launch_finish(const OpCall& call, const PatchSums& sums, const double* products) {
  const int filters = call.shape.in_channels;
  const Gradients gradients{products,
                            filters,
                            call.operand<const Half>(Name::weights),
                            call.operand<const Half>(Name::norm_weights),
                            call.operand<const float>(Name::statistics),
                            call.operand<float>(Name::weights_gradient),
                            call.operand<float>(Name::norm_weights_gradient),
                            call.operand<float>(Name::norm_bias_gradient)};
  run_kernel(call, {static_cast<unsigned>(filters / kWarps), kThreads}, batch_norm_patch_finish<Math>, sums,
             gradients);
}

void backward(const OpCall& call) {
  const Images images = images_of(call.shape);
  const PatchSums sums = sum_patches(call);
  std::byte* workspace = static_cast<std::byte*>(call.workspace) + patch_sums_bytes(call.shape);
  auto* products = reinterpret_cast<double*>(workspace);
  auto* parts = reinterpret_cast<float*>(workspace + sums_bytes(call.shape));
  const Problem problem{images, call.operand<const Half>(Name::input),
                        call.operand<const Half>(Name::output_gradient),
                        call.operand<const std::uint8_t>(Name::argmax), parts};
  mma::with_16_bits(call.precision, [&](auto math) {
    narrow::with_narrow(call.shape.patch_channels, [&]<int kNarrow>(std::integral_constant<int, kNarrow>) {
      pools(call.shape) ? launch_gradients<decltype(math), kNarrow, PooledGradient>(call, problem)
                        : launch_gradients<decltype(math), kNarrow, PixelGradient>(call, problem);
    });
  });
  add_parts(call, parts, static_cast<int>(parts_of(images)),
            std::int64_t{images.filters} * elements_of(call.shape), products);
  mma::with_16_bits(call.precision, [&](auto math) { launch_finish<decltype(math)>(call, sums, products); });
}

std::size_t backward_workspace(const OpShape& s, core::Precision) {
  const auto part = static_cast<std::size_t>(s.in_channels * elements_of(s)) * sizeof(float);
  return patch_sums_bytes(s) + sums_bytes(s) + static_cast<std::size_t>(parts_of(images_of(s))) * part;
}

}  // namespace
}  // namespace recomputed

Variant recomputed_backward() {
  return cuda_variant(
      Op::batch_norm_backward, "recomputed", recomputed::backward,
      "The gradient of the weights of the convolution before it in one pass over dy, of an image of few "
      "channels; nothing as large as the convolution's output is stored.",
      {.precisions = {core::Precision::fp16, core::Precision::bf16},
       .minimum_compute_capability = 80,
       .far_means = false,
       .chain = recomputed::backward_chain(),
       .workspace_bytes = recomputed::backward_workspace,
       .refuses = recomputed::refuses});
}

}  // namespace warpscope::ops::batch_norm
