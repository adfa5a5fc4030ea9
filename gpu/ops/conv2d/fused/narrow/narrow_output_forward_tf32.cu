// conv2d.forward for an upsampled input and few output channels, in TF32: on tensor cores, x read and the
// result written once.
//
//   part[pixel, (u, v, o)] = sum over c of x[pixel, c] * ws[(u, v, o), c]     (u, v) in 4x4
//   y[2i + p, 2j + q, o]   = bias[o] + the sum of the four parts whose (u, v) is this output
//
// Output (2i - 1 + u, 2j - 1 + v) is one of the 4x4 around the 2x2 of pixel (i, j); ws sums the taps with
// which it meets the pixel: nothing is upsampled. So each element of x is read from shared memory and rounded
// once. (narrow_output_forward.cu reads it for each column of taps, which spares the second sum.)
//
// A block takes tiles of 16x16 pixels in turn, 16 channels at a time by asynchronous copies, four deep across
// tiles; each of its eight warps has two rows of pixels. In images larger than a tile, tiles overlap by two
// pixels, as outputs at their borders lack parts. The second sum is done in shared memory, in four rounds: in
// each an output gets one part, so that the order is fixed. Each block makes ws in shared memory.
//
// Limits: compute capability 8.0; at most 256 input channels; small images fill a part of the tile. Two
// blocks of 256 threads a multiprocessor (one for 4 channels), 112 KB of shared memory for 3 channels, 128
// registers (174 for 4 channels), none spilled.
// Source: W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?" (2016), for the sums
// of taps; V. Dumoulin and F. Visin, "A guide to convolution arithmetic for deep learning" (2016), for the
// parts.

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/general/fused_tf32.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_summed.cuh"
#include "gpu/ops/conv2d/fused/narrow/narrow_tf32.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::narrow::tf32 {
namespace {

inline constexpr int kThreads = 256;
inline constexpr int kStages = 4;
inline constexpr int kSide = 16;  // pixels of a tile
inline constexpr int kSlab = 16;  // channels of a stage
inline constexpr int kPixelBytes = 4 * kSlab;
inline constexpr int kStageBytes = kSide * kSide * kPixelBytes;
inline constexpr int kCopies = kStageBytes / 16 / kThreads;
inline constexpr int kRows = 2;             // of pixels, of a warp
inline constexpr int kFragmentBytes = 256;  // 8 columns by 8 channels
inline constexpr int kMostChannels = 256;

template <int kNarrow>
struct Layout {
  static constexpr int fragments = 2 * kNarrow;  // the columns (u, v, o), in eights
  static constexpr int slab_weights = kSlab / 8 * fragments * kFragmentBytes;
  static constexpr int weights = kStages * kStageBytes;  // where they begin, after the stages
  static constexpr int bytes = weights + kMostChannels / kSlab * slab_weights;
  static constexpr int blocks = kNarrow < 4 ? 2 : 1;  // of a multiprocessor
  static constexpr int line = 2 * kSide * kNarrow;    // elements of a row of a tile's outputs
  static_assert(2 * kSide * line * 4 <= kStageBytes);
};

/// Tiles along one side of the image: one, or as many as there are with a border of one pixel that is another
/// tile's.
struct Side {
  int pixels;
  int tiles;

  __device__ __forceinline__ int border() const { return tiles > 1 ? 1 : 0; }
  __device__ __forceinline__ int first(int tile) const { return tile * (kSide - 2) - border(); }
};

struct ForwardProblem {
  Side rows;
  Side columns;
  int channels;
  int count;  ///< tiles of all images
  int slabs;
  bool relu;
};

struct Place {
  int image;
  int row;
  int column;
};

__device__ __forceinline__ Place tile_place(const ForwardProblem& q, int tile) {
  const int line = tile / q.columns.tiles;
  const int image = line / q.rows.tiles;
  return {image, q.rows.first(line - image * q.rows.tiles), q.columns.first(tile - line * q.columns.tiles)};
}

/// What a column of the product is: the columns of round r = 2a + b have u in {2a, 2a + 1}, v in {2b, 2b +
/// 1}.
template <int kNarrow>
struct Column {
  int round;
  int u;
  int v;
  int o;

