#pragma once
// The matrix product behind the variants `wmma`, on tensor cores by CUDA's interface for warps (nvcuda::wmma):
//
//   C[m,n] = sum over k of A(m,k) B(k,n)
//
// A block of eight warps computes a tile of C, 128x64, 128x16 or 16x128. It brings 64 bytes of k of A and B at a time
// to shared memory, where what does not exist is zero, so that any number of channels becomes one of whole fragments
// (16x16x16, in TF32 16x16x8). The next of these is read into registers while the present one is multiplied, and
// stored into a second buffer. Where tiles are too few to fill a GPU, several blocks share the sum of one, and a
// second kernel adds their parts in a fixed order: results have the same bits every time. Sums are FP32.
//
// A and B are sources, which find element (major, minor) of a matrix that may exist nowhere; elements of neighbouring
// minors lie beside each other in memory. Majors are either the lines of C (depth_first) or k.
// Source: NVIDIA, "CUDA C++ Programming Guide", "Warp Matrix Functions".

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>
#include <mma.h>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"
#include "gpu/ops/wmma_cut.h"

namespace warpscope::ops::wmma {

inline constexpr int kWarps = 8;
inline constexpr int kThreads = 32 * kWarps;

/// How elements stored as T are multiplied. FP32 is rounded to TF32 on its way to shared memory: the multiplication
/// itself would cut the low bits off.
template <class T>
struct Arithmetic;
template <>
struct Arithmetic<__half> {
  using Operand = __half;
  static constexpr int depth = 16;
};
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
template <>
struct Arithmetic<__nv_bfloat16> {
  using Operand = __nv_bfloat16;
  static constexpr int depth = 16;
};
template <>
struct Arithmetic<float> {
  using Operand = nvcuda::wmma::precision::tf32;
  static constexpr int depth = 8;
};
__device__ __forceinline__ float rounded(float value) {
  return nvcuda::wmma::__float_to_tf32(value);
}
template <class T>
inline constexpr bool kCompiled = true;
#else
template <class T>
inline constexpr bool kCompiled = std::is_same_v<T, __half>;
#endif
template <class T>
__device__ __forceinline__ T rounded(T value) {
  return value;
}

template <class T, class Use, class Order = void>
using Fragment =
    nvcuda::wmma::fragment<Use, kSide, kSide, Arithmetic<T>::depth, typename Arithmetic<T>::Operand, Order>;
template <class T>
using Sum = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kSide, kSide, Arithmetic<T>::depth, float>;

/// A tile of C and how its warps share it.
template <TileKind kKind, int kWarpsDown, int kWarpsAcross>
struct TileOf {
  static constexpr int rows = extents_of(kKind).rows;
  static constexpr int columns = extents_of(kKind).columns;
  static constexpr int warps_across = kWarpsAcross;
  static constexpr int down = rows / kWarpsDown / kSide;  ///< fragments of a warp
  static constexpr int across = columns / kWarpsAcross / kSide;
  static_assert(kWarpsDown * kWarpsAcross == kWarps);
};
using WideTile = TileOf<TileKind::wide, 4, 2>;
using NarrowTile = TileOf<TileKind::narrow, 8, 1>;
using FlatTile = TileOf<TileKind::flat, 1, 8>;

/// How a part of A or B with `kLines` lines of C lies in shared memory, and which of its 16-byte chunks a thread
/// brings.
template <class T, int kLines, bool kDepthFirst>
struct Layout {
  static constexpr int per_chunk = kWide<T>;
  static constexpr int depth = kDepthBytes / static_cast<int>(sizeof(T));
  static constexpr int majors = kDepthFirst ? kLines : depth;
  static constexpr int minors = kDepthFirst ? depth : kLines;
  static constexpr int pitch = minors + per_chunk;  ///< from one major to the next; in other banks
  static constexpr int elements = majors * pitch;
  static constexpr int chunks = minors / per_chunk;  ///< of a major
  static constexpr int step = kThreads / chunks;     ///< from a thread's major to its next
  static constexpr int count = (majors + step - 1) / step;
  static_assert(elements * sizeof(T) % 32 == 0, "fragments are read from addresses that are multiples of 32");

