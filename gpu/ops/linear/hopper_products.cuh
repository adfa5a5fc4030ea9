#pragma once
// The blocks behind hopper_linear_forward.cu and hopper_linear_backward.cu:
//
//   C[rows, columns] = sum over k of A(row, k) B(column, k)
//
// in tiles of 128 x 128, FP16 or BF16 with sums in FP32. A and B are row-major matrices whose rows have multiples of 64
// elements; each is straight (k runs along its rows) or turned (across them), as hopper_tiles.cuh has it. A stage of
// shared memory holds a slice of 64 k of both: two boxes of 64 x 64 elements of A, then two of B. These are 128
// rows one after the other of a straight operand, the two slices of 64 columns of a turned one.
//
// Two warpgroups multiply (wgmma), 64 rows each; one more warp copies (TMA). The blocks of a cluster compute
// neighbouring tiles: those of one row need the same A, those of one column the same B. Each copies one of the two
// boxes for itself and its neighbour (multicast), so that a cluster of 2 x 2 reads half as much as four blocks. A
// stage may be written anew when all blocks of the cluster are done with theirs: a block's `empty` counts the
// consumers' warps of all, its `full` the bytes that arrive, whoever asked for them.
//
// Rows, columns and k outside the matrices are read as zeros and not written; tiles of the last clusters may lie
// outside altogether.
//
// Source: NVIDIA, "CUTLASS documentation", "Efficient GEMM in CUDA", section "Warp specialization"; "CUDA C++
// Programming Guide", "Thread block clusters" and "Tensor memory accelerator".

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/activated.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_epilogue.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/ops/conv2d/quad_words.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/linear/hopper_cluster.cuh"
#include "gpu/ops/linear/hopper_layers.h"

namespace warpscope::ops::linear::hopper {
namespace {

namespace tiles = conv2d::fused::hopper;

using mma::SharedAddress;

constexpr int kConsumerThreads = 2 * static_cast<int>(tiles::kWarpgroup);
constexpr int kThreads = kConsumerThreads + 32;
constexpr unsigned kBoxBytes = kSlice * tiles::kRowBytes;
constexpr unsigned kOperandBytes = 2 * kBoxBytes;
constexpr unsigned kStageBytes = 2 * kOperandBytes;
constexpr int kSums = tiles::kSums;  // of a thread
static_assert(kSlice == tiles::kSlice && kTile == 2 * kSlice && kTile == tiles::kColumns);

/// A variation of the kernels. `kBlocks`: of a multiprocessor.
template <class Arithmetic, int kStages, int kBlocks, int kClusterRows, int kClusterColumns>
struct Shape {
  using Math = Arithmetic;
  using Storage = typename Math::Storage;
  static constexpr int stages = kStages;
  static constexpr int blocks = kBlocks;
  static constexpr int cluster_rows = kClusterRows;
  static constexpr int cluster_columns = kClusterColumns;
  static constexpr int cluster = cluster_rows * cluster_columns;
  static constexpr unsigned barriers_at = stages * kStageBytes;
  static constexpr unsigned shared_bytes = barriers_at + 2 * stages * 8 + tiles::kAlignSlack;
};

/// Addresses in shared memory, the same in all blocks of a cluster.
template <class S>
struct Places {
  SharedAddress base;

  __device__ SharedAddress stage(int i) const { return base + static_cast<unsigned>(i) * kStageBytes; }
  __device__ SharedAddress full(int i) const { return tiles::barrier_at(base + S::barriers_at, i); }
  __device__ SharedAddress empty(int i) const {
    return tiles::barrier_at(base + S::barriers_at, S::stages + i);
  }
};

/// A thread of the two warpgroups that multiply.
struct Consumer {
  int warpgroup;
  int warp;  ///< of the warpgroup
  int lane;

