// The sums of products of the numbers of a patch, over all pixels (recomputed.h): P^T P on tensor cores, whose two
// operands are the same words. Each warp of a block takes a unit of a tile (recomputed_tiles.cuh) and of the symmetric
// result the fragments that reach above the diagonal. The products of a unit are exact but for what FP32 rounds of 16
// terms; they are added to those of other tiles as FP32 rounds to nearest, not as tensor cores do, which cut off.
// Blocks, as many as only the shape says, leave their sums in the workspace; a second kernel adds these in FP64.
//
// Limits: compute capability 8.0; 16 bits. Bound by instructions that make the rows; the images are read once. At most
// 72 registers, 24 KB of shared memory, no spills; workspace: 264 times the result, 0.8 MB for 3 channels.
// Source: A. Krizhevsky, G. Hinton, "Learning multiple layers of features from tiny images" (2009), for the covariance
// of patches.

#include "gpu/ops/batch_norm/recomputed_sums.cuh"
#include "gpu/ops/batch_norm/recomputed_tiles.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::batch_norm::recomputed {
namespace {

inline constexpr int kSumElements = 32;  // of a block

/// A warp's fragments of the result: rows in 16s, columns in 8s.
template <class Rows>
struct Products {
  static constexpr int columns = (Rows::elements + 7) / 8;
  static constexpr int stride = 8 * columns;  // of the result in shared memory, in floats
  float of[Rows::steps][columns][4] = {};

  /// Calls f(row, column) with the fragments that reach above the diagonal.
  template <class F>
  static __device__ __forceinline__ void for_each_fragment(F f) {
#pragma unroll
    for (int i = 0; i < Rows::steps; ++i) {
#pragma unroll
      for (int j = 2 * i; j < columns; ++j) f(i, j);
    }
  }
  template <class Math>
  __device__ __forceinline__ void add(Math math, const PixelsSummed<Rows>& pixels) {
    for_each_fragment([&](int i, int j) {
      const unsigned b[2] = {pixels.of[j / 2][j % 2], pixels.of[j / 2][2 + j % 2]};
      float products[4] = {};
      mma::multiply_add(math, products, pixels.of[i], b);
#pragma unroll
      for (int e = 0; e < 4; ++e) of[i][j][e] += products[e];
    });
  }
  /// Adds the sums of the warps, one after the other.
  __device__ __forceinline__ void add_warps(float* __restrict__ to) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int warp = 0; warp < kWarps; ++warp) {
      if (static_cast<int>(threadIdx.x) / 32 == warp) {
        for_each_fragment([&](int i, int j) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            float& sum = to[(16 * i + lane / 4 + e / 2 * 8) * stride + 8 * j + lane % 4 * 2 + e % 2];
            sum = warp == 0 ? of[i][j][e] : sum + of[i][j][e];
          }
        });
      }
      __syncthreads();
    }
  }
};

template <class Math, int kNarrow>
__global__ void __launch_bounds__(kThreads)
    batch_norm_sum_patches(const __grid_constant__ Images images, const Half* __restrict__ x,
                           float* __restrict__ parts) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  using Rows = narrow::PixelRows<Math, kNarrow>;
  using Sums = Products<Rows>;
  __shared__ Shared<Math, kNarrow> shared;
  __shared__ float all[16 * Rows::steps * Sums::stride];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const mma::SharedAddress rows = mma::shared_address(shared.rows);
  const auto stride = static_cast<int>(gridDim.x);
  Sums sums;
  PatchPixel<kNarrow> pixel;
  auto tile = static_cast<int>(blockIdx.x);
  TilePlace at = place_of(images, tile);
  pixel.fetch(images, at, x);
  for (; tile < images.tiles; tile += stride) {
    pixel.store(shared.patch);
    const CopiedPixel copied;
    const bool inside = is_inside(images, at.y + copied.y, at.x + copied.x);
    if (tile + stride < images.tiles) {
      at = place_of(images, tile + stride);
      pixel.fetch(images, at, x);
    }
    __syncthreads();
    copy_rows<Rows>(rows, shared.patch, inside);
    __syncthreads();
    PixelsSummed<Rows> pixels;
    pixels.load(rows + unit_offset<Rows>(unit_of(threadIdx.x / 32)), lane);
    sums.add(Math{}, pixels);
  }
  sums.add_warps(all);
  constexpr int kElements = Rows::elements;
  for (int i = static_cast<int>(threadIdx.x); i < kElements * kElements; i += kThreads) {
    const int k = i / kElements;
    const int l = i % kElements;
    parts[static_cast<int>(blockIdx.x) * kElements * kElements + i] =
        all[min(k, l) * Sums::stride + max(k, l)];
  }
#endif
}

/// A block has 32 neighbouring elements; its warps share the parts of each.
__global__ void __launch_bounds__(kThreads)
    batch_norm_add_parts(const float* __restrict__ parts, int count, std::int64_t elements,
                         double* __restrict__ sums) {
  __shared__ double of_warps[kWarps][kSumElements];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t element = std::int64_t{blockIdx.x} * kSumElements + lane;
  double sum = 0;
  if (element < elements) {
#pragma unroll 8
    for (int part = warp; part < count; part += kWarps)
      sum += static_cast<double>(parts[part * elements + element]);
  }
  of_warps[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || element >= elements) return;
  for (int other = 1; other < kWarps; ++other) sum += of_warps[other][lane];
  sums[element] = sum;
}

/// The sums come first in the workspace, on whole 256 bytes, then the parts.
std::size_t sums_bytes(int elements) {
  const std::size_t bytes = static_cast<std::size_t>(elements * elements) * sizeof(double);
  return (bytes + 255) / 256 * 256;
}

}  // namespace

std::size_t patch_sums_bytes(const OpShape& call) {
  const int elements = elements_of(call);
  const std::size_t part = static_cast<std::size_t>(elements * elements) * sizeof(float);
  const std::size_t bytes = sums_bytes(elements) + summing_blocks(images_of(call)) * part;
  return (bytes + 255) / 256 * 256;
}

PatchSums sum_patches(const OpCall& call) {
  const Images images = images_of(call.shape);
  const int elements = elements_of(call.shape);
  auto* sums = static_cast<double*>(call.workspace);
  auto* parts = reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace) + sums_bytes(elements));
  const unsigned blocks = summing_blocks(images);
  mma::with_16_bits(call.precision, [&](auto math) {
    narrow::with_narrow(call.shape.patch_channels, [&](auto channels) {
      run_kernel(call, "sums over patches", {blocks, kThreads},
                 batch_norm_sum_patches<decltype(math), decltype(channels)::value>, images, Name::input,
                 parts);
    });
  });
  add_parts(call, parts, static_cast<int>(blocks), std::int64_t{elements} * elements, sums);
  return {sums, elements - 1, 1.0 / static_cast<double>(sizes::pixels(call.shape))};
}

void add_parts(const OpCall& call, const float* parts, int count, std::int64_t elements, double* sums) {
  const auto blocks = static_cast<unsigned>((elements + kSumElements - 1) / kSumElements);
  run_kernel(call, "sums of blocks", {blocks, kThreads}, batch_norm_add_parts, parts, count, elements, sums);
}

}  // namespace warpscope::ops::batch_norm::recomputed