  /// Where the fragment begins that holds `line` and `k`.
  __device__ static constexpr int place(int line, int k) {
    return kDepthFirst ? line * pitch + k : k * pitch + line;
  }
};

/// One factor of the product: where its elements are, whether its majors are lines of C, whether chunks can be read as
/// such.
template <class From, bool kDepthFirst, bool kVectors>
struct Factor {
  using Element = typename From::Element;
  static constexpr bool depth_first = kDepthFirst;
  static constexpr bool vectors = kVectors;
  From source;
};

/// What a thread brings of a factor: read by fetch(), written to shared memory by store().
template <class Of, int kLines>
class Loader {
 public:
  using T = typename Of::Element;
  using Lay = Layout<T, kLines, Of::depth_first>;

  __device__ __forceinline__ Loader(const Of& of, int first_line)
      : source_(of.source),
        major_(static_cast<int>(threadIdx.x) / Lay::chunks),
        minor_(static_cast<int>(threadIdx.x) % Lay::chunks * Lay::per_chunk) {
    if constexpr (Of::depth_first) {
#pragma unroll
      for (int i = 0; i < Lay::count; ++i) majors_[i] = source_.major(first_line + major_ + i * Lay::step);
    } else {
      find_minors(first_line);
    }
  }

  /// What belongs to `k` and the depth of a part behind it.
  __device__ __forceinline__ void fetch(int k) {
    if constexpr (Of::depth_first) find_minors(k);
#pragma unroll
    for (int i = 0; i < Lay::count; ++i) {
      if (!has(i)) continue;
      if constexpr (!Of::depth_first) majors_[i] = source_.major(k + major_ + i * Lay::step);
      read(majors_[i], chunks_[i]);
    }
  }

  __device__ __forceinline__ void store(T* tile) const {
#pragma unroll
    for (int i = 0; i < Lay::count; ++i) {
      if (!has(i)) continue;
      Chunk chunk;
#pragma unroll
      for (int e = 0; e < Lay::per_chunk; ++e) chunk.at[e] = rounded(chunks_[i].at[e]);
      *reinterpret_cast<Chunk*>(tile + (major_ + i * Lay::step) * Lay::pitch + minor_) = chunk;
    }
  }

 private:
  using Chunk = Vec<T, Lay::per_chunk>;
  static constexpr int kMinors = Of::vectors ? 1 : Lay::per_chunk;

  __device__ __forceinline__ bool has(int i) const {
    return Lay::majors % Lay::step == 0 || major_ + i * Lay::step < Lay::majors;
  }
  __device__ __forceinline__ void find_minors(int first) {
#pragma unroll
    for (int e = 0; e < kMinors; ++e) minors_[e] = source_.minor(first + minor_ + e);
  }
  __device__ __forceinline__ void read(const typename decltype(Of::source)::Major& major, Chunk& to) const {
    if constexpr (Of::vectors) {
      const T* from = source_.find(major, minors_[0]);
      to = from != nullptr ? *reinterpret_cast<const Chunk*>(from) : Chunk{};
    } else {
#pragma unroll
      for (int e = 0; e < Lay::per_chunk; ++e) {
        const T* from = source_.find(major, minors_[e]);
        to.at[e] = from != nullptr ? *from : from_float<T>(0.0f);
      }
    }
  }

  const decltype(Of::source)& source_;
  int major_;  ///< the thread's first, in the part
  int minor_;
  typename decltype(Of::source)::Major majors_[Lay::count];
  typename decltype(Of::source)::Minor minors_[kMinors];
  Chunk chunks_[Lay::count];
};

/// What is done to a sum before it is stored: [bias] [ReLU, which lets NaN pass].
template <class T>
struct Finish {
  const T* bias;  ///< none if nullptr
  bool relu;

