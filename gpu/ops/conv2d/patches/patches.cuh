#pragma once
// The kernel of patches.h. A block keeps all weights in shared memory, as the matrices of its products, and takes tiles
// in turn; while it multiplies one, the patch of the next is copied. A warp has 64 pixels (32 where there are more than
// 32 filters) and all filters: of each step it reads the fragments of its pixels from the patch, shifted by the tap,
// and those of the weights once for all its pixels. Both come by ldmatrix without bank conflicts: matrices of weights
// are 128 bytes without gaps, pixels lie an odd number of 16 bytes apart. Weights of backward_input, which have the
// wrong side innermost, are transposed in place, matrix by matrix, once.
//
// Four lanes that share a pixel exchange their words, so that each writes 16 bytes. GELU, its derivative and the
// addition are done in a loop to what a lane has just written, rounded, as the backward pass reads it.
//
// Bound by shared memory and mma.sync alike: of 24 filters a step takes 4 * 4 + 6 reads of 128 bytes for 12 products.
// Registers: at most 128. Source: NVIDIA, "Parallel Thread Execution ISA", "ldmatrix" and "mma.m16n8k16"; "CUTLASS
// documentation", "Implicit GEMM convolution".

#include <algorithm>
#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/activated.cuh"
#include "gpu/ops/conv2d/mma_plan.h"
#include "gpu/ops/conv2d/patches/patches_copy.cuh"
#include "gpu/ops/conv2d/quad_words.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::patches {

/// Tensors, typed.
struct Result {
  const Half* mask;
  const Half* beside;
  const Half* addend;
  Half* written;  ///< takes the sums: `out`, or what an activation reads
  Half* out;
  bool relu;
  Activation after;
};

/// Starts the copies of the weights.
template <int kFragments>
__device__ __forceinline__ void copy_weights(const Problem& q, const Half* __restrict__ w,
                                             mma::SharedAddress to) {
  const int lines = 2 * q.steps() * kFragments * 8;
  for (int i = static_cast<int>(threadIdx.x); i < lines; i += Warps<kFragments>::kThreads) {
    const int matrix = i / 8;
    const int element = weight_element(q, matrix / kFragments, matrix % kFragments, i % 8);
    mma::copy_async(to + static_cast<unsigned>(i * kChunkBytes), element < 0 ? w : w + element, element >= 0);
  }
}

/// Transposes all matrices of the weights.
template <int kFragments>
__device__ __forceinline__ void transpose_weights(const Problem& q, unsigned char* weights, int warp,
                                                  int lane) {
  const int matrices = 2 * q.steps() * kFragments;
  for (int first = 4 * warp; first < matrices; first += 4 * Warps<kFragments>::kCount) {
    const int mine = min(first + lane / 8, matrices - 1);
    unsigned words[4];
    mma::load_matrices_transposed(
        words, mma::shared_address(weights + mine * kMatrixBytes + lane % 8 * kChunkBytes));
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first + i >= matrices) break;
      reinterpret_cast<unsigned*>(weights + (first + i) * kMatrixBytes)[lane] = words[i];
    }
  }
}

template <class Math, int kFragments>
__device__ __forceinline__ void write_tables(const Problem& q, const Layout& layout,
                                             const Half* __restrict__ bias, unsigned char* shared) {
  constexpr int kThreads = Warps<kFragments>::kThreads;
  auto* const biases = reinterpret_cast<float*>(shared + layout.bias);
  auto* const offsets = reinterpret_cast<int*>(shared + layout.offsets);
  auto* const places = reinterpret_cast<int*>(shared + layout.places);
  const auto thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kChunkChannels * kFragments; i += kThreads) {
    biases[i] = bias != nullptr && i < q.filters ? mma::widen(Math{}, bias[i]) : 0.0f;
  }
  for (int i = thread; i < 2 * q.steps(); i += kThreads) offsets[i] = pair_offset(q, i);
  for (int i = thread; i < kTilePixels; i += kThreads) places[i] = place_of(q, i);
}

