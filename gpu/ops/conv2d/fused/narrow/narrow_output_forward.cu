// conv2d.forward for an upsampled input and few output channels: on tensor cores, x read and the result
// written once.
//
//   y[2i + p, 2j + q, o] = bias[o] + sum over (di, dj, c) of x[i + di, j + dj, c] * ws[di, p; dj, q; o, c]
//
// where ws sums the taps with which the output of parity (p, q) meets the pixel: nothing is upsampled. The
// product has the pixels as rows and (q, o) as columns, eight for each p; p meets two of the three di, so
// four products of 16 by 8 serve one read of 16 pixels and 16 channels: those of row i go to the outputs of
// rows i - 1, i and i + 1.
//
// A block takes tiles of 16x16 pixels in turn; 32 channels at a time of a tile and its border come by
// asynchronous copies, three deep across tiles, and are read once for each dj. Its eight warps are four rows
// of pixels by 16 of the channels; the two halves are added at the end. Each block makes ws in shared memory.
//
// Where dj does not meet a parity q its weights are zero: a number of x that is not finite makes the outputs
// of the pixels left and right of it NaN in both parities.
//
// Limits: compute capability 8.0; at most 256 input channels; small images fill a part of the tile. Two
// blocks of 256 threads a multiprocessor, 109 KB of shared memory (89 KB, with two stages, where a block
// cannot have that), at most 126 registers, none spilled.
// Source: W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?" (2016), for the sums
// of taps.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/narrow/narrow.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_patch.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_summed.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_tf32.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::narrow {
namespace {

inline constexpr int kThreads = 256;
inline constexpr int kBlocks = 2;  // of a multiprocessor
inline constexpr int kMostStages = 3;
inline constexpr int kSide = 16;             // pixels of a tile
inline constexpr int kHaloSide = kSide + 2;  // and with its border
inline constexpr int kSlab = 32;             // channels of a stage
inline constexpr int kPixelBytes = 2 * kSlab;
inline constexpr int kRowBytes = kHaloSide * kPixelBytes;
inline constexpr int kStageBytes = kHaloSide * kRowBytes;
inline constexpr int kChunks = kHaloSide * kHaloSide * kSlab / 8;  // of 16 bytes, of a stage
inline constexpr int kCopies = (kChunks + kThreads - 1) / kThreads;
inline constexpr int kRows = 4;             // of pixels, of a warp
inline constexpr int kFragments = 4;        // of weights, for each dj and 16 channels
inline constexpr int kFragmentBytes = 256;  // 8 columns by 16 channels
inline constexpr int kMostChannels = 256;
inline constexpr int kSlabWeightBytes = kSlab / 16 * 3 * kFragments * kFragmentBytes;
inline constexpr int kWeightBytes = kMostChannels / kSlab * kSlabWeightBytes;
inline constexpr int kSumStride = 18;  // floats of a pixel's 16 sums
static_assert(kSide * kSide * kSumStride * 4 <= kStageBytes);
// Eight pixels in a row then lie in different banks whatever the row (place_of_chunk).
static_assert(kRowBytes % 128 == 0);

constexpr int shared_bytes(int stages) {
  return stages * kStageBytes + kWeightBytes;
}

struct ForwardProblem {
  int height;  ///< of x
  int width;
  int channels;
  int across;  ///< tiles of an image
  int down;
  int count;
  int slabs;
  bool relu;
};

struct Place {
  int image;
  int row;
  int column;
};

__device__ __forceinline__ Place tile_place(const ForwardProblem& q, int tile) {
  const int line = tile / q.across;
  const int image = line / q.down;
  return {image, (line - image * q.down) * kSide, (tile - line * q.across) * kSide};
}

/// The taps with which an output of `parity` meets the pixel `shift` away from its own; none if first > last.
__device__ __forceinline__ TapRange taps_of(int parity, int shift) {
  return {max(0, 2 * shift + 1 - parity), min(2, 2 * shift + 2 - parity)};
}

/// Makes the summed weights: for each 16 channels and dj the fragments (di, p) = (-1, 0), (0, 0), (0, 1), (1,
/// 1), each two matrices of 8 columns (q, o) by 8 channels.
template <class Math, int kNarrow>
__device__ __forceinline__ void sum_weights(unsigned char* shared, const Half* __restrict__ w,
                                            const ForwardProblem& q) {
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < q.slabs * kSlabWeightBytes / 16; i += kThreads) {
    const int column = i % 8;
    const int fragment = i / 16 % kFragments;
    const int dj = i / (16 * kFragments) % 3 - 1;
    const int channel = i / (16 * kFragments * 3) * 16 + i / 8 % 2 * 8;
    const int di = fragment == 0 ? -1 : fragment == 3 ? 1 : 0;
    unsigned words[4] = {};
    if (column < 2 * kNarrow && channel < q.channels) {
      sum_taps<Math>(words, w, column % kNarrow, taps_of(fragment / 2, di), taps_of(column / kNarrow, dj),
                     q.channels, channel);
    }
    *reinterpret_cast<uint4*>(shared + 16 * i) = uint4{words[0], words[1], words[2], words[3]};
  }
}