  __device__ __forceinline__ float operator()(float sum, int column) const {
    if (bias != nullptr) sum += to_float(bias[column]);
    return relu && sum < 0.0f ? 0.0f : sum;
  }
};

struct Problem {
  Sizes sizes;
  int column_tiles;
  int split_depth;
  bool splits;   ///< whether parts of the sums go to the workspace
  bool vectors;  ///< whether four columns of C can be written as one
};

/// Writes the four sums from `column` on.
template <class Out, class Finishing>
__device__ __forceinline__ void write_four(const Problem& q, const float* sums, std::int64_t row, int column,
                                           const Finishing& finish, Out* c) {
  Out* to = c + row * q.sizes.columns + column;
  if (q.vectors && column < q.sizes.columns) {
    Vec<Out, 4> four;
#pragma unroll
    for (int e = 0; e < 4; ++e) four.at[e] = from_float<Out>(finish(sums[e], column + e));
    *reinterpret_cast<Vec<Out, 4>*>(to) = four;
    return;
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (column + e < q.sizes.columns) to[e] = from_float<Out>(finish(sums[e], column + e));
  }
}

/// Writes a warp's sums, 16 rows at a time by way of its own `scratch`: which element of a fragment a lane holds is
/// not told.
template <class Tile, class T, class Out>
__device__ __forceinline__ void write_sums(const Problem& q, const Sum<T> (&sums)[Tile::down][Tile::across],
                                           float* scratch, int row, int column, const Finish<T>& finish,
                                           Out* c, float* parts) {
  constexpr int kPitch = Tile::across * kSide + 4;
  constexpr int kFours = Tile::across * kSide / 4;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < Tile::down; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::across; ++j) {
      nvcuda::wmma::store_matrix_sync(scratch + j * kSide, sums[i][j], kPitch, nvcuda::wmma::mem_row_major);
    }
    __syncwarp();
#pragma unroll
    for (int four = lane; four < kSide * kFours; four += 32) {
      const int m = row + i * kSide + four / kFours;
      const int n = column + four % kFours * 4;
      const float* from = scratch + four / kFours * kPitch + four % kFours * 4;
      if (m >= q.sizes.rows) continue;
      if (q.splits) {
        const std::int64_t line = std::int64_t{blockIdx.y} * q.sizes.rows + m;
        write_four(q, from, line, n, Finish<T>{nullptr, false}, parts);
      } else {
        write_four(q, from, m, n, finish, c);
      }
    }
    __syncwarp();
  }
}

/// Adds the products of one part in shared memory. `row` and `column` are the warp's, in the tile.
template <class Tile, class T, class LayA, class LayB, bool kADepthFirst, bool kBDepthFirst>
__device__ __forceinline__ void multiply_part(Sum<T> (&sums)[Tile::down][Tile::across], const T* a,
                                              const T* b, int row, int column) {
  using namespace nvcuda::wmma;
  using OrderA = std::conditional_t<kADepthFirst, row_major, col_major>;
  using OrderB = std::conditional_t<kBDepthFirst, col_major, row_major>;
#pragma unroll
  for (int k = 0; k < LayA::depth; k += Arithmetic<T>::depth) {
    Fragment<T, matrix_a, OrderA> left[Tile::down];
    Fragment<T, matrix_b, OrderB> right[Tile::across];
#pragma unroll
    for (int i = 0; i < Tile::down; ++i) {
      load_matrix_sync(left[i], a + LayA::place(row + i * kSide, k), LayA::pitch);
    }
#pragma unroll
    for (int j = 0; j < Tile::across; ++j) {
      load_matrix_sync(right[j], b + LayB::place(column + j * kSide, k), LayB::pitch);
    }
#pragma unroll
    for (int i = 0; i < Tile::down; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::across; ++j) mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
    }
  }
}

