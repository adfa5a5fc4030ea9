#pragma once
// The kernel behind the variants `hopper_general`, one computation on different tensors:
//
//   out[pixel, j] = sum over taps (m, n) and channels c of in[what (m, n) reads for the pixel, c] * weight(m, n, j, c)
//
//   forward         in = x,  out = y,  c = input channel,  j = output channel
//   backward_input  in = dy, out = dx, c = output channel, j = input channel, weights transposed in the workspace
//
// Persistent blocks: one thread copies, two warpgroups multiply (wgmma), each its own rows of a tile of 128 or 256
// pixels and 32 to 192 channels. A stage of shared memory has, of one tap, a slice of 128 bytes of the channels of the
// tile's pixels and filters. The copy engine finds the pixels by itself (im2col mode): strides, dilation, padding,
// images of any size cost no instruction, and a tile may begin and end at any pixel. In the last slice of channels,
// only the steps of 32 bytes that hold channels are multiplied.
//
// The FP32 sums begin with the bias; ReLU, or the mask of the ReLU before, is done to them, GELU and its derivative to
// the rounded sums; so are an addition and the derivative behind it. Before a batch norm forward also leaves the
// moments of its output (hopper_general_moments.cuh).
//
// Limits: those of refuses() in cuda_hopper_general_plan.cpp. Each tap's pixels come from the L2 cache anew, so tiles
// of few columns wait for it. Threads 384 of 168 registers, exchanged to 40 and 232; shared memory up to 225 KiB.
// Source: S. Chetlur et al., "cuDNN: Efficient primitives for deep learning" (2014), section 3; NVIDIA, "CUTLASS
// documentation", "Efficient GEMM in CUDA", section "Warp specialization".

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_epilogue.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/ops/conv2d/hopper_general/hopper_general.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general_moments.cuh"
#include "gpu/ops/conv2d/hopper_general/hopper_general_ptx.cuh"
#include "gpu/ops/conv2d/hopper_general/hopper_general_write.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::hopper_general {
namespace {

namespace tiles = fused::hopper;
using mma::SharedAddress;

constexpr int kWarpgroup = static_cast<int>(tiles::kWarpgroup);
constexpr int kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kProducerRegisters = 40;
constexpr int kConsumerRegisters = 232;
constexpr unsigned kMostShared = 227 << 10;
constexpr int kMostStages = 8;
constexpr int kLate = 2;  ///< stages by which one consumer starts later than the other

/// What comes behind the sums of a tile. Each has kernels of its own, whose registers others need not have.
enum class Ending { activation, addition, moments };

template <class Arithmetic, int kProducts, int kColumns>
struct Shape {
  using Math = Arithmetic;
  using Storage = typename Math::Storage;
  static constexpr int products = kProducts;
  static constexpr int columns = kColumns;
  static constexpr int sums = kColumns / 2;  ///< of a thread and product
  static constexpr int consumer_rows = kProducts * kProductRows;
  static constexpr int rows = kConsumers * consumer_rows;
  static constexpr int slice = kRowBytes / static_cast<int>(sizeof(Storage));
  static constexpr unsigned pixel_bytes = rows * kRowBytes;
  static constexpr unsigned stage_bytes = pixel_bytes + kColumns * kRowBytes;
  static constexpr unsigned barrier_bytes = 2 * kMostStages * 8;
  static constexpr int stages =
      std::min<unsigned>(kMostStages, (kMostShared - tiles::kAlignSlack - barrier_bytes) / stage_bytes);
  static constexpr unsigned barriers_at = stages * stage_bytes;
  static constexpr unsigned shared_bytes = barriers_at + barrier_bytes + tiles::kAlignSlack;
  static_assert(stage_bytes % tiles::kPeriodBytes == 0 && pixel_bytes % tiles::kPeriodBytes == 0);
  static_assert(stages > kLate && shared_bytes <= kMostShared);
};

template <class S>
__device__ void make_barriers(const tiles::StagePlaces<S>& at) {
  constexpr unsigned kConsumerWarps = kConsumers * kWarpgroup / 32;
  for (int i = 0; i < S::stages; ++i) {
    tiles::make_barrier(at.full(i), 1);
    tiles::make_barrier(at.empty(i), kConsumerWarps);
  }
  tiles::publish_barriers();
}

/// A block's tile.
struct Tile {
  int lattice;
  int pixel;    ///< the first, of the lattice
  int channel;  ///< the first
};

template <class S>
__device__ __forceinline__ Tile tile_of(const Problem& q, int number) {
  int lattice = 0;
  int first = 0;
  while (number >= q.lattices[lattice].end_tile) {
    first = q.lattices[lattice].end_tile;
    ++lattice;
  }
  const int rows = (number - first) / q.column_tiles;
  return {lattice, rows * S::rows, (number - first - rows * q.column_tiles) * S::columns};
}

__device__ __forceinline__ int taps_of(const Lattice& lattice) {
  return lattice.down.count * lattice.right.count;
}

/// Stages of each tap: as many are copied as are multiplied, or both wait for ever.
__device__ __forceinline__ int slices_of(const Problem& q) {
  return q.full_slices + (q.tail_steps > 0 ? 1 : 0);
}

// ---- copies ----

/// One thread: all copies of the block, in the order in which the consumers use them.
template <class S>
__device__ void produce(const Problem& q, const tiles::StagePlaces<S>& at, const Maps& maps) {
  tiles::prefetch_map(maps.filters);
  tiles::Ring<S::stages> ring;
  const int slices = slices_of(q);
  for (int i = static_cast<int>(blockIdx.x); i < q.tiles; i += static_cast<int>(gridDim.x)) {
    const Tile tile = tile_of<S>(q, i);
    const Lattice& lattice = q.lattices[tile.lattice];
    const AxisTaps& down = lattice.down;
    const AxisTaps& right = lattice.right;
    const CUtensorMap& pixels = maps.pixels[tile.lattice];
    const int line = tile.pixel / right.extent;
    const int image = line / down.extent;
    const int column = right.lower + (tile.pixel - line * right.extent) * q.read_step;
    const int row = down.lower + (line - image * down.extent) * q.read_step;
#pragma unroll 1
    for (int slice = 0; slice < slices; ++slice) {
#pragma unroll 1
      for (int m = 0; m < down.count; ++m) {
        const int first_tap = (down.tap + m * down.tap_step) * q.kernel_width + right.tap;
#pragma unroll 1
        for (int n = 0; n < right.count; ++n) {
          const SharedAddress full = at.full(ring.stage);
          const SharedAddress to = at.stage(ring.stage);
          tiles::wait(at.empty(ring.stage), ring.parity ^ 1);
          tiles::arrive_expecting(full, S::stage_bytes);
          load_pixels(to, pixels, full, slice * S::slice, column, row, image,
                      static_cast<std::uint16_t>(n * right.shift),
                      static_cast<std::uint16_t>(m * down.shift));
          tiles::load_box(to + S::pixel_bytes, maps.filters, full, slice * S::slice, tile.channel,
                          first_tap + n * right.tap_step);
          ring.advance();
        }
      }
    }
  }
}

// ---- products ----

/// A consumer's place in the stages.
template <class S>
struct Turn {
  tiles::Ring<S::stages> ring;
  SharedAddress used = 0;  ///< the barrier of the stage that the newest products read; 0: none

