// linear, variant `tiled`: a block computes a square tile of the result. It walks along the sum in steps of
// 16, for each of which it brings a strip of both matrices to shared memory as FP32, and every thread adds to
// a small square of results in registers. Over `naive` it adds that a value read from memory serves 32 or 64
// products, and a value read from shared memory two or four. Where the tiles are too few to fill a GPU,
// several blocks share the sum of one tile and a second kernel adds their parts in a fixed order: the result
// is deterministic. Limits: none on the shape; loads are not overlapped with products. At most 63 registers,
// 8.5 KiB of shared memory (tiles of 64) or 4.5 KiB (32), no spills; workspace: up to 1 MiB for the parts.
// Source: linear.cpp; V. Volkov, J. Demmel, "Benchmarking GPUs to tune dense linear algebra" (2008).

#include <algorithm>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kAcross = 16;  // threads along either side of a tile
constexpr unsigned kDepth = 16;   // terms in one step
constexpr unsigned kPadding = 4;  // keeps rows of a strip aligned to 16 bytes and in different banks
constexpr std::int64_t kLargeTile = 64;
constexpr std::int64_t kSmallTile = 32;
// Blocks that fill the largest GPUs twice.
constexpr std::int64_t kWantedBlocks = 264;
constexpr std::int64_t kLeastSplitDepth = 256;

template <unsigned Tile>
using Strip = float[kDepth][Tile + kPadding];

/// A product C[m,n] = sum_k A(m,k) B(k,n).
struct Product {
  unsigned rows;
  unsigned columns;
  unsigned depth;
};

/// How it is cut: into square tiles, and each tile's sum into `splits` parts of `split_depth` terms.
struct Cut {
  std::int64_t tile;
  std::int64_t tiles;
  std::int64_t splits;
  std::int64_t split_depth;
};

Cut cut(const Product& p) {
  const auto tiles_of = [&](std::int64_t tile) {
    return divide_up(p.rows, tile) * divide_up(p.columns, tile);
  };
  Cut c;
  c.tile = tiles_of(kLargeTile) >= kWantedBlocks / 2 ? kLargeTile : kSmallTile;
  c.tiles = tiles_of(c.tile);
  const std::int64_t wanted =
      std::clamp<std::int64_t>(kWantedBlocks / c.tiles, 1, divide_up(p.depth, kLeastSplitDepth));
  c.split_depth = divide_up(divide_up(p.depth, wanted), kDepth) * kDepth;
  c.splits = divide_up(p.depth, c.split_depth);
  return c;
}

/// Brings terms [begin, begin + kDepth) of the lines [first, first + Tile) to shared memory, zeros for what
/// is past the last line or past `end`. A line is a row of A or a column of B; with DepthFirst its terms are
/// neighbours in memory, otherwise the lines are.
template <unsigned Tile, bool DepthFirst, class T>
__device__ __forceinline__ void load_strip(Strip<Tile>& strip, const T* __restrict__ matrix, unsigned first,
                                           unsigned lines, unsigned begin, unsigned end, unsigned depth) {
#pragma unroll
  for (unsigned e = threadIdx.x; e < Tile * kDepth; e += kThreads) {
    const unsigned k = DepthFirst ? e % kDepth : e / Tile;
    const unsigned line = DepthFirst ? e / kDepth : e % Tile;
    const bool inside = first + line < lines && begin + k < end;
    const std::uint64_t at = DepthFirst ? std::uint64_t{first + line} * depth + (begin + k)
                                        : std::uint64_t{begin + k} * lines + (first + line);
    strip[k][line] = inside ? to_float(matrix[at]) : 0.0f;
  }
}

/// Block (tile, split). A thread owns the square of results from (row, column) on.
template <unsigned Tile, bool ADepthFirst, bool BDepthFirst, class T, class Out>
__global__ void __launch_bounds__(kThreads)
    linear_product_tiled(Product p, unsigned split_depth, const T* __restrict__ a, const T* __restrict__ b,
                         Out* __restrict__ c) {
  constexpr unsigned kSquare = Tile / kAcross;
  using Square = Vec<float, kSquare>;
  __shared__ __align__(16) Strip<Tile> a_strip;
  __shared__ __align__(16) Strip<Tile> b_strip;
  const unsigned tiles_across = (p.columns + Tile - 1) / Tile;
  const unsigned first_row = blockIdx.x / tiles_across * Tile;
  const unsigned first_column = blockIdx.x % tiles_across * Tile;
  const unsigned row = threadIdx.x / kAcross * kSquare;
  const unsigned column = threadIdx.x % kAcross * kSquare;
  const unsigned start = blockIdx.y * split_depth;
  const unsigned end = min(start + split_depth, p.depth);
  float sums[kSquare][kSquare] = {};
  for (unsigned begin = start; begin < end; begin += kDepth) {
    load_strip<Tile, ADepthFirst>(a_strip, a, first_row, p.rows, begin, end, p.depth);
    load_strip<Tile, BDepthFirst>(b_strip, b, first_column, p.columns, begin, end, p.depth);
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < kDepth; ++k) {
      const Square left = *reinterpret_cast<const Square*>(&a_strip[k][row]);
      const Square right = *reinterpret_cast<const Square*>(&b_strip[k][column]);
      for (unsigned i = 0; i < kSquare; ++i) {
        for (unsigned j = 0; j < kSquare; ++j) sums[i][j] += left.at[i] * right.at[j];
      }
    }
    // The next step overwrites the strips.
    __syncthreads();
  }
  c += std::uint64_t{blockIdx.y} * p.rows * p.columns;
  for (unsigned i = 0; i < kSquare; ++i) {
    for (unsigned j = 0; j < kSquare; ++j) {
      const unsigned m = first_row + row + i;
      const unsigned n = first_column + column + j;
      if (m < p.rows && n < p.columns) c[std::uint64_t{m} * p.columns + n] = from_float<Out>(sums[i][j]);
    }
  }
}

