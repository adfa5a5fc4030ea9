// Squared distances of rows that are split into two FP16 numbers (split_rows.h): a tile of 128 x 128 a block, on
// tensor cores. For each 16 columns three products, high high, high low and low high, go to one set of FP32 sums,
// so that each operand is fetched once for all three. Tensor cores cut off what does not fit a sum instead of
// rounding it, which would add up over thousands of products; so every 256 columns the sums go to a second set, by
// ordinary additions.
//
// Squares of rows come from the same products, of the tiles on the diagonal.
//
// Rows are fetched asynchronously, four slabs of 32 columns deep; chunk c of row r lies at place c ^ (r % 8), so that
// neither the copies nor ldmatrix meet in a bank. Neighbouring blocks have tiles of one square of 12 x 12, whose rows
// stay in the L2 cache.
//
// Source: NVIDIA, "CUTLASS: efficient GEMM in CUDA" for the order of tiles; H. Ootomo, R. Yokota, "Recovering single
// precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance" (2022) for split
// operands and for sums outside of the tensor cores.

#include "gpu/classifiers/rbf_svm/rbf_kernels.h"
#include "gpu/classifiers/rbf_svm/split_rows.h"
#include "gpu/core/cuda.h"
#include "gpu/ops/mma.cuh"

namespace warpscope::classifiers::rbf {
namespace {

namespace mma = ops::mma;

constexpr int kDistanceThreads = 256;
constexpr int kTile = 128;
constexpr int kSquare = 12;  // tiles along a side of what neighbouring blocks work on
constexpr int kStages = 4;
constexpr int kRowBytes = kSlabHalves * 2;
constexpr int kSideBytes = kTile * kRowBytes;
constexpr int kStageBytes = 2 * kSideBytes;
constexpr int kSlabsOfSum = 8;  // after so many slabs the sums move
constexpr int kWarpRows = 64;
constexpr int kWarpColumns = 32;
constexpr int kRowParts = kWarpRows / 16;
constexpr int kColumnParts = kWarpColumns / 8;
constexpr int kRowsOfThread = kTile * 8 / kDistanceThreads;  // of each side, in a slab: one chunk of each

int tiles_of(int rows) {
  return (rows + kTile - 1) / kTile;
}

struct TilePlace {
  int row;
  int column;
};

/// The tile of a block. Squares of tiles come one after the other; of a symmetric matrix those on and below the
/// diagonal.
__device__ TilePlace place_of(std::int64_t block, int column_tiles, bool symmetric) {
  const int inside = static_cast<int>(block % (kSquare * kSquare));
  const std::int64_t square = block / (kSquare * kSquare);
  int p, q;
  if (symmetric) {
    p = static_cast<int>((sqrt(8.0 * static_cast<double>(square) + 1.0) - 1.0) / 2.0);
    while (static_cast<std::int64_t>(p + 1) * (p + 2) / 2 <= square) ++p;
    while (static_cast<std::int64_t>(p) * (p + 1) / 2 > square) --p;
    q = static_cast<int>(square - static_cast<std::int64_t>(p) * (p + 1) / 2);
  } else {
    const int across = (column_tiles + kSquare - 1) / kSquare;
    p = static_cast<int>(square / across);
    q = static_cast<int>(square % across);
  }
  return {p * kSquare + inside % kSquare, q * kSquare + inside / kSquare};
}

__device__ std::int64_t place_in(const Side& side, int row) {
  const int at = min(row, side.count - 1);
  return side.rows == nullptr ? side.first + at : side.rows[at];
}

using Sums = float[kRowParts][kColumnParts][4];

/// One slab: both halves of 16 columns, all three products.
__device__ __forceinline__ void multiply_slab(mma::SharedAddress a_tile, mma::SharedAddress b_tile,
                                              int warp_row, int warp_column, Sums& sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int a_row = warp_row + lane % 16;
  const int a_chunk = lane / 16;
  const int b_row = warp_column + lane % 8 + lane / 16 * 8;
  const int b_chunk = lane / 8 % 2;
  const int turn = lane % 8;  // of both rows: bases are multiples of 8
  const mma::SharedAddress a_line = a_tile + a_row * kRowBytes;
  const mma::SharedAddress b_line = b_tile + b_row * kRowBytes;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    unsigned a[kRowParts][4];
    unsigned b[kColumnParts / 2][4];
    unsigned low[kColumnParts / 2][4];
#pragma unroll
    for (int m = 0; m < kRowParts; ++m) {
      mma::load_matrices(a[m], a_line + m * 16 * kRowBytes + (((2 * half + a_chunk) ^ turn) << 4));
    }
#pragma unroll
    for (int n = 0; n < kColumnParts / 2; ++n) {
      mma::load_matrices(b[n], b_line + n * 16 * kRowBytes + (((2 * half + b_chunk) ^ turn) << 4));
      mma::load_matrices(low[n], b_line + n * 16 * kRowBytes + (((4 + 2 * half + b_chunk) ^ turn) << 4));
    }
#pragma unroll
    for (int m = 0; m < kRowParts; ++m) {
#pragma unroll
      for (int n = 0; n < kColumnParts; ++n) {
        const unsigned low_b[2] = {low[n / 2][n % 2 * 2], low[n / 2][n % 2 * 2 + 1]};
        mma::multiply_add(mma::Fp16{}, sums[m][n], a[m], low_b);
      }
    }
#pragma unroll
    for (int m = 0; m < kRowParts; ++m) {
#pragma unroll
      for (int n = 0; n < kColumnParts; ++n) {
        const unsigned high_b[2] = {b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]};
        mma::multiply_add(mma::Fp16{}, sums[m][n], a[m], high_b);
      }
    }
#pragma unroll
    for (int m = 0; m < kRowParts; ++m) {
      mma::load_matrices(a[m], a_line + m * 16 * kRowBytes + (((4 + 2 * half + a_chunk) ^ turn) << 4));
    }
#pragma unroll
    for (int m = 0; m < kRowParts; ++m) {
#pragma unroll
      for (int n = 0; n < kColumnParts; ++n) {
        const unsigned high_b[2] = {b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]};
        mma::multiply_add(mma::Fp16{}, sums[m][n], a[m], high_b);
      }
    }
  }
}

