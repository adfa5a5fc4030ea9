#pragma once
// What a block of `split_k` does: it walks through its chunks of depth with kStages - 1 of them on their way,
// adds up the sums of its groups of threads, and finishes the tile; or, where the depth is split, leaves the
// tile's part in the workspace and finishes it only if it is the last of the tile to do so, from all parts in
// their order.

#include <type_traits>

#include "gpu/ops/activation.h"
#include "gpu/ops/linear/split_k_strips.cuh"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::linear::split_k {

/// The bias and the activation: kRelu: ReLU or none, in fewer instructions; a NaN stays.
template <class T, bool kRelu>
struct BiasAndActivation {
  using Out = T;
  static constexpr bool kRowSums = false;
  const T* bias = nullptr;
  Activation activation = Activation::none;
  /// Takes what an activation reads whose derivative reads that, where somebody else does.
  T* kept = nullptr;

  __device__ __forceinline__ float operator()(float sum, std::uint64_t element, unsigned column) const {
    if (bias != nullptr) sum += to_float(bias[column]);
    if constexpr (kRelu) return activation == Activation::relu ? activations::Relu::value(sum) : sum;
    with_kept_activation(activation, [&]<class A>(A) {
      const T rounded = from_float<T>(sum);  // as the derivative reads it
      if (kept != nullptr) kept[element] = rounded;
      sum = A::value(to_float(rounded));
    });
    return sum;
  }
};

/// The gradient of an activation's input: kRelu: of ReLU's, or of none, in fewer instructions.
template <class T, bool kRelu>
struct Derivative {
  using Out = T;
  static constexpr bool kRowSums = false;
  Activation activation = Activation::none;
  const T* beside = nullptr;  ///< what the derivative reads

  __device__ __forceinline__ float operator()(float sum, std::uint64_t element, unsigned) const {
    if constexpr (kRelu) {
      return beside == nullptr ? sum : activations::Relu::gradient(sum, to_float(beside[element]));
    }
    with_kept_activation(activation, [&]<class A>(A) { sum = A::gradient(sum, to_float(beside[element])); });
    return sum;
  }
};

/// Calls f with the kRelu of the functors above, as a type.
template <class F>
void with_relu_or_more(Activation kind, F f) {
  if (reads_input(kind)) return f(std::false_type{});
  f(std::true_type{});
}

/// A gradient of weights, and with `to` that of the bias: the sums over the depth of the rows of A.
struct RowSums {
  using Out = float;
  static constexpr bool kRowSums = true;
  float* to = nullptr;

  __device__ __forceinline__ float operator()(float sum, std::uint64_t, unsigned) const { return sum; }
};

/// A product and its cut. `parts` and `arrived` (a count for each tile, 0 before and after): only where it is
/// split.
template <class T, class Finish>
struct Job {
  Cut cut;
  unsigned depth;
  Factor<T> a;
  Factor<T> b;
  typename Finish::Out* c;
  bool wide;  ///< four neighbours in a row of C may be written as one
  Finish finish;
  float* parts;
  unsigned* arrived;
};

/// Shared memory of a block and where in it things lie. The sums of the groups follow where the strips were.
template <class Tile, bool ADepthFirst, bool BDepthFirst>
struct Layout {
  using T = typename Tile::Value;
  using A = Strip<T, Tile::kTile, ADepthFirst>;
  using B = Strip<T, Tile::kTile, BDepthFirst>;
  static constexpr unsigned kStageBytes = A::kBytes + B::kBytes;
  static constexpr unsigned kSumStride = Tile::kTile + 4;
  static constexpr unsigned kGroupFloats = Tile::kTile * kSumStride;
  static constexpr unsigned kSumFloats = Tile::kGroups * kGroupFloats + Tile::kThreads;
  static constexpr unsigned kBytes =
      Tile::kStages * kStageBytes > kSumFloats * 4 ? Tile::kStages* kStageBytes : kSumFloats * 4;
};