  __device__ __forceinline__ explicit Consumer(int thread)
      : warpgroup(thread / static_cast<int>(tiles::kWarpgroup)), warp(thread / 32 % 4), lane(thread % 32) {}
};

/// What a block does.
struct Work {
  int row;  ///< the tile's first
  int column;
  int first_slice;
  int end_slice;
  int part;
};

/// The work of a cluster, by its number in the cut, and of a block in it. Clusters one below the other are neighbours.
template <class S>
__device__ __forceinline__ Work work_of(const Cut& cut, int cluster, int rank) {
  const int part = cluster / cut.tile_clusters();
  const int tile = cluster % cut.tile_clusters();
  const int row = tile % cut.row_clusters * S::cluster_rows + rank / S::cluster_columns;
  const int column = tile / cut.row_clusters * S::cluster_columns + rank % S::cluster_columns;
  const int first = part * cut.part_slices;
  return {row * kTile, column * kTile, first, min(first + cut.part_slices, cut.slices), part};
}

/// One thread makes the barriers, which all blocks of the cluster then know.
template <class S>
__device__ __forceinline__ void make_barriers(const Places<S>& at) {
  constexpr unsigned kConsumerWarps = 8;
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::stages; ++i) {
      tiles::make_barrier(at.full(i), 1);
      tiles::make_barrier(at.empty(i), S::cluster * kConsumerWarps);
    }
    tiles::publish_barriers();
  }
  arrive_at_cluster();
  wait_for_cluster();
}

// ---- copies ----

/// One box of an operand: 64 of its lines (rows or columns of C), 64 k.
template <bool kTurned>
__device__ __forceinline__ void load_own(SharedAddress to, const CUtensorMap& map, SharedAddress full,
                                         int line, int k) {
  tiles::load_box(to, map, full, kTurned ? line : k, kTurned ? k : line, 0);
}

/// A stage of one operand, from its line `first` on. If `kShared`, this block copies box `mine` for all of `blocks`
/// and gets the other from its neighbour.
template <bool kTurned, bool kShared>
__device__ __forceinline__ void load_operand(SharedAddress to, const CUtensorMap& map, SharedAddress full,
                                             int first, int k, int mine, std::uint16_t blocks) {
  if constexpr (kShared) {
    const int line = first + mine * kSlice;
    load_shared_box(to + static_cast<unsigned>(mine) * kBoxBytes, map, full, blocks, kTurned ? line : k,
                    kTurned ? k : line, 0);
  } else {
    load_own<kTurned>(to, map, full, first, k);
    load_own<kTurned>(to + kBoxBytes, map, full, first + kSlice, k);
  }
}

/// One thread: all copies of the block.
template <class S, bool kTurnedA, bool kTurnedB>
__device__ void produce(const Places<S>& at, const Work& work, int rank, const CUtensorMap& a,
                        const CUtensorMap& b) {
  static_assert(S::cluster_rows <= 2 && S::cluster_columns <= 2, "an operand's stage has two boxes");
  tiles::prefetch_map(a);
  tiles::prefetch_map(b);
  const int row = rank / S::cluster_columns;
  const int column = rank % S::cluster_columns;
  // The blocks of this one's row, which need the same A; those of its column, which need the same B.
  const auto with_a =
      static_cast<std::uint16_t>(((1 << S::cluster_columns) - 1) << (row * S::cluster_columns));
  const auto with_b =
      static_cast<std::uint16_t>((S::cluster_rows == 2 ? 1 | 1 << S::cluster_columns : 1) << column);
  tiles::Ring<S::stages> ring;
#pragma unroll 1
  for (int slice = work.first_slice; slice < work.end_slice; ++slice) {
    const SharedAddress stage = at.stage(ring.stage);
    const SharedAddress full = at.full(ring.stage);
    tiles::wait(at.empty(ring.stage), ring.parity ^ 1);
    tiles::arrive_expecting(full, kStageBytes);
    load_operand<kTurnedA, S::cluster_columns == 2>(stage, a, full, work.row, slice * kSlice, column, with_a);
    load_operand<kTurnedB, S::cluster_rows == 2>(stage + kOperandBytes, b, full, work.column, slice * kSlice,
                                                 row, with_b);
    ring.advance();
  }
  // Until all that others arrive at here is in: then no block of the cluster can end too early.
#pragma unroll 1
  for (int i = 0; i < S::stages; ++i) {
    tiles::wait(at.empty(ring.stage), ring.parity ^ 1);
    ring.advance();
  }
}

// ---- products ----

template <class S, bool kTurnedA, bool kTurnedB>
__device__ __forceinline__ void multiply_stage(float (&sums)[kSums], SharedAddress stage, int warpgroup,
                                               bool add) {
  // 64 rows are one box of A, turned or not: there is no next one within a product.
  const std::uint64_t a = tiles::describe(stage + static_cast<unsigned>(warpgroup) * kBoxBytes, 16);
  const std::uint64_t b = tiles::describe(stage + kOperandBytes, kTurnedB ? kBoxBytes : 16);
#pragma unroll
  for (int step = 0; step < tiles::kSteps; ++step) {
    const auto steps = static_cast<unsigned>(step);
    tiles::multiply<kTurnedA, kTurnedB>(
        typename S::Math{}, sums,
        tiles::advanced(a, steps * (kTurnedA ? tiles::kTurnedStep : tiles::kStraightStep)),
        tiles::advanced(b, steps * (kTurnedB ? tiles::kTurnedStep : tiles::kStraightStep)), add || step > 0);
  }
}