  /// Gives it back to the producer: one lane of each warp.
  __device__ __forceinline__ void release(int lane) {
    if (used != 0 && lane == 0) tiles::arrive(used);
  }
};

/// Adds the products of so many stages, of each its first `kSteps` steps. A stage is given back when the products after
/// it have been issued and its own are done.
template <class S, int kSteps>
__device__ __forceinline__ void multiply_stages(float (&sums)[S::products][S::sums],
                                                const tiles::StagePlaces<S>& at, Turn<S>& turn, int count,
                                                int consumer, int lane) {
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const SharedAddress stage = at.stage(turn.ring.stage);
    const std::uint64_t a =
        tiles::describe(stage + static_cast<unsigned>(consumer) * (S::consumer_rows * kRowBytes), 16);
    const std::uint64_t b = tiles::describe(stage + S::pixel_bytes, 16);
    tiles::wait(at.full(turn.ring.stage), turn.ring.parity);
    tiles::fence_products();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const unsigned further = static_cast<unsigned>(step) * tiles::kStraightStep;
#pragma unroll
      for (int p = 0; p < S::products; ++p) {
        add_product(typename S::Math{}, sums[p],
                    tiles::advanced(a, static_cast<unsigned>(p) * (kProductRows * kRowBytes) + further),
                    tiles::advanced(b, further));
      }
    }
    tiles::commit_products();
    tiles::wait_products<1>();
    turn.release(lane);
    turn.used = at.empty(turn.ring.stage);
    turn.ring.advance();
  }
}