__device__ __forceinline__ void move_sums(Sums& from, Sums& to) {
#pragma unroll
  for (int m = 0; m < kRowParts; ++m) {
#pragma unroll
    for (int n = 0; n < kColumnParts; ++n) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        to[m][n][k] += from[m][n][k];
        from[m][n][k] = 0.0f;
      }
    }
  }
}

/// Writes one distance, and of a symmetric matrix its mirror image.
__device__ __forceinline__ void store(const DistanceCall& call, int row, int column, float a_norm,
                                      float b_norm, float dot) {
  if (row >= call.a.count || column >= call.b.count) return;
  // NaN, where both are infinite, becomes the largest number too.
  float distance = a_norm + b_norm - call.dot_factor * dot;
  distance = distance <= 1e38f ? fmaxf(distance, 0.0f) : 1e38f;
  if (!call.symmetric) {
    call.result[row * call.pitch + column] = distance;
    return;
  }
  if (row < column) return;
  if (row == column) distance = 0.0f;
  call.result[row * call.pitch + column] = distance;
  call.result[column * call.pitch + row] = distance;
}

__device__ __forceinline__ float norm_of(const Side& side, int row) {
  return side.norms[place_in(side, row)];
}

__device__ __forceinline__ void store_tile(const DistanceCall& call, int first_row, int first_column,
                                           const Sums& sums) {
  const int group = static_cast<int>(threadIdx.x) % 32 / 4;
  const int member = static_cast<int>(threadIdx.x) % 4;
  float b_norms[kColumnParts][2];
#pragma unroll
  for (int n = 0; n < kColumnParts; ++n) {
#pragma unroll
    for (int k = 0; k < 2; ++k) b_norms[n][k] = norm_of(call.b, first_column + 8 * n + 2 * member + k);
  }
#pragma unroll
  for (int m = 0; m < kRowParts; ++m) {
#pragma unroll
    for (int lower = 0; lower < 2; ++lower) {
      const int row = first_row + 16 * m + 8 * lower + group;
      const float a_norm = norm_of(call.a, row);
#pragma unroll
      for (int n = 0; n < kColumnParts; ++n) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          store(call, row, first_column + 8 * n + 2 * member + k, a_norm, b_norms[n][k],
                sums[m][n][2 * lower + k]);
        }
      }
    }
  }
}

/// Where a warp's part of a tile begins.
__device__ __forceinline__ TilePlace warp_place() {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  return {warp / 4 * kWarpRows, warp % 4 * kWarpColumns};
}

/// Adds the products of the rows of a tile to `total`. `row` and `column`: the tile's first.
__device__ __forceinline__ void multiply_tile(const Side& a, const Side& b, int slabs, int row, int column,
                                              Sums& total) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const mma::SharedAddress stages = mma::shared_address(shared);
  const int thread = static_cast<int>(threadIdx.x);

  // This thread fetches chunk `chunk` of rows line + 32 j of both sides.
  const int chunk = thread % 8;
  const int line = thread / 8;
  const unsigned target = static_cast<unsigned>(line * kRowBytes + ((chunk ^ (line % 8)) << 4));
  unsigned a_from[kRowsOfThread], b_from[kRowsOfThread];  // in chunks