template <class Tile, bool ADepthFirst, bool BDepthFirst, class Finish>
class Block {
 public:
  using T = typename Tile::Value;
  using L = Layout<Tile, ADepthFirst, BDepthFirst>;
  using A = typename L::A;
  using B = typename L::B;
  using J = Job<T, Finish>;

  __device__ __forceinline__ Block(const J& job, unsigned block, unsigned char* shared)
      : job_(job),
        shared_(shared),
        tile_(block % job.cut.tiles),
        split_(block / job.cut.tiles),
        first_row_(tile_ / job.cut.across * kSide),
        first_column_(tile_ % job.cut.across * kSide) {}

  __device__ __forceinline__ void run() {
    Tile tile;
    add_chunks(tile);
    mma::wait_copies<0>();
    __syncthreads();  // the sums lie where the strips were
    auto* sums = reinterpret_cast<float*>(shared_);
    tile.template store<A, B>(sums, L::kSumStride);
    float* rows = sums + Tile::kGroups * L::kGroupFloats;
    if (adds_rows()) rows[threadIdx.x] = row_sum_;
    __syncthreads();
    if (job_.cut.splits == 1) {
      for_each_vector([&](unsigned row, unsigned column, unsigned) {
        finish(row, column, of_groups(sums, row, column));
      });
      if (adds_rows() && threadIdx.x < kSide) finish_row(of_threads(rows));
      return;
    }
    float* part = part_of(split_);
    for_each_vector([&](unsigned row, unsigned column, unsigned place) {
      *reinterpret_cast<Four*>(part + place) = of_groups(sums, row, column);
    });
    if (adds_rows() && threadIdx.x < kSide) part[kSide * kSide + threadIdx.x] = of_threads(rows);
    if (arrives_last()) finish_parts();
  }

 private:
  static constexpr unsigned kSide = Tile::kTile;
  static constexpr unsigned kThreads = Tile::kThreads;
  using Four = Vec<float, 4>;

  __device__ __forceinline__ bool adds_rows() const {
    if constexpr (Finish::kRowSums) return job_.finish.to != nullptr && first_column_ == 0;
    return false;
  }

  __device__ __forceinline__ void load(unsigned chunk, unsigned stage) const {
    unsigned char* strips = shared_ + stage * L::kStageBytes;
    load_strip<A, kThreads>(strips, job_.a, job_.depth, first_row_, chunk * A::kDepth);
    load_strip<B, kThreads>(strips + A::kBytes, job_.b, job_.depth, first_column_, chunk * B::kDepth);
  }

  __device__ __forceinline__ void add_chunks(Tile& tile) {
    constexpr unsigned kAhead = Tile::kStages - 1;
    const unsigned first = split_ * job_.cut.chunks;
    const unsigned all = (job_.depth + A::kDepth - 1) / A::kDepth;
    const unsigned count = min(job_.cut.chunks, all - first);
    for (unsigned i = 0; i < kAhead; ++i) {
      if (i < count) load(first + i, i);
      mma::commit_copies();
    }
    unsigned stage = 0;
    for (unsigned i = 0; i < count; ++i) {
      mma::wait_copies<static_cast<int>(kAhead) - 1>();
      __syncthreads();  // what all threads copied is there, and the stage before this one is free
      if (i + kAhead < count) load(first + i + kAhead, stage == 0 ? kAhead : stage - 1);
      mma::commit_copies();
      const unsigned char* strips = shared_ + stage * L::kStageBytes;
      tile.template add<A, B>(strips, strips + A::kBytes);
      if (adds_rows()) add_rows(strips);
      stage = stage == kAhead ? 0 : stage + 1;
    }
  }