  __device__ __forceinline__ explicit Column(int column)
      : round(column / (4 * kNarrow)),
        u(round / 2 * 2 + column % (4 * kNarrow) / (2 * kNarrow)),
        v(round % 2 * 2 + column % (2 * kNarrow) / kNarrow),
        o(column % kNarrow) {}
};

/// Makes the summed weights: for each 8 channels the fragments, each two matrices of 8 columns by 4 channels.
template <int kNarrow>
__device__ __forceinline__ void sum_weights(mma::SharedAddress weights, const Single* __restrict__ w,
                                            const ForwardProblem& q) {
  constexpr int kFragments = Layout<kNarrow>::fragments;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < q.slabs * Layout<kNarrow>::slab_weights / 16;
       i += kThreads) {
    const Column<kNarrow> column(i / 16 % kFragments * 8 + i % 8);
    const int channel = i / (16 * kFragments) * 8 + i / 8 % 2 * 4;
    unsigned words[4] = {};
    if (channel < q.channels)
      sum_taps(words, w, column.o, taps_at(column.u), taps_at(column.v), q.channels, channel);
    mma::store_chunk(weights + static_cast<unsigned>(16 * i), words);
  }
}

/// Where a chunk of 4 channels of a pixel lies in a stage: chunks change places so that the same chunk of
/// eight pixels in a row is in different banks.
__device__ __forceinline__ unsigned place_of_chunk(int row, int column, int chunk) {
  return static_cast<unsigned>((row * kSide + column) * kPixelBytes + ((chunk ^ (column / 2 % 4)) * 16));
}

/// A thread's copies of the stages: those of one tile after another, slab after slab.
struct Copies {
  const Single* first;  ///< the thread's element of the tile's first row
  unsigned exist;       ///< bit i: copy i's pixel is in the image
  int tile;
  int slab = 0;

  static constexpr int rows_apart = kSide / kCopies;  // of a thread's pixels

  static __device__ __forceinline__ int chunk() { return static_cast<int>(threadIdx.x) % 4; }
  static __device__ __forceinline__ int column() { return static_cast<int>(threadIdx.x) / 4 % kSide; }
  static __device__ __forceinline__ int row() { return static_cast<int>(threadIdx.x) / (4 * kSide); }

  __device__ __forceinline__ Copies(const ForwardProblem& q, const Single* __restrict__ x, int first_tile)
      : tile(first_tile) {
    find(q, x);
  }
  /// Finds the pixels of `tile`.
  __device__ __forceinline__ void find(const ForwardProblem& q, const Single* __restrict__ x) {
    const Place at = tile_place(q, tile);
    const int in_row = at.column + column();
    const bool column_exists = in_row >= 0 && in_row < q.columns.pixels;
    exist = 0;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int in_image = at.row + row() + i * rows_apart;
      if (column_exists && in_image >= 0 && in_image < q.rows.pixels) exist |= 1u << i;
    }
    const std::int64_t line = static_cast<std::int64_t>(at.image) * q.rows.pixels + at.row + row();
    first = x + (line * q.columns.pixels + in_row) * q.channels + 4 * chunk();
  }
  /// Starts the copies of the next stage, if there is one; `any` is an address that can be read.
  __device__ __forceinline__ void start(const ForwardProblem& q, const Single* __restrict__ any,
                                        mma::SharedAddress stage) {
    if (tile < q.count) {
      const bool in_channels = slab * kSlab + 4 * chunk() < q.channels;
      const int apart = rows_apart * q.columns.pixels * q.channels;
      const mma::SharedAddress to = stage + place_of_chunk(row(), column(), chunk());
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        const bool exists = in_channels && (exist >> i & 1u) != 0;
        mma::copy_async(to + static_cast<unsigned>(i * rows_apart * kSide * kPixelBytes),
                        exists ? first + (i * apart + slab * kSlab) : any, exists);
      }
      if (++slab == q.slabs) {
        slab = 0;
        tile += static_cast<int>(gridDim.x);
        if (tile < q.count) find(q, any);
      }
    }
    mma::commit_copies();
  }
};