#pragma unroll
  for (int j = 0; j < kRowsOfThread; ++j) {
    a_from[j] = static_cast<unsigned>(place_in(a, row + line + 32 * j) * slabs * 8) + chunk;
    b_from[j] = static_cast<unsigned>(place_in(b, column + line + 32 * j) * slabs * 8) + chunk;
  }
  const auto fetch = [&](int slab) {
    if (slab < slabs) {
      const mma::SharedAddress to = stages + static_cast<unsigned>(slab % kStages * kStageBytes) + target;
#pragma unroll
      for (int j = 0; j < kRowsOfThread; ++j) {
        mma::copy_async(to + j * 32 * kRowBytes, a.split + std::int64_t{8} * (a_from[j] + slab * 8u), true);
        mma::copy_async(to + kSideBytes + j * 32 * kRowBytes,
                        b.split + std::int64_t{8} * (b_from[j] + slab * 8u), true);
      }
    }
    mma::commit_copies();
  };

  const TilePlace within = warp_place();
  Sums sums = {};
#pragma unroll
  for (int slab = 0; slab < kStages - 1; ++slab) fetch(slab);
  for (int slab = 0; slab < slabs; ++slab) {
    mma::wait_copies<kStages - 2>();
    __syncthreads();  // the slab is there, and nobody reads the one that is fetched over
    fetch(slab + kStages - 1);
    const mma::SharedAddress stage = stages + static_cast<unsigned>(slab % kStages * kStageBytes);
    multiply_slab(stage, stage + kSideBytes, within.row, within.column, sums);
    if (slab % kSlabsOfSum == kSlabsOfSum - 1) move_sums(sums, total);
  }
  move_sums(sums, total);
}

__global__ void __launch_bounds__(kDistanceThreads, 1)
    multiply_tiles(const __grid_constant__ DistanceCall call, std::int64_t first_block, int row_tiles,
                   int column_tiles) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const TilePlace tile = place_of(first_block + blockIdx.x, column_tiles, call.symmetric);
  if (tile.row >= row_tiles || tile.column >= column_tiles) return;
  if (call.symmetric && tile.column > tile.row) return;
  Sums total = {};
  multiply_tile(call.a, call.b, call.slabs, tile.row * kTile, tile.column * kTile, total);
  const TilePlace within = warp_place();
  store_tile(call, tile.row * kTile + within.row, tile.column * kTile + within.column, total);
#endif
}

/// Tiles on the diagonal; of each the diagonal itself is kept.
__global__ void __launch_bounds__(kDistanceThreads, 1)
    multiply_diagonal(const __grid_constant__ NormCall call) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const int first = static_cast<int>(blockIdx.x) * kTile;
  const Side side{call.split, nullptr, nullptr, 0, static_cast<int>(call.places)};
  Sums total = {};
  multiply_tile(side, side, call.slabs, first, first, total);
  const TilePlace within = warp_place();
  const int group = static_cast<int>(threadIdx.x) % 32 / 4;
  const int member = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int m = 0; m < kRowParts; ++m) {
#pragma unroll
    for (int n = 0; n < kColumnParts; ++n) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int row = within.row + 16 * m + 8 * (k / 2) + group;
        const int column = within.column + 8 * n + 2 * member + k % 2;
        if (row == column && first + row < call.places) {
          call.norms[first + row] = fminf(scalbnf(total[m][n][k], call.exponent), 1e38f);
        }
      }
    }
  }
#endif
}

/// Lets a kernel have as much shared memory as a tile takes.
template <class Kernel>
void allow_shared_memory(Kernel kernel) {
  core::check_cuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kStages * kStageBytes),
      "rbf_svm: shared memory of the products");
}

}  // namespace

void find_norms(core::Stream& stream, const NormCall& call) {
  if (call.places == 0) return;
  allow_shared_memory(multiply_diagonal);
  const auto blocks = static_cast<unsigned>((call.places + kTile - 1) / kTile);
  multiply_diagonal<<<blocks, kDistanceThreads, kStages * kStageBytes, core::cuda_stream(stream)>>>(call);
  core::check_launch("rbf_svm: squares of rows");
}

std::int64_t distance_blocks(const DistanceCall& call) {
  const std::int64_t down = (tiles_of(call.a.count) + kSquare - 1) / kSquare;
  const std::int64_t across = (tiles_of(call.b.count) + kSquare - 1) / kSquare;
  return (call.symmetric ? down * (down + 1) / 2 : down * across) * kSquare * kSquare;
}

void find_distances(core::Stream& stream, const DistanceCall& call, std::int64_t first_block,
                    std::int64_t blocks) {
  if (blocks == 0) return;
  allow_shared_memory(multiply_tiles);
  multiply_tiles<<<static_cast<unsigned>(blocks), kDistanceThreads, kStages * kStageBytes,
                   core::cuda_stream(stream)>>>(call, first_block, tiles_of(call.a.count),
                                                tiles_of(call.b.count));
  core::check_launch("rbf_svm: squared distances");
}

}  // namespace warpscope::classifiers::rbf