template <class Index, class Out>
__global__ void linear_sum_splits_tiled(Index count, unsigned splits, const float* __restrict__ parts,
                                        Out* __restrict__ c) {
  for (Index e = first_element<Index>(); e < count; e += element_stride<Index>()) {
    float sum = 0.0f;
    for (unsigned split = 0; split < splits; ++split) sum += parts[split * count + e];
    c[e] = from_float<Out>(sum);
  }
}

template <bool ADepthFirst, bool BDepthFirst, class T, class Out>
void launch_tiles(const OpCall& call, const Product& p, const Cut& how, const T* a, const T* b, Out* c) {
  const dim3 blocks(static_cast<unsigned>(how.tiles), static_cast<unsigned>(how.splits));
  const auto kernel = how.tile == kLargeTile
                          ? linear_product_tiled<kLargeTile, ADepthFirst, BDepthFirst, T, Out>
                          : linear_product_tiled<kSmallTile, ADepthFirst, BDepthFirst, T, Out>;
  run_kernel(call, "product", {blocks, kThreads}, kernel, p, how.split_depth, a, b, c);
}

template <bool ADepthFirst, bool BDepthFirst, class T, class Out>
void multiply(const OpCall& call, const Product& p, const T* a, const T* b, Out* c) {
  const Cut how = cut(p);
  if (how.splits == 1) return launch_tiles<ADepthFirst, BDepthFirst>(call, p, how, a, b, c);
  auto* parts = static_cast<float*>(call.workspace);
  launch_tiles<ADepthFirst, BDepthFirst>(call, p, how, a, b, parts);
  const std::int64_t count = std::int64_t{p.rows} * p.columns;
  with_index(how.splits * count, [&]<class Index>(Index) {
    run_kernel(call, "sum of the parts", {element_blocks(count)}, linear_sum_splits_tiled<Index, Out>, count,
               how.splits, parts, c);
  });
}

Product product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  return {static_cast<unsigned>(rows), static_cast<unsigned>(columns), static_cast<unsigned>(depth)};
}
Product forward_product(const OpShape& s) {
  return product(s.batch, s.out_channels, s.in_channels);
}
Product backward_input_product(const OpShape& s) {
  return product(s.batch, s.in_channels, s.out_channels);
}
Product backward_weights_product(const OpShape& s) {
  return product(s.out_channels, s.in_channels, s.batch);
}

template <Product (*Of)(const OpShape&)>
std::size_t workspace(const OpShape& s, core::Precision) {
  const Product p = Of(s);
  const Cut how = cut(p);
  return how.splits == 1 ? 0 : static_cast<std::size_t>(how.splits) * p.rows * p.columns * sizeof(float);
}

void forward(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    multiply<true, true>(call, forward_product(call.shape), call.operand<const T>(Name::input),
                         call.operand<const T>(Name::weights), call.operand<T>(Name::output));
  });
}

void backward_input(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    multiply<true, false>(call, backward_input_product(call.shape),
                          call.operand<const T>(Name::output_gradient), call.operand<const T>(Name::weights),
                          call.operand<T>(Name::input_gradient));
  });
}

void backward_weights(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    multiply<false, false>(call, backward_weights_product(call.shape),
                           call.operand<const T>(Name::output_gradient), call.operand<const T>(Name::input),
                           call.operand<float>(Name::weights_gradient));
  });
}

Variant tiled(Op op, void (*launch)(const OpCall&),
              std::size_t (*workspace_bytes)(const OpShape&, core::Precision)) {
  return cuda_variant(op, "tiled", launch,
                      "A block computes a tile from strips of both matrices in shared memory.",
                      {.precisions = {core::Precision::fp32, core::Precision::fp16, core::Precision::bf16},
                       .presets = {{"tiled"}, {"implicit_gemm"}},
                       .workspace_bytes = workspace_bytes});
}

}  // namespace

Variant tiled_forward() {
  return tiled(Op::linear_forward, forward, workspace<forward_product>);
}
Variant tiled_backward_input() {
  return tiled(Op::linear_backward_input, backward_input, workspace<backward_input_product>);
}
Variant tiled_backward_weights() {
  return tiled(Op::linear_backward_weights, backward_weights, workspace<backward_weights_product>);
}

}  // namespace warpscope::ops::linear