/// A warpgroup: the sums of its 64 rows. A stage is given back, to all blocks of the cluster, when the products after
/// it have been issued and its own are done.
template <class S, bool kTurnedA, bool kTurnedB>
__device__ __forceinline__ void multiply_slices(float (&sums)[kSums], const Places<S>& at, const Work& work,
                                                const Consumer& me) {
  tiles::Ring<S::stages> ring;
  SharedAddress used = 0;
#pragma unroll 1
  for (int slice = work.first_slice; slice < work.end_slice; ++slice) {
    const bool add = slice > work.first_slice;
    tiles::wait(at.full(ring.stage), ring.parity);
    tiles::fence_products();
    multiply_stage<S, kTurnedA, kTurnedB>(sums, at.stage(ring.stage), me.warpgroup, add);
    tiles::commit_products();
    tiles::wait_products<1>();
    if (add && me.lane < S::cluster) arrive_at(used, static_cast<unsigned>(me.lane));
    used = at.empty(ring.stage);
    ring.advance();
  }
  tiles::wait_products<0>();
  if (me.lane < S::cluster) arrive_at(used, static_cast<unsigned>(me.lane));
}

// ---- what becomes of the sums ----

/// A thread's rows: this one and the one eight further.
__device__ __forceinline__ int first_row(const Work& work, const Consumer& me) {
  return work.row + me.warpgroup * kSlice + me.warp * 16 + me.lane / 4;
}

/// Writes FP32. Lanes that are neighbours exchange pairs, so that each writes 16 bytes: 64 of a row by a warp's
/// instruction.
__device__ __forceinline__ void write_floats(const float (&sums)[kSums], const Cut& cut, const Work& work,
                                             float* to, const Consumer& me) {
  const int member = me.lane % 4;
  const bool odd = member % 2 != 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row(work, me) + 8 * half;
    float* line = to + std::int64_t{row} * cut.columns + work.column + (odd ? 2 * member + 6 : 2 * member);
#pragma unroll
    for (int j = 0; j < kTile / 8; j += 2) {
      if (work.column + 8 * j >= cut.columns) continue;
      const int low = 4 * j + 2 * half;
      const int high = low + 4;
      const float own0 = odd ? sums[high] : sums[low];
      const float own1 = odd ? sums[high + 1] : sums[low + 1];
      const float got0 = __shfl_xor_sync(0xffffffffu, odd ? sums[low] : sums[high], 1);
      const float got1 = __shfl_xor_sync(0xffffffffu, odd ? sums[low + 1] : sums[high + 1], 1);
      if (row < cut.rows) {
        *reinterpret_cast<float4*>(line + 8 * j) =
            odd ? float4{got0, got1, own0, own1} : float4{own0, own1, got0, got1};
      }
    }
  }
}

/// What follows a sum before it is rounded and written. What is nullptr is not there.
template <class Math>
struct Finish {
  using Storage = typename Math::Storage;
  const Storage* bias = nullptr;  ///< of the columns
  bool relu = false;
  const Storage* mask = nullptr;   ///< as C: the result is zero where this is not above zero
  Activated<Math> activated = {};  ///< what follows of other activations than ReLU

  /// Two neighbours in a row of C.
  __device__ __forceinline__ unsigned rounded(int column, float low, float high) const {
    if (bias != nullptr) {
      low += mma::widen(Math{}, bias[column]);
      high += mma::widen(Math{}, bias[column + 1]);
    }
    return mma::narrow_pair(Math{}, tiles::activate(low, relu), tiles::activate(high, relu));
  }

  static __device__ __forceinline__ unsigned masked(unsigned word, unsigned mask) {
    const bool low = mma::widen(Math{}, static_cast<Storage>(mask & 0xffff)) > 0.0f;
    const bool high = mma::widen(Math{}, static_cast<Storage>(mask >> 16)) > 0.0f;
    return word & ((low ? 0x0000ffffu : 0u) | (high ? 0xffff0000u : 0u));
  }