/// The sums of a tile, which begin with the bias.
template <class S>
__device__ __forceinline__ void multiply_tile(float (&sums)[S::products][S::sums], const Problem& q,
                                              const tiles::StagePlaces<S>& at,
                                              const Result<typename S::Math>& to, Turn<S>& turn,
                                              const Tile& tile, int consumer, int lane) {
#pragma unroll
  for (int j = 0; j < S::columns / 8; ++j) {
    const float2 bias = bias_of(q, to, tile.channel + 8 * j + 2 * (lane % 4));
#pragma unroll
    for (int p = 0; p < S::products; ++p) {
      sums[p][4 * j] = sums[p][4 * j + 2] = bias.x;
      sums[p][4 * j + 1] = sums[p][4 * j + 3] = bias.y;
    }
  }
  const int taps = taps_of(q.lattices[tile.lattice]);
  multiply_stages<S, tiles::kSteps>(sums, at, turn, q.full_slices * taps, consumer, lane);
  switch (q.tail_steps) {
    case 1:
      multiply_stages<S, 1>(sums, at, turn, taps, consumer, lane);
      break;
    case 2:
      multiply_stages<S, 2>(sums, at, turn, taps, consumer, lane);
      break;
    case 3:
      multiply_stages<S, 3>(sums, at, turn, taps, consumer, lane);
      break;
    default:
      break;
  }
  tiles::wait_products<0>();
  turn.release(lane);
  turn.used = 0;
}

/// `shared`: where the stages begin.
template <class S, Ending kEnding>
__device__ void consume(const Problem& q, const tiles::StagePlaces<S>& at, const Result<typename S::Math>& to,
                        [[maybe_unused]] unsigned char* shared, int consumer, int thread) {
  constexpr bool kSummed = kEnding == Ending::addition;
  const int lane = thread % 32;
  const tiles::Lane place{thread / 32, lane / 4, lane % 4};
  Turn<S> turn;
  [[maybe_unused]] TileMoments<S::sums> moments;
  // One consumer starts some stages later, so that while one writes the other still multiplies.
  const Lattice& first = q.lattices[tile_of<S>(q, static_cast<int>(blockIdx.x)).lattice];
  if (consumer == 1 && taps_of(first) * slices_of(q) > kLate) tiles::wait(at.full(kLate), 0);
  for (int i = static_cast<int>(blockIdx.x); i < q.tiles; i += static_cast<int>(gridDim.x)) {
    const Tile tile = tile_of<S>(q, i);
    const Lattice& lattice = q.lattices[tile.lattice];
    if (thread < S::consumer_rows) {
      const int pixel = tile.pixel + consumer * S::consumer_rows + thread;
      prefetch_beside<S::columns, kSummed>(q, lattice, to, pixel, tile.channel);
    }
    float sums[S::products][S::sums];
    multiply_tile<S>(sums, q, at, to, turn, tile, consumer, lane);
    const int first_pixel = tile.pixel + consumer * S::consumer_rows + 16 * place.warp;
    if constexpr (kEnding == Ending::moments) {
      write_and_sum(typename S::Math{}, sums, q, lattice, to, first_pixel, tile.channel, place, moments);
    } else {
#pragma unroll
      for (int p = 0; p < S::products; ++p) {
        write_rows(typename S::Math{}, sums[p], q, lattice, to, first_pixel + p * kProductRows, tile.channel,
                   place);
      }
      finish_rows<S::products, S::sums, kSummed>(q, lattice, to, first_pixel, tile.channel, place);
    }
  }
  if constexpr (kEnding == Ending::moments) {
    tiles::leave_moments<S::columns>(moments, shared, consumer, place, q.column_tiles, q.channels, to.parts);
  }
}

