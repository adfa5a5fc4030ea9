// conv2d.forward, variant `shared_rows_normed`: over `shared_rows` it adds the layer norm behind the convolution, the
// ReLU behind that, if there is one, and the max pooling in windows of two or three positions of a row. Only what is
// pooled is written: what passes between the ops of a network's first layers is far more than all that it reads and
// writes. The places of the largest and the statistics of the norm, which backward passes read, are omitted.
//
//   v[p] = table[b[p]][0] + table[b[p + 1]][1] + ... + bias   in FP32
//   y[w] = max over the positions p of window w of relu(norm(v[p]))
//
// Tensor cores add the rows of a position, which lie in shared memory, and centre the sums (shared_rows_sums.cuh).
// A warp takes 24 positions next to each other, a lane 6 of them and 16 filters, so that a window's positions are a
// lane's own and its filters lie next to each other.
//
// 71 symbols of 7 taps and 256 filters are more than the shared memory holds: the two blocks of a cluster take 128
// filters each. Warps of the same number of both work on the same positions and send each other the sums of squares
// of their filters. A place for them is written again two rounds later: whoever writes it has waited for what the
// reader sent one round later.
//
// A first kernel puts the table of both blocks into the workspace.
//
// Limits: compute capability 9.0 and 10.x; 16 bits; kernels of one row and 3, 5 or 7 taps without stride and
// dilation; filters in multiples of 8, at most 256; 106 characters with 7 taps, 142 with 5, 215 with 3. y aligned to
// 16 bytes, which the memory of plans is. There are as many blocks as 132 multiprocessors run at once. Source:
// rows.h; layer_norm.cpp; maxpool2d.cpp.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_ptx.cuh"
#include "gpu/ops/conv2d/fused/rows/rows.h"
#include "gpu/ops/conv2d/fused/rows/shared_rows_sums.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/layer_norm/layer_norm_at_once.cuh"
#include "gpu/ops/linear/hopper_cluster.cuh"
#include "gpu/ops/mma.cuh"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace fused::rows {
namespace {

namespace cluster = linear::hopper;

constexpr int kThreads = 384;
constexpr int kWarps = kThreads / 32;
constexpr int kBuffers = 2;
constexpr int kMostTableBytes = 217 * 1024;

template <class T>
struct Problem {
  const T* x;
  const T* gamma;
  const T* beta;
  T* y;
  const uint4* rows;   ///< of both blocks
  std::int64_t lines;  ///< of text
  int width, output_width, padding;
  int rounds;  ///< of a line
  int characters, filters;
  float of_all;  ///< 1 / filters
  float least;   ///< 0: a ReLU comes before the pooling; else -INFINITY
};

/// Copies this block's part of a number of each filter; 0 stands where there is no filter.
template <class T>
__device__ __forceinline__ void copy_of_filters(const T* from, int first, int filters, float* to) {
  for (int k = static_cast<int>(threadIdx.x); k < kHalf; k += kThreads) {
    to[k] = first + k < filters ? to_float(from[first + k]) : 0.0f;
  }
}

/// The rounds of a warp, one after the other: so many positions of a line. Both blocks of a cluster have the same.
template <class T>
class Rounds {
 public:
  __device__ __forceinline__ explicit Rounds(const Problem<T>& q)
      : q_(q), round_(std::int64_t{blockIdx.x / kBlocks} * kWarps + threadIdx.x / 32) {
    find();
  }
  __device__ __forceinline__ bool at_end() const { return line_ >= q_.lines; }
  __device__ __forceinline__ void advance() {
    round_ += std::int64_t{gridDim.x / kBlocks} * kWarps;
    find();
  }
  __device__ __forceinline__ std::int64_t line() const { return line_; }
  /// The first position of the round in its line.
  __device__ __forceinline__ int position() const { return position_; }
  /// What is stored of the lane's character; 0, which is none, in the padding and at the end.
  __device__ __forceinline__ T stored() const {
    const int column = position_ + static_cast<int>(threadIdx.x) % 32 - q_.padding;
    const bool exists = !at_end() && static_cast<unsigned>(column) < static_cast<unsigned>(q_.width);
    return exists ? q_.x[line_ * q_.width + column] : from_float<T>(0.0f);
  }