template <int kFragments>
using WarpSums = float[Warps<kFragments>::kTiles][kFragments][4];

/// Adds all steps. `pixels` are where this lane's lines of the first matrices begin in the patch.
template <class Math, int kFragments>
__device__ __forceinline__ void multiply_steps(WarpSums<kFragments>& sums, int steps,
                                               const mma::SharedAddress (&pixels)[Warps<kFragments>::kTiles],
                                               mma::SharedAddress weights, const int* __restrict__ offsets,
                                               int lane) {
  constexpr int kTiles = Warps<kFragments>::kTiles;
  constexpr unsigned kPairBytes = kFragments * kMatrixBytes;
  constexpr int kUnrolled = kFragments > 4 ? 1 : 2;  // as registers allow
  // The four matrices: both pairs of a fragment, then those of the next.
  mma::SharedAddress line = weights + static_cast<unsigned>(lane / 8 % 2) * kPairBytes +
                            static_cast<unsigned>(lane / 16 * kMatrixBytes + lane % 8 * kChunkBytes);
  // The last fragment of an odd number has two, whose lines come from the first sixteen lanes.
  const unsigned back = static_cast<unsigned>(lane / 16 * kMatrixBytes);
  const int* offset = offsets + lane / 16;
#pragma unroll kUnrolled
  for (int step = 0; step < steps; ++step) {
    const auto shift = static_cast<unsigned>(*offset);
    unsigned a[kTiles][4];
#pragma unroll
    for (int t = 0; t < kTiles; ++t) mma::load_matrices(a[t], pixels[t] + shift);
#pragma unroll
    for (int j = 0; j < kFragments; j += 2) {
      if (j + 1 < kFragments) {
        unsigned b[4];
        mma::load_matrices(b, line + j * kMatrixBytes);
        const unsigned left[2] = {b[0], b[1]};
        const unsigned right[2] = {b[2], b[3]};
#pragma unroll
        for (int t = 0; t < kTiles; ++t) mma::multiply_add(Math{}, sums[t][j], a[t], left);
#pragma unroll
        for (int t = 0; t < kTiles; ++t) mma::multiply_add(Math{}, sums[t][j + 1], a[t], right);
      } else {
        unsigned b[2];
        mma::load_matrices(b, line - back + j * kMatrixBytes);
#pragma unroll
        for (int t = 0; t < kTiles; ++t) mma::multiply_add(Math{}, sums[t][j], a[t], b);
      }
    }
    offset += 2;
    line += 2 * kPairBytes;
  }
}

/// Where the result has chunk `index` of those that a lane's four words of a pixel become, in elements; -1: nowhere. A
/// warp's chunks are (pixels in eights, fragment), the lanes of one pixel have neighbours.
template <int kFragments>
__device__ __forceinline__ int chunk_element(const Problem& q, const TilePlace& at,
                                             const int* __restrict__ places, int index, int warp, int lane) {
  const int eight = index / kFragments;
  return filter_element(q, at, places[warp * Warps<kFragments>::kPixels + 8 * eight + lane / 4],
                        kChunkChannels * (index - eight * kFragments));
}

__device__ __forceinline__ uint4 read_chunk(const Half* from) {
  return *reinterpret_cast<const uint4*>(from);
}
__device__ __forceinline__ void write_chunk(Half* to, const uint4& words) {
  *reinterpret_cast<uint4*>(to) = words;
}

/// Writes a warp's sums, rounded, ReLU and the mask done.
template <class Math, int kFragments>
__device__ __forceinline__ void write_sums(const WarpSums<kFragments>& sums, const Problem& q,
                                           const TilePlace& at, const Result& to,
                                           const int* __restrict__ places, int warp, int lane) {
  constexpr int kWords = 2 * Warps<kFragments>::kTiles * kFragments;
  constexpr int kAtOnce = kFragments > 4 ? 1 : 2;  // reads of the mask under way
  unsigned words[kWords];                          // (pixels in eights, fragment)
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const int eight = i / kFragments;
    const float* const pair = &sums[eight / 2][i % kFragments][eight % 2 * 2];
    float low = pair[0];
    float high = pair[1];
    if (to.relu) {
      low = activations::Relu::value(low);
      high = activations::Relu::value(high);
    }
    words[i] = mma::narrow_pair(Math{}, low, high);
  }