/// Where a chunk of 8 channels of a pixel lies in a stage: chunks change places so that the same chunk of
/// eight pixels in a row is in different banks.
__device__ __forceinline__ unsigned place_of_chunk(int row, int column, int chunk) {
  return static_cast<unsigned>(row * kRowBytes + column * kPixelBytes + ((chunk ^ (column / 2 % 4)) * 16));
}

/// A thread's copies of the stages: those of one tile after another, slab after slab.
struct Copies {
  const Half* image;
  int elements[kCopies];  ///< from `image`; negative if outside
  unsigned places[kCopies];
  int tile;
  int slab = 0;

  __device__ __forceinline__ Copies(const ForwardProblem& q, const Half* __restrict__ x, int first_tile)
      : tile(first_tile) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int pixel = (static_cast<int>(threadIdx.x) + i * kThreads) / 4;
      places[i] = place_of_chunk(pixel / kHaloSide, pixel % kHaloSide, static_cast<int>(threadIdx.x) % 4);
    }
    find(q, x);
  }
  /// Finds the elements of `tile`.
  __device__ __forceinline__ void find(const ForwardProblem& q, const Half* __restrict__ x) {
    const Place at = tile_place(q, tile);
    image = x + static_cast<std::int64_t>(at.image) * q.height * q.width * q.channels;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int pixel = (static_cast<int>(threadIdx.x) + i * kThreads) / 4;
      const int row = at.row - 1 + pixel / kHaloSide;
      const int column = at.column - 1 + pixel % kHaloSide;
      const bool exists = row >= 0 && row < q.height && column >= 0 && column < q.width;
      elements[i] =
          exists ? (row * q.width + column) * q.channels + static_cast<int>(threadIdx.x) % 4 * 8 : -1;
    }
  }
  /// Starts the copies of the next stage, if there is one.
  __device__ __forceinline__ void start(const ForwardProblem& q, const Half* __restrict__ x,
                                        mma::SharedAddress stage) {
    if (tile < q.count) {
      const int channel = slab * kSlab;
      const bool in_channels = channel + static_cast<int>(threadIdx.x) % 4 * 8 < q.channels;
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        if ((i + 1) * kThreads > kChunks && static_cast<int>(threadIdx.x) + i * kThreads >= kChunks) continue;
        const bool exists = in_channels && elements[i] >= 0;
        mma::copy_async(stage + places[i], image + (exists ? elements[i] + channel : 0), exists);
      }
      if (++slab == q.slabs) {
        slab = 0;
        tile += static_cast<int>(gridDim.x);
        if (tile < q.count) find(q, x);
      }
    }
    mma::commit_copies();
  }
};