 private:
  __device__ __forceinline__ void find() {
    line_ = norm::quotient(round_, q_.rounds);
    position_ = static_cast<int>(round_ - line_ * q_.rounds) * kPositions;
  }

  const Problem<T>& q_;
  std::int64_t round_, line_;
  int position_;
};

/// What lanes of a position have of its sums: those of a member's six positions lie in lanes of different groups.
struct Spread {
  int own;      ///< of the member's positions the lane's; of two lanes with the same
  bool writes;  ///< the first

  __device__ __forceinline__ explicit Spread(int group) {
    own = group < 4 ? group : 4 + group % 2;
    writes = group < kOwn;
  }
  /// The lane's sum of those over all lanes of the member. Every lane of the warp must call it.
  static __device__ __forceinline__ float over_groups(float (&sums)[kOwn]) {
    float three[3], two[2], one[1];
    norm::fold(sums, three, kMembers);
    norm::fold(three, two, 2 * kMembers);
    norm::fold(two, one, 4 * kMembers);
    return one[0];
  }
  /// The value of the lane that has position k of this lane's member.
  static __device__ __forceinline__ float of_position(float value, int k) {
    return __shfl_sync(0xffffffffu, value, k * kMembers + static_cast<int>(threadIdx.x) % kMembers);
  }
};

/// The exchange of a warp with that of the same number in the other block: a number a position and round.
class Exchange {
 public:
  using Parts = float[kPositions];

  __device__ __forceinline__ Exchange(const Parts* parts, const std::uint64_t* barriers, unsigned rank)
      : parts_(parts), barriers_(barriers), other_(1 - rank) {}

  /// Sends that of the lane's position, if the lane `writes`, and gives the other's. Every lane of the warp must
  /// call it.
  __device__ __forceinline__ float swap(float value, int position, bool writes) {
    const Parts& parts = parts_[round_ % kBuffers];
    const mma::SharedAddress barrier = mma::shared_address(&barriers_[round_ % kBuffers]);
    const unsigned parity = round_ / kBuffers % 2;
    ++round_;
    if (threadIdx.x % 32 == 0) hopper::arrive_expecting(barrier, sizeof(Parts));
    if (writes) {
      cluster::send(cluster::address_in(mma::shared_address(&parts[position]), other_),
                    cluster::address_in(barrier, other_), value);
    }
    cluster::wait_of_cluster(barrier, parity);
    return parts[position];
  }

 private:
  const Parts* parts_;
  const std::uint64_t* barriers_;
  unsigned other_;
  unsigned round_ = 0;
};

/// The sum of squares of each of a lane's positions over its filters.
template <int P>
__device__ __forceinline__ void add_squares(const Values<P>& values, const bool (&exists)[2],
                                            float (&squares)[kOwn]) {
#pragma unroll
  for (int k = 0; k < kOwn; ++k) {
    squares[k] = 0.0f;
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < 8; ++i) sum += values[u][k / P][k % P].at[0][i] * values[u][k / P][k % P].at[0][i];
      squares[k] += exists[u] ? sum : 0.0f;
    }
  }
}

/// What a block keeps beside the table.
struct Shared {
  Exchange::Parts parts[kWarps][kBuffers];
  unsigned symbols[kWarps][32];  // where the rows of a character begin in the table
  alignas(16) float gamma[kHalf];
  alignas(16) float beta[kHalf];
  std::uint64_t barriers[kWarps][kBuffers];
};

/// Writes the lane's part of the pooled windows of a round that are whole.
template <class T, int P>
__device__ __forceinline__ void write_windows(const Problem<T>& q, const Values<P>& values,
                                              const Shared& shared, const float (&factors)[kOwn],
                                              std::int64_t line, int position, int group,
                                              const bool (&exists)[2], int first_filter) {
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    if (!exists[u]) continue;
    const int own = 64 * u + 8 * group;
    norm::Scales<8> scales;
    load_floats(shared.gamma + own, scales.gamma);
    load_floats(shared.beta + own, scales.beta);
#pragma unroll
    for (int w = 0; w < kOwn / P; ++w) {
      if (position + (w + 1) * P > q.output_width) continue;
      norm::Moments moments[P];
#pragma unroll
      for (int n = 0; n < P; ++n) moments[n] = {0.0f, 0.0f, factors[w * P + n]};
      const auto largest = norm::largest_at_once<Channels, P, T>(values[u][w], moments, scales, q.least);
      const std::int64_t window = line * (q.output_width / P) + position / P + w;
      const std::int64_t output = window * q.filters + first_filter + own;
      *reinterpret_cast<Vec<T, 8>*>(q.y + output) = largest.values;
    }
  }
}