#pragma unroll
  for (int i = 0; i < kWords; i += 4 * kAtOnce) {
    int element[kAtOnce];
    uint4 mask[kAtOnce] = {};
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      element[k] = i + 4 * k < kWords
                       ? chunk_element<kFragments>(q, at, places, i + 4 * k + lane % 4, warp, lane)
                       : -1;
      if (to.mask != nullptr && element[k] >= 0) mask[k] = read_chunk(to.mask + element[k]);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (i + 4 * k >= kWords) continue;
      unsigned w[4] = {words[i + 4 * k], words[i + 4 * k + 1], words[i + 4 * k + 2], words[i + 4 * k + 3]};
      transpose(w, lane % 4);
      uint4 chunk{w[0], w[1], w[2], w[3]};
      if (to.mask != nullptr) {
        chunk = changed_words<Math>(chunk, mask[k],
                                    [](float dy, float y) { return activations::Relu::gradient(dy, y); });
      }
      if (element[k] >= 0) write_chunk(to.written + element[k], chunk);
    }
  }
}

/// The addition and Result::after of what this lane has written.
template <class Math, int kFragments>
__device__ __forceinline__ void change_sums(const Problem& q, const TilePlace& at, const Result& to,
                                            const int* __restrict__ places, int warp, int lane) {
  constexpr int kChunks = 2 * Warps<kFragments>::kTiles * kFragments / 4;
#pragma unroll 1
  for (int i = 0; i < kChunks; ++i) {
    const int element = chunk_element<kFragments>(q, at, places, 4 * i + lane % 4, warp, lane);
    if (element < 0) continue;
    uint4 words = read_chunk(to.written + element);
    const uint4 beside = to.beside != nullptr ? read_chunk(to.beside + element) : uint4{};
    if (to.addend != nullptr) {
      words = changed_words<Math>(words, read_chunk(to.addend + element),
                                  [](float sum, float other) { return sum + other; });
    }
    with_activation(to.after, [&]<class A>(A) {
      words = to.beside != nullptr
                  ? changed_words<Math>(words, beside, [](float dy, float x) { return A::gradient(dy, x); })
                  : changed_words<Math>(words, beside, [](float z, float) { return A::value(z); });
    });
    write_chunk(to.out + element, words);
  }
}

template <class Math, int kFragments>
__global__ void __launch_bounds__(Warps<kFragments>::kThreads, Warps<kFragments>::kBlocks)
    conv2d_patches(const __grid_constant__ Problem q, const Half* __restrict__ x, const Half* __restrict__ w,
                   const Half* __restrict__ bias, const __grid_constant__ Result to) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  using Shared = Warps<kFragments>;
  extern __shared__ __align__(128) unsigned char patches_shared[];
  const Layout layout = layout_of(q);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const mma::SharedAddress weights = mma::shared_address(patches_shared);
  const mma::SharedAddress patches = weights + static_cast<unsigned>(layout.patches);
  const auto* const biases = reinterpret_cast<const float*>(patches_shared + layout.bias);
  const auto* const offsets = reinterpret_cast<const int*>(patches_shared + layout.offsets);
  const auto* const places = reinterpret_cast<const int*>(patches_shared + layout.places);

  const auto stride = static_cast<int>(gridDim.x);
  int tile = static_cast<int>(blockIdx.x);
  copy_weights<kFragments>(q, w, weights);
  copy_patch<Shared::kCount>(q, TilePlace(q, tile), x, patches, warp, lane);
  mma::commit_copies();
  write_tables<Math, kFragments>(q, layout, bias, patches_shared);
  if (q.turned) {
    mma::wait_copies<0>();
    __syncthreads();
    transpose_weights<kFragments>(q, patches_shared, warp, lane);
  }

  unsigned offset[Shared::kTiles];