template <class Tile, class A, class B, class T, class Out>
__device__ __forceinline__ void multiply_tile(const Problem& q, const A& a_factor, const B& b_factor,
                                              const Finish<T>& finish, Out* c, float* parts) {
  using LoaderA = Loader<A, Tile::rows>;
  using LoaderB = Loader<B, Tile::columns>;
  using LayA = typename LoaderA::Lay;
  using LayB = typename LoaderB::Lay;
  constexpr int kStage = LayA::elements + LayB::elements;
  constexpr int kScratch = kSide * (Tile::across * kSide + 4);
  constexpr std::size_t kBytes = std::max(2 * kStage * sizeof(T), kWarps * kScratch * sizeof(float));
  __shared__ __align__(128) unsigned char shared[kBytes];
  auto* buffer = reinterpret_cast<T*>(shared);

  const int first_row = static_cast<int>(blockIdx.x) / q.column_tiles * Tile::rows;
  const int first_column = static_cast<int>(blockIdx.x) % q.column_tiles * Tile::columns;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / Tile::warps_across * Tile::down * kSide;
  const int column = warp % Tile::warps_across * Tile::across * kSide;
  const int begin = static_cast<int>(blockIdx.y) * q.split_depth;
  const int end = min(begin + q.split_depth, q.sizes.depth);

  LoaderA a(a_factor, first_row);
  LoaderB b(b_factor, first_column);
  Sum<T> sums[Tile::down][Tile::across];
#pragma unroll
  for (int i = 0; i < Tile::down; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::across; ++j) nvcuda::wmma::fill_fragment(sums[i][j], 0.0f);
  }
  const auto fetch = [&](int k) {
    a.fetch(k);
    b.fetch(k);
  };
  const auto store = [&](T* to) {
    a.store(to);
    b.store(to + LayA::elements);
  };
  fetch(begin);
  store(buffer);
  __syncthreads();
  int present = 0;
  for (int k = begin; k < end; k += LayA::depth) {
    const bool more = k + LayA::depth < end;
    if (more) fetch(k + LayA::depth);
    const T* from = buffer + present * kStage;
    multiply_part<Tile, T, LayA, LayB, A::depth_first, B::depth_first>(sums, from, from + LayA::elements, row,
                                                                       column);
    present ^= 1;
    // All have left this buffer: they have met since it was multiplied.
    if (more) store(buffer + present * kStage);
    __syncthreads();
  }
  write_sums<Tile, T>(q, sums, reinterpret_cast<float*>(shared) + warp * kScratch, first_row + row,
                      first_column + column, finish, c, parts);
}

template <class Tile, class A, class B, class T, class Out>
__global__ void __launch_bounds__(kThreads, 2)
    wmma_product(const __grid_constant__ Problem q, const __grid_constant__ A a, const __grid_constant__ B b,
                 Finish<T> finish, Out* __restrict__ c, float* __restrict__ parts) {
  if constexpr (kCompiled<T>) multiply_tile<Tile>(q, a, b, finish, c, parts);
}

/// C from the parts of its sums, which lie behind each other.
template <class T, class Out>
__global__ void __launch_bounds__(kElementThreads)
    wmma_sum_of_parts(unsigned count, unsigned columns, unsigned splits, const float* __restrict__ parts,
                      Finish<T> finish, Out* __restrict__ c) {
  for (auto e = first_element<unsigned>(); e < count; e += element_stride<unsigned>()) {
    float sum = 0.0f;
#pragma unroll 8
    for (unsigned split = 0; split < splits; ++split) sum += parts[std::uint64_t{split} * count + e];
    c[e] = from_float<Out>(finish(sum, static_cast<int>(e % columns)));
  }
}

/// Launches the product of two factors.
template <class Tile, class A, class B, class T, class Out>
void launch_product(const OpCall& call, const Sizes& sizes, const Cut& cut, const A& a, const B& b,
                    const Finish<T>& finish, Out* c) {
  const bool splits = cut.splits > 1;
  const bool vectors =
      sizes.columns % 4 == 0 && (splits || reinterpret_cast<std::uintptr_t>(c) % sizeof(Vec<Out, 4>) == 0);
  const Problem problem{sizes, cut.column_tiles, cut.split_depth, splits, vectors};
  const dim3 blocks(static_cast<unsigned>(cut.row_tiles) * static_cast<unsigned>(cut.column_tiles),
                    static_cast<unsigned>(cut.splits));
  run_kernel(call, "product", {blocks, kThreads}, wmma_product<Tile, A, B, T, Out>, problem, a, b, finish, c,
             call.workspace);
  if (!splits) return;
  const std::int64_t count = std::int64_t{sizes.rows} * sizes.columns;
  run_kernel(call, "sum of the parts", {element_blocks(count)}, wmma_sum_of_parts<T, Out>, count,
             sizes.columns, cut.splits, call.workspace, finish, c);
}

/// Calls f with std::true_type or std::false_type.
template <class F>
void with_flag(bool flag, F f) {
  if (flag) return f(std::true_type{});
  f(std::false_type{});
}

/// Whether `minors` elements beside each other, again and again from `memory` on, are whole chunks.
template <class T>
bool has_chunks(std::int64_t minors, const T* memory) {
  return minors % kWide<T> == 0 && aligned_16(memory);
}

}  // namespace warpscope::ops::wmma