/// A warp's results: rows of 16 pixels, p.
using Sums = float[kRows][2][4];

/// Multiplies 16 channels of a stage; `reads` are the places of the lane's part of the warp's first row for
/// each dj, `weights` those of the 16 channels.
template <class Math>
__device__ __forceinline__ void multiply_stage(Sums& sums, mma::SharedAddress stage,
                                               const unsigned (&reads)[3], mma::SharedAddress weights) {
#pragma unroll
  for (int dj = 0; dj < 3; ++dj) {
    unsigned b[kFragments][2];
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      unsigned matrices[4];
      mma::load_matrices(matrices,
                         weights + static_cast<unsigned>((dj * kFragments + 2 * pair) * kFragmentBytes));
      b[2 * pair][0] = matrices[0];
      b[2 * pair][1] = matrices[1];
      b[2 * pair + 1][0] = matrices[2];
      b[2 * pair + 1][1] = matrices[3];
    }
#pragma unroll
    for (int row = 0; row < kRows + 2; ++row) {  // of pixels, from the one above the warp's first
      unsigned a[4];
      mma::load_matrices(a, stage + reads[dj] + static_cast<unsigned>(row * kRowBytes));
      if (row < kRows) mma::multiply_add(Math{}, sums[row][0], a, b[0]);
      if (row >= 1 && row <= kRows) {
        mma::multiply_add(Math{}, sums[row - 1][0], a, b[1]);
        mma::multiply_add(Math{}, sums[row - 1][1], a, b[2]);
      }
      if (row >= 2) mma::multiply_add(Math{}, sums[row - 2][1], a, b[3]);
    }
  }
}

/// Adds the sums of the two halves of the channels in `shared`, 16 a pixel. Has barriers.
__device__ __forceinline__ void add_halves(const Sums& sums, float* shared, int warp, int lane) {
#pragma unroll
  for (int half = 1; half >= 0; --half) {
    __syncthreads();
    if (warp % 2 != half) continue;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int p = 0; p < 2; ++p) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int pixel = (warp / 2 * kRows + row) * kSide + lane / 4 + 8 * (e / 2);
          float& sum = shared[pixel * kSumStride + 8 * p + 2 * (lane % 4) + e % 2];
          sum = half == 1 ? sums[row][p][e] : sum + sums[row][p][e];
        }
      }
    }
  }
  __syncthreads();
}

/// Writes a tile's outputs, two elements at a time: of an output row, a pixel of x has 2 kNarrow, (q, o).
template <class Math, int kNarrow>
__device__ __forceinline__ void write_tile(const float* shared, const ForwardProblem& q, int tile,
                                           const Half* __restrict__ bias, Half* __restrict__ y) {
  const Place at = tile_place(q, tile);
  auto* words = reinterpret_cast<unsigned*>(y);
  constexpr int kRowWords = kSide * kNarrow;
  for (int i = static_cast<int>(threadIdx.x); i < 2 * kSide * kRowWords; i += kThreads) {
    const int row = i / kRowWords;  // of outputs
    const int word = i % kRowWords;
    const int column = word / kNarrow;  // of pixels
    if (at.row + row / 2 >= q.height || at.column + column >= q.width) continue;
    const int first = word % kNarrow * 2;
    const float* sums = shared + (row / 2 * kSide + column) * kSumStride + row % 2 * 8 + first;
    float values[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const float z = sums[e] + mma::widen(Math{}, bias[(first + e) % kNarrow]);
      values[e] = q.relu && z < 0.0f ? 0.0f : z;
    }
    const std::int64_t line = static_cast<std::int64_t>(at.image) * 2 * q.height + 2 * at.row + row;
    words[(line * q.width + at.column) * kNarrow + word] = mma::narrow_pair(Math{}, values[0], values[1]);
  }
}