/// A warp's results: rows of 16 pixels.
template <int kNarrow>
using Sums = float[kRows][Layout<kNarrow>::fragments][4];

/// Multiplies a stage; `pixels` and `weights` are the lane's parts of it.
template <int kNarrow>
__device__ __forceinline__ void multiply_stage(Sums<kNarrow>& sums, mma::SharedAddress stage,
                                               const unsigned (&pixels)[kSlab / 8],
                                               mma::SharedAddress weights) {
  constexpr int kFragments = Layout<kNarrow>::fragments;
#pragma unroll
  for (int step = 0; step < kSlab / 8; ++step) {
    unsigned a[kRows][4];
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      mma::load_matrices(a[row], stage + pixels[step] + static_cast<unsigned>(row * kSide * kPixelBytes));
#pragma unroll
      for (unsigned& word : a[row]) word = general::tensor::rounded(word);
    }
#pragma unroll
    for (int j = 0; j < kFragments; j += 2) {
      unsigned matrices[4];
      mma::load_matrices(matrices, weights + static_cast<unsigned>((step * kFragments + j) * kFragmentBytes));
      const unsigned b[2][2] = {{matrices[0], matrices[1]}, {matrices[2], matrices[3]}};
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        mma::multiply_add(mma::Tf32{}, sums[row][j], a[row], b[0]);
        mma::multiply_add(mma::Tf32{}, sums[row][j + 1], a[row], b[1]);
      }
    }
  }
}

/// Adds the parts up to the tile's outputs, (row, column, o), but for outputs outside the tile. Has barriers.
template <int kNarrow>
__device__ __forceinline__ void add_parts(const Sums<kNarrow>& sums, float* shared, int warp, int lane) {
  constexpr int kLine = Layout<kNarrow>::line;
  for (int i = static_cast<int>(threadIdx.x); i < 2 * kSide * kLine; i += kThreads) shared[i] = 0.0f;
#pragma unroll
  for (int round = 0; round < 4; ++round) {
    __syncthreads();
    constexpr int kColumns = 4 * kNarrow;  // of a round
#pragma unroll
    for (int j = round * kColumns / 8; j < (round * kColumns + kColumns + 7) / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const Column<kNarrow> column(8 * j + 2 * (lane % 4) + e);
        if (column.round != round) continue;
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
#pragma unroll
          for (int right = 0; right < 2; ++right) {
            const int y = 2 * (warp * kRows + row) - 1 + column.u;
            const int x = 2 * (lane / 4 + 8 * right) - 1 + column.v;
            if (y < 0 || y >= 2 * kSide || x < 0 || x >= 2 * kSide) continue;
            shared[y * kLine + x * kNarrow + column.o] += sums[row][j][2 * right + e];
          }
        }
      }
    }
  }
  __syncthreads();
}