template <class S, Ending kEnding>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_hopper_general(const __grid_constant__ Problem q, const __grid_constant__ Maps maps,
                          const __grid_constant__ Result<typename S::Math> to) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  const tiles::StagePlaces<S> at{tiles::first_tile(shared)};
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) make_barriers(at);
  __syncthreads();
  if (thread < kWarpgroup) {
    tiles::shrink_registers<kProducerRegisters>();
    if (thread == 0) produce<S>(q, at, maps);
  } else {
    tiles::grow_registers<kConsumerRegisters>();
    unsigned char* const stages = shared + (at.base - tiles::shared_address(shared));
    consume<S, kEnding>(q, at, to, stages, thread / kWarpgroup - 1, thread % kWarpgroup);
  }
#else
  __trap();  // this build has no code for sm_90a
#endif
}

// ---- launches ----

template <class Math, bool kNormed, int kProducts, int kColumns>
void launch_size(const OpCall& call, const Problem& problem, const Tensors& tensors, const Maps& maps) {
  using S = Shape<Math, kProducts, kColumns>;
  using Storage = typename Math::Storage;
  const Result<Math> to{
      .bias = static_cast<const Storage*>(tensors.bias),
      .mask = static_cast<const Storage*>(tensors.mask),
      .written = static_cast<Storage*>(tensors.kept != nullptr ? tensors.kept : tensors.out),
      .out = static_cast<Storage*>(tensors.out),
      .after = problem.after,
      .beside = static_cast<const Storage*>(tensors.beside),
      .addend = static_cast<const Storage*>(tensors.addend),
      .parts = tensors.parts};
  const int most = kNormed ? moment_rows(problem, tiles::multiprocessors()) * problem.column_tiles
                           : tiles::multiprocessors();
  const auto blocks = static_cast<unsigned>(std::min(problem.tiles, most));
  const auto run = [&](auto kernel) {
    run_kernel(call, {blocks, kThreads, S::shared_bytes}, kernel, problem, maps, to);
  };
  if constexpr (kNormed) {
    run(conv2d_hopper_general<S, Ending::moments>);
  } else {
    if (tensors.addend != nullptr) return run(conv2d_hopper_general<S, Ending::addition>);
    run(conv2d_hopper_general<S, Ending::activation>);
  }
}

/// Launches the one of kTileColumns that the tile has.
template <class Math, bool kNormed, int kProducts, std::size_t... kIndex>
void launch_columns(const OpCall& call, const Problem& problem, const Tensors& tensors, const Maps& maps,
                    int columns, std::index_sequence<kIndex...>) {
  ((columns == kTileColumns[kIndex]
        ? launch_size<Math, kNormed, kProducts, kTileColumns[kIndex]>(call, problem, tensors, maps)
        : void()),
   ...);
}

/// `kNormed`: the output's moments are left for a batch norm.
template <class Math, bool kNormed = false>
void launch(const OpCall& call, const Problem& problem, const Tensors& tensors, const Maps& maps,
            const TileSize& tile) {
  constexpr auto kAll = std::make_index_sequence<kTileColumns.size()>();
  const int columns = tile.columns;
  if (tile.products == 1)
    return launch_columns<Math, kNormed, 1>(call, problem, tensors, maps, columns, kAll);
  return launch_columns<Math, kNormed, 2>(call, problem, tensors, maps, columns, kAll);
}

}  // namespace
}  // namespace warpscope::ops::conv2d::hopper_general