template <class Math, int kNarrow, int kStages>
__global__ void __launch_bounds__(kThreads, kBlocks)
    narrow_output_forward(const __grid_constant__ ForwardProblem q, const Half* __restrict__ x,
                          const Half* __restrict__ w, const Half* __restrict__ bias, Half* __restrict__ y) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  const mma::SharedAddress stages = mma::shared_address(shared);
  const mma::SharedAddress end = stages + kStages * kStageBytes;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  int tile = static_cast<int>(blockIdx.x);
  Copies copies(q, x, tile);
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) copies.start(q, x, stages + stage * kStageBytes);
  sum_weights<Math, kNarrow>(shared + kStages * kStageBytes, w, q);

  unsigned reads[3];
#pragma unroll
  for (int dj = 0; dj < 3; ++dj)
    reads[dj] = place_of_chunk(warp / 2 * kRows, lane % 16 + dj, warp % 2 * 2 + lane / 16);
  const mma::SharedAddress weights = end + static_cast<unsigned>(warp % 2 * kSlabWeightBytes / 2 + lane * 16);
  unsigned read = 0;
  unsigned write = (kStages - 1) * kStageBytes;
  for (; tile < q.count; tile += static_cast<int>(gridDim.x)) {
    Sums sums = {};
    for (int slab = 0; slab < q.slabs; ++slab) {
      mma::wait_copies<kStages - 2>();
      __syncthreads();  // the stage is complete, and all are done with the one before, which is filled next
      copies.start(q, x, stages + write);
      multiply_stage<Math>(sums, stages + read, reads,
                           weights + static_cast<unsigned>(slab * kSlabWeightBytes));
      write = read;
      read += kStageBytes;
      if (read == kStages * kStageBytes) read = 0;
    }
    // The last stage is not filled again before the next barrier.
    auto* scratch = reinterpret_cast<float*>(shared + write);
    add_halves(sums, scratch, warp, lane);
    write_tile<Math, kNarrow>(scratch, q, tile, bias, y);
  }
#endif
}

int tiles_along(int pixels) {
  return (pixels + kSide - 1) / kSide;
}

template <class Math, int kNarrow, int kStages>
void launch_stages(const ChainCall& call, const ForwardProblem& q) {
  run_kernel(call, "narrow_output", {persistent_blocks(q.count, kBlocks), kThreads, shared_bytes(kStages)},
             narrow_output_forward<Math, kNarrow, kStages>, q, Name::input, Name::weights, Name::bias,
             Name::output);
}

template <class Math, int kNarrow>
void launch_kernel(const ChainCall& call) {
  const ChainShape& s = call.shape;
  ForwardProblem q{s.height, s.width, s.in_channels, tiles_along(s.width), tiles_along(s.height),
                   0,        0,       s.relu};
  q.count = static_cast<int>(s.batch) * q.across * q.down;
  q.slabs = (s.in_channels + kSlab - 1) / kSlab;
  const bool deep = conv2d::tensor_cores::current_device().shared_bytes >= shared_bytes(kMostStages);
  deep ? launch_stages<Math, kNarrow, kMostStages>(call, q)
       : launch_stages<Math, kNarrow, kMostStages - 1>(call, q);
}

}  // namespace

namespace output_forward {

bool takes(const ChainShape& s) {
  return takes_layer(s, s.out_channels, s.in_channels, s.height, s.width) && s.upsample && !s.pool &&
         s.in_channels <= kMostChannels;
}

void launch(const ChainCall& call) {
  if (call.precision == core::Precision::tf32) {
    tf32::launch_output_forward(call);
  } else {
    mma::with_16_bits(call.precision, [&](auto math) {
      with_narrow(call.shape.out_channels,
                  [&](auto narrow) { launch_kernel<decltype(math), decltype(narrow)::value>(call); });
    });
  }
}

}  // namespace output_forward
}  // namespace warpscope::ops::conv2d::fused::narrow