/// Windows of P positions.
template <class T, int kTaps, int P>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_shared_rows_normed(const __grid_constant__ Problem<T> q) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  static_assert(kTaps < 8 && kOwn % P == 0);
  extern __shared__ __align__(128) unsigned char table[];
  __shared__ Shared shared;
  const unsigned rank = cluster::cluster_rank();
  const auto warp = static_cast<int>(threadIdx.x) / 32;
  const auto lane = static_cast<int>(threadIdx.x) % 32;
  const int group = lane / kMembers;
  const int member = lane % kMembers;
  const int first_filter = static_cast<int>(rank) * kHalf;

  const int chunks = (q.characters + 2) * (symbol_bytes(kTaps) / kChunkBytes);
  const uint4* own_rows = q.rows + static_cast<std::int64_t>(rank) * chunks;
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.x); i < chunks; i += kThreads) {
    reinterpret_cast<uint4*>(table)[i] = own_rows[i];
  }
  copy_of_filters(q.gamma, first_filter, q.filters, shared.gamma);
  copy_of_filters(q.beta, first_filter, q.filters, shared.beta);
  if (lane < kBuffers) hopper::make_barrier(mma::shared_address(&shared.barriers[warp][lane]), 1);
  hopper::publish_barriers();
  __syncthreads();
  cluster::arrive_at_cluster();
  cluster::wait_for_cluster();

  Slots<kTaps> slots(mma::shared_address(table), q.characters);
  unsigned ones[kMembers][2];  // B: column `group`, the first or the second position of pair m
  const unsigned one_twice = mma::narrow_pair(MathOf<T>{}, 1.0f, 1.0f);
#pragma unroll
  for (int m = 0; m < kMembers; ++m) {
    ones[m][0] = group == 2 * m ? one_twice : 0;
    ones[m][1] = group == 2 * m + 1 ? one_twice : 0;
  }
  bool exists[2];
#pragma unroll
  for (int u = 0; u < 2; ++u) exists[u] = first_filter + 64 * u + 8 * group < q.filters;

  const Spread spread(group);
  unsigned* symbols = shared.symbols[warp];
  Exchange exchange(shared.parts[warp], shared.barriers[warp], rank);
  Rounds<T> rounds(q);
  T stored = rounds.stored();
  while (!rounds.at_end()) {
    const auto symbol = static_cast<unsigned>(symbol_of(to_float(stored), q.characters));
    symbols[lane] = symbol * symbol_bytes(kTaps);
    __syncwarp();
    slots.find(symbols);
    __syncwarp();
    const std::int64_t line = rounds.line();
    const int first = rounds.position();
    rounds.advance();
    stored = rounds.stored();
    Negative means;
    Values<P> values;
    add_means<T>(slots, ones, means);
    add_rows<T, kTaps, P>(slots, ones, means, values);
    float sums[kOwn], factors[kOwn];
    add_squares<P>(values, exists, sums);
    const float squares = Spread::over_groups(sums);
    const float theirs = exchange.swap(squares, kOwn * member + spread.own, spread.writes);
    const float factor = reciprocal_deviation((squares + theirs) * q.of_all);
#pragma unroll
    for (int k = 0; k < kOwn; ++k) factors[k] = Spread::of_position(factor, k);
    write_windows<T, P>(q, values, shared, factors, line, first + kOwn * member, group, exists, first_filter);
  }
  cluster::arrive_at_cluster();  // no block ends while the other may still send to it
  cluster::wait_for_cluster();
#else
  __trap();  // this build has no code for sm_90
#endif
}

std::int64_t table_bytes(const OpShape& s) {
  return std::int64_t{s.in_channels + 2} * symbol_bytes(s.kernel_width);
}

std::size_t workspace(const OpShape& s, core::Precision) {
  return static_cast<std::size_t>(kBlocks * table_bytes(s));
}

constexpr int parts(int all, int each) {
  return (all + each - 1) / each;
}