#pragma unroll
  for (int t = 0; t < Shared::kTiles; ++t) {
    const int place = place_of(q, warp * Shared::kPixels + 16 * t + lane % 16);
    offset[t] = static_cast<unsigned>(patch_offset(q, place < 0 ? 0 : place));
  }
  const bool has_pixels = warp * Shared::kPixels < q.tile_pixels();
  const auto patch_bytes = static_cast<unsigned>(q.patch_bytes());
  mma::SharedAddress patch = patches;
  for (; tile < q.tiles; tile += stride) {
    mma::wait_copies<0>();
    __syncthreads();  // this patch is there, and the other one is multiplied
    const mma::SharedAddress next = q.stages == 1 || patch != patches ? patches : patches + patch_bytes;
    const bool follows = tile + stride < q.tiles;
    if (follows && q.stages > 1) {
      copy_patch<Shared::kCount>(q, TilePlace(q, tile + stride), x, next, warp, lane);
      mma::commit_copies();
    }
    const TilePlace at(q, tile);
    if (has_pixels) {
      WarpSums<kFragments> sums;
#pragma unroll
      for (int j = 0; j < kFragments; ++j) {
        const float2 pair = *reinterpret_cast<const float2*>(biases + 8 * j + 2 * (lane % 4));
#pragma unroll
        for (int t = 0; t < Shared::kTiles; ++t) {
          sums[t][j][0] = sums[t][j][2] = pair.x;
          sums[t][j][1] = sums[t][j][3] = pair.y;
        }
      }
      mma::SharedAddress pixels[Shared::kTiles];
#pragma unroll
      for (int t = 0; t < Shared::kTiles; ++t) pixels[t] = patch + offset[t];
      multiply_steps<Math, kFragments>(sums, q.steps(), pixels, weights, offsets, lane);
      write_sums<Math, kFragments>(sums, q, at, to, places, warp, lane);
    }
    if (follows && q.stages == 1) {
      __syncthreads();
      copy_patch<Shared::kCount>(q, TilePlace(q, tile + stride), x, next, warp, lane);
      mma::commit_copies();
    }
    if (has_pixels && (to.addend != nullptr || to.after != Activation::none)) {
      change_sums<Math, kFragments>(q, at, to, places, warp, lane);
    }
    patch = next;
  }
#endif
}

template <class Math, int kFragments>
void launch_kernel(const OpCall& call, const Problem& q, const Tensors& tensors) {
  const int fill = tensor_cores::current_device().multiprocessors * resident_blocks(q);
  const int blocks = std::min(q.tiles, fill);
  auto* const out = static_cast<Half*>(tensors.out);
  const Result to{.mask = static_cast<const Half*>(tensors.mask),
                  .beside = static_cast<const Half*>(tensors.beside),
                  .addend = static_cast<const Half*>(tensors.addend),
                  .written = tensors.kept != nullptr ? static_cast<Half*>(tensors.kept) : out,
                  .out = out,
                  .relu = tensors.relu,
                  .after = tensors.after};
  const auto kernel = conv2d_patches<Math, kFragments>;
  prefer_shared_memory(call, kernel);
  run_kernel(call,
             Launch{static_cast<unsigned>(blocks), Warps<kFragments>::kThreads,
                    static_cast<std::size_t>(layout_of(q).bytes), kSharedBytes},
             kernel, q, tensors.input, tensors.weights, tensors.bias, to);
}

template <class Math>
void launch(const OpCall& call, const Problem& q, const Tensors& tensors) {
  switch (fragments_of(q.filters)) {
    case 1:
      return launch_kernel<Math, 1>(call, q, tensors);
    case 2:
      return launch_kernel<Math, 2>(call, q, tensors);
    case 3:
      return launch_kernel<Math, 3>(call, q, tensors);
    case 4:
      return launch_kernel<Math, 4>(call, q, tensors);
    case 6:
      return launch_kernel<Math, 6>(call, q, tensors);
    default:
      return launch_kernel<Math, 8>(call, q, tensors);
  }
}

}  // namespace warpscope::ops::conv2d::patches