  /// Each thread takes a row and the depths that are its turn.
  __device__ __forceinline__ void add_rows(const unsigned char* strip) {
    constexpr unsigned kLanes = kThreads / kSide;
    const unsigned row = threadIdx.x % kSide;
#pragma unroll 4
    for (unsigned k = threadIdx.x / kSide; k < A::kDepth; k += kLanes) {
      row_sum_ += to_float(*reinterpret_cast<const T*>(strip + A::offset(row, k)));
    }
  }
  static __device__ __forceinline__ float of_threads(const float* rows) {
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < kThreads; i += kSide) sum += rows[i];
    return sum;
  }

  /// Calls f(row, column, place) for the vectors of four of the tile that are this thread's.
  template <class F>
  static __device__ __forceinline__ void for_each_vector(F f) {
    constexpr unsigned kVectors = kSide * kSide / 4;
#pragma unroll
    for (unsigned v = threadIdx.x; v < kVectors; v += kThreads) {
      f(v / (kSide / 4), v % (kSide / 4) * 4, v * 4);
    }
  }

  static __device__ __forceinline__ Four of_groups(const float* sums, unsigned row, unsigned column) {
    Four total = *reinterpret_cast<const Four*>(sums + row * L::kSumStride + column);
#pragma unroll
    for (unsigned g = 1; g < Tile::kGroups; ++g) {
      add(total, *reinterpret_cast<const Four*>(sums + g * L::kGroupFloats + row * L::kSumStride + column));
    }
    return total;
  }

  static __device__ __forceinline__ void add(Four& total, const Four& more) {
#pragma unroll
    for (int i = 0; i < 4; ++i) total.at[i] += more.at[i];
  }

  __device__ __forceinline__ float* part_of(unsigned split) const {
    return job_.parts + (std::uint64_t{tile_} * job_.cut.splits + split) * part_floats(kSide);
  }

  /// True in the last block of the tile, for which the parts of all are then visible.
  __device__ __forceinline__ bool arrives_last() const {
    __threadfence();
    __syncthreads();
    auto* last = reinterpret_cast<unsigned*>(shared_);
    if (threadIdx.x == 0) {
      const unsigned before = job_.cut.splits - 1;
      *last = atomicInc(job_.arrived + tile_, before) == before;  // wraps to 0: ready for the next call
      __threadfence();
    }
    __syncthreads();
    return *last != 0;
  }

  __device__ __forceinline__ void finish_parts() const {
    for_each_vector([&](unsigned row, unsigned column, unsigned place) {
      Four total = read(part_of(0) + place);
#pragma unroll 4
      for (unsigned split = 1; split < job_.cut.splits; ++split) add(total, read(part_of(split) + place));
      finish(row, column, total);
    });
    if (!adds_rows() || threadIdx.x >= kSide) return;
    float total = 0.0f;
#pragma unroll 4
    for (unsigned split = 0; split < job_.cut.splits; ++split) {
      total += __ldcg(part_of(split) + kSide * kSide + threadIdx.x);
    }
    finish_row(total);
  }

  static __device__ __forceinline__ Four read(const float* from) {
    const float4 four = __ldcg(reinterpret_cast<const float4*>(from));
    return {four.x, four.y, four.z, four.w};
  }

  __device__ __forceinline__ void finish(unsigned row, unsigned column, const Four& sums) const {
    const unsigned m = first_row_ + row;
    const unsigned n = first_column_ + column;
    if (m >= job_.a.lines || n >= job_.b.lines) return;
    const std::uint64_t element = std::uint64_t{m} * job_.b.lines + n;
    float values[4];
    const unsigned there = min(job_.b.lines - n, 4u);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      values[i] = i < there ? job_.finish(sums.at[i], element + i, n + i) : 0.0f;
    if (job_.wide) {
      store_floats(job_.c + element, values);
      return;
    }
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      if (i < there) job_.c[element + i] = from_float<typename Finish::Out>(values[i]);
    }
  }

  __device__ __forceinline__ void finish_row(float sum) const {
    if constexpr (Finish::kRowSums) {
      if (first_row_ + threadIdx.x < job_.a.lines) job_.finish.to[first_row_ + threadIdx.x] = sum;
    }
  }

  const J& job_;
  unsigned char* shared_;
  unsigned tile_;
  unsigned split_;
  unsigned first_row_;
  unsigned first_column_;
  float row_sum_ = 0.0f;
};

}  // namespace warpscope::ops::linear::split_k