template <class T, int kTaps, int P>
void launch(const OpCall& call) {
  constexpr std::int64_t kProcessors = kPlannedProcessors;
  const OpShape& s = call.shape;
  run_kernel(call, {static_cast<unsigned>((s.in_channels + 2) * (kTaps + 1)), kBlocks * kHalf},
             conv2d_halves_of_rows<T>, Name::weights,
             call.covers(Op::bias_forward) ? call.operand<const T>(Name::bias) : nullptr, s.in_channels,
             s.out_channels, kTaps, call.workspace);
  const Problem<T> problem{call.operand<const T>(Name::input),
                           call.operand<const T>(Name::norm_weights),
                           call.operand<const T>(Name::norm_bias),
                           call.operand<T>(Name::output),
                           static_cast<const uint4*>(call.workspace),
                           s.batch * s.height,
                           s.width,
                           output_width(s),
                           padding_of(s, s.kernel_width),
                           parts(output_width(s), kPositions),
                           s.in_channels,
                           s.out_channels,
                           1.0f / static_cast<float>(s.out_channels),
                           call.covers(Op::relu_forward) ? 0.0f : -INFINITY};
  const std::int64_t rounds = problem.lines * problem.rounds;
  const std::int64_t clusters = std::min(kProcessors / kBlocks, (rounds + kWarps - 1) / kWarps);
  const auto kernel = conv2d_shared_rows_normed<T, kTaps, P>;
  check_kernel(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostTableBytes),
               *call.variant);
  cudaLaunchConfig_t how{};
  how.gridDim = dim3(static_cast<unsigned>(kBlocks * clusters));
  how.blockDim = dim3(kThreads);
  how.dynamicSmemBytes = static_cast<std::size_t>(table_bytes(s));
  how.stream = core::cuda_stream(*call.stream);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {kBlocks, 1, 1};
  how.attrs = &attribute;
  how.numAttrs = 1;
  check_kernel(cudaLaunchKernelEx(&how, kernel, problem), *call.variant);
}

template <class T, int kTaps>
void launch_taps(const OpCall& call) {
  call.shape.window_width == 2 ? launch<T, kTaps, 2>(call) : launch<T, kTaps, 3>(call);
}

template <class T>
void launch_stored(const OpCall& call) {
  switch (call.shape.kernel_width) {
    case 3:
      return launch_taps<T, 3>(call);
    case 5:
      return launch_taps<T, 5>(call);
    default:
      return launch_taps<T, 7>(call);
  }
}

void forward_normed(const OpCall& call) {
  call.precision == core::Precision::fp16 ? launch_stored<__half>(call) : launch_stored<__nv_bfloat16>(call);
}

std::string refuses_normed(const OpShape& s) {
  if (s.kernel_height != 1 || s.stride != 1 || s.dilation != 1) {
    return "takes kernels of one row, without stride and dilation";
  }
  if (s.kernel_width != 3 && s.kernel_width != 5 && s.kernel_width != 7)
    return "takes kernels of 3, 5 or 7 taps";
  if (s.out_channels % 8 != 0 || s.out_channels > kBlocks * kHalf)
    return "takes filters in multiples of 8, at most 256";
  const bool pools = s.covered.has(Op::maxpool2d_forward);
  if (pools && (s.window_height != 1 || s.window_width < 2 || s.window_width > 3)) {
    return "takes pooling in windows of 2 or 3 positions of a row";
  }
  if (table_bytes(s) <= kMostTableBytes) return refuses(s);
  return "its table of " + std::to_string(s.in_channels) + " characters and " +
         std::to_string(s.kernel_width) + " taps takes " + std::to_string((table_bytes(s) + 1023) / 1024) +
         " KB of shared memory, at most 217";
}

}  // namespace
}  // namespace fused::rows

Variant shared_rows_normed_forward() {
  using namespace fused::rows;
  return cuda_variant(
      Op::conv2d_forward, "shared_rows_normed", forward_normed,
      "A layer norm behind it and the max pooling behind that run in the same pass: only what is "
      "pooled is written.",
      {.precisions = {core::Precision::fp16, core::Precision::bf16},
       .minimum_compute_capability = 90,
       .maximum_compute_capability = 109,
       .chain = normed_chain(),
       .omitted = {Name::argmax, Name::statistics},
       .workspace_bytes = workspace,
       .refuses = refuses_normed});
}

}  // namespace warpscope::ops::conv2d