  /// Writes eight neighbours in a row of C.
  __device__ __forceinline__ void write(Storage* to, std::int64_t element, const unsigned (&w)[4]) const {
    if (activated.kind == Activation::none) return tiles::write_chunk(to + element, w);
    const uint4 words{w[0], w[1], w[2], w[3]};
    activated.with_change(
        [&](auto change) { activated.write(to, static_cast<unsigned>(element), words, change); });
  }
};

/// Writes 16 bits; four lanes exchange their words, so that each writes 16 bytes.
template <class Math>
__device__ __forceinline__ void write_halves(const float (&sums)[kSums], const Cut& cut, const Work& work,
                                             const Finish<Math>& finish, typename Math::Storage* to,
                                             const Consumer& me) {
  const int member = me.lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row(work, me) + 8 * half;
    const bool exists = row < cut.rows;
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter) {
      const int first = work.column + 32 * quarter;
      if (first >= cut.columns) continue;  // of all lanes
      const std::int64_t element = std::int64_t{row} * cut.columns + first + 8 * member;
      uint4 mask{};
      if (finish.mask != nullptr && exists)
        mask = __ldg(reinterpret_cast<const uint4*>(finish.mask + element));
      unsigned w[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = 4 * quarter + i;
        w[i] = finish.rounded(first + 8 * i + 2 * member, sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]);
      }
      conv2d::transpose(w, member);
      if (finish.mask != nullptr) {
        const unsigned masks[4] = {mask.x, mask.y, mask.z, mask.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) w[i] = finish.masked(w[i], masks[i]);
      }
      if (exists) finish.write(to, element, w);
    }
  }
}

/// A result in 16 bits, or the parts of its sums where the depth is cut.
template <class Math>
struct Result {
  Finish<Math> finish;
  typename Math::Storage* to = nullptr;
  float* parts = nullptr;
};

template <class Math>
__device__ __forceinline__ void write_result(const float (&sums)[kSums], const Cut& cut, const Work& work,
                                             const Result<Math>& result, const Consumer& me) {
  if (cut.parts > 1) {
    write_floats(sums, cut, work, result.parts + work.part * cut.elements(), me);
  } else {
    write_halves(sums, cut, work, result.finish, result.to, me);
  }
}

// ---- the second kernel ----

constexpr int kSumThreads = 256;

/// Adds the parts in their order, four neighbours to a thread.
template <class Math>
__global__ void __launch_bounds__(kSumThreads)
    linear_hopper_sum(const __grid_constant__ Cut cut, const __grid_constant__ Result<Math> result) {
  const int quad = static_cast<int>(blockIdx.x * kSumThreads + threadIdx.x);
  const std::int64_t element = std::int64_t{quad} * 4;
  if (element >= cut.elements()) return;
  const float* from = result.parts + element;
  float4 sum{0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 4
  for (int part = 0; part < cut.parts; ++part) {
    const float4 next = __ldg(reinterpret_cast<const float4*>(from + part * cut.elements()));
    sum.x += next.x;
    sum.y += next.y;
    sum.z += next.z;
    sum.w += next.w;
  }
  const Finish<Math>& finish = result.finish;
  const int column = quad % (cut.columns / 4) * 4;
  uint2 words{finish.rounded(column, sum.x, sum.y), finish.rounded(column + 2, sum.z, sum.w)};
  if (finish.mask != nullptr) {
    const uint2 mask = __ldg(reinterpret_cast<const uint2*>(finish.mask + element));
    words = {finish.masked(words.x, mask.x), finish.masked(words.y, mask.y)};
  }
  if (finish.activated.kind == Activation::none) {
    *reinterpret_cast<uint2*>(result.to + element) = words;
  } else {
    finish.activated.with_change([&](auto change) {
      finish.activated.write(result.to, static_cast<unsigned>(element), words, change);
    });
  }
}

template <class Math>
void launch_sum(const OpCall& call, const Cut& cut, const Result<Math>& result) {
  if (cut.parts <= 1) return;
  const auto blocks = static_cast<unsigned>(divide_up(cut.elements() / 4, kSumThreads));
  run_kernel(call, "the sum of the parts", {blocks, kSumThreads}, linear_hopper_sum<Math>, cut, result);
}

/// Boxes of 64 x 64 elements of a row-major matrix.
inline CUtensorMap map_of(const void* data, std::int64_t rows, int columns, core::Precision precision) {
  return tiles::map_filters({data, static_cast<int>(rows), 1, columns, false}, kSlice, precision);
}

}  // namespace
}  // namespace warpscope::ops::linear::hopper