/// Writes the outputs of the tile's own pixels, two elements at a time.
template <int kNarrow>
__device__ __forceinline__ void write_tile(const float* shared, const ForwardProblem& q, int tile,
                                           const float* __restrict__ bias, float* __restrict__ y) {
  constexpr int kPairs = Layout<kNarrow>::line / 2;
  const Place at = tile_place(q, tile);
  const int top = q.rows.border();
  const int left = q.columns.border();
  const int rows = min(kSide - top, q.rows.pixels - at.row);  // where those that are its own and exist end
  const int columns = min(kSide - left, q.columns.pixels - at.column);
  for (int i = static_cast<int>(threadIdx.x); i < 2 * kSide * kPairs; i += kThreads) {
    const int row = i / kPairs;  // of outputs
    const int pair = i % kPairs;
    const int column = pair / kNarrow;  // of pixels
    if (row / 2 < top || row / 2 >= rows || column < left || column >= columns) continue;
    float values[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const float z = shared[row * Layout<kNarrow>::line + 2 * pair + e] + bias[(2 * pair + e) % kNarrow];
      values[e] = q.relu && z < 0.0f ? 0.0f : z;
    }
    const std::int64_t line = (static_cast<std::int64_t>(at.image) * q.rows.pixels + at.row) * 2 + row;
    const std::int64_t first = (line * q.columns.pixels + at.column) * (2 * kNarrow);
    *reinterpret_cast<float2*>(y + first + 2 * pair) = float2{values[0], values[1]};
  }
}

template <int kNarrow>
__global__ void __launch_bounds__(kThreads, Layout<kNarrow>::blocks)
    narrow_output_forward_tf32(const __grid_constant__ ForwardProblem q, const Single* __restrict__ x,
                               const Single* __restrict__ w, const float* __restrict__ bias,
                               float* __restrict__ y) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using L = Layout<kNarrow>;
  const mma::SharedAddress stages = mma::shared_address(shared);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  int tile = static_cast<int>(blockIdx.x);
  Copies copies(q, x, tile);
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) copies.start(q, x, stages + stage * kStageBytes);
  sum_weights<kNarrow>(stages + L::weights, w, q);

  unsigned pixels[kSlab / 8];
#pragma unroll
  for (int step = 0; step < kSlab / 8; ++step)
    pixels[step] = place_of_chunk(warp * kRows, lane % 16, 2 * step + lane / 16);
  const mma::SharedAddress weights = stages + static_cast<unsigned>(L::weights + lane * 16);
  unsigned read = 0;
  unsigned write = (kStages - 1) * kStageBytes;
  for (; tile < q.count; tile += static_cast<int>(gridDim.x)) {
    Sums<kNarrow> sums = {};
    for (int slab = 0; slab < q.slabs; ++slab) {
      mma::wait_copies<kStages - 2>();
      __syncthreads();  // the stage is complete, and all are done with the one before, which is filled next
      copies.start(q, x, stages + write);
      multiply_stage<kNarrow>(sums, stages + read, pixels,
                              weights + static_cast<unsigned>(slab * L::slab_weights));
      write = read;
      read += kStageBytes;
      if (read == kStages * kStageBytes) read = 0;
    }
    __syncthreads();  // the last stage, which is not filled again before the next barrier, is the scratch
    auto* scratch = reinterpret_cast<float*>(shared + write);
    add_parts<kNarrow>(sums, scratch, warp, lane);
    write_tile<kNarrow>(scratch, q, tile, bias, y);
  }
#endif
}

Side side_of(int pixels) {
  return {pixels, pixels <= kSide ? 1 : (pixels + kSide - 3) / (kSide - 2)};
}

template <int kNarrow>
void launch_kernel(const ChainCall& call) {
  const ChainShape& s = call.shape;
  ForwardProblem q{side_of(s.height), side_of(s.width), s.in_channels, 0, 0, s.relu};
  q.count = static_cast<int>(s.batch) * q.rows.tiles * q.columns.tiles;
  q.slabs = (s.in_channels + kSlab - 1) / kSlab;
  constexpr int kShared = Layout<kNarrow>::bytes;
  run_kernel(call, "narrow_output", {persistent_blocks(q.count, Layout<kNarrow>::blocks), kThreads, kShared},
             narrow_output_forward_tf32<kNarrow>, q, Name::input, Name::weights, Name::bias, Name::output);
}

}  // namespace

void launch_output_forward(const ChainCall& call) {
  with_narrow(call.shape.out_channels, [&](auto narrow) { launch_kernel<decltype(narrow)::value>(call); });
}

}  // namespace warpscope::ops::conv2d::fused::narrow::tf32
