// conv2d.forward, variant `shared_rows_normed`: over `shared_rows` it adds the layer norm behind the convolution, the
// ReLU behind that, if there is one, and the max pooling in windows of two or three positions of a row. Only what is
// pooled, the places of the largest and the statistics of the norm are written: what passes between the ops of a
// network's first layers is far more than all that it reads and writes.
//
//   v[p] = bias + table[b[p]][0] + table[b[p + 1]][1] + ...   in FP32, tap by tap, then rounded as if it were stored
//   y[w] = max over the positions p of window w of relu(norm(v[p]))
//
// A warp takes a position whole, eight filters a lane, and the positions of a window at once: sums of the norm go by
// shuffles (layer_norm_at_once.cuh). All results have the bits of the ops one by one, but for the sign of a zero.
//
// A first kernel puts the rows, of 512 bytes each, into the workspace, symbol by symbol and tap by tap, with zeros for
// symbol 0 and for filters that do not exist. There is one block on a multiprocessor, which copies the rows to its
// shared memory, of 7 taps the first six: 71 symbols take 213 KB of 227. The rows of the seventh come from the caches;
// they are asked for before the others are added. A warp takes as many windows next to each other at a time as 32
// characters hold. Each of its lanes looks up the symbol of one character, a round ahead.
//
// Limits: compute capability 9.0 and 10.x; 16 bits; kernels of one row and 3, 5 or 7 taps without stride and dilation;
// filters in multiples of 8, at most 256; 72 characters with 7 taps, 86 with 5, 145 with 3. y aligned to 16 bytes,
// which the memory of plans is. There are as many blocks as 132 multiprocessors run at once.
// Bound by instructions. At most 80 registers, none spill. Source: rows.h; layer_norm.h; maxpool2d.h.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "gpu/core/cuda.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/conv2d_variants.h"
#include "gpu/ops/conv2d/fused/rows.h"
#include "gpu/ops/conv2d/fused/shared_rows.cuh"
#include "gpu/ops/layer_norm/layer_norm_at_once.cuh"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d {
namespace fused::rows {
namespace {

namespace norm = layer_norm;

constexpr int kThreads = 768;
constexpr int kWarps = kThreads / 32;
constexpr int kRowBytes = 512;
constexpr int kChunkBytes = 16;
constexpr int kFilters = 256;  // of a row
constexpr int kMostTableBytes = 219 * 1024;
constexpr int kMostSharedTaps = 6;

/// Taps whose rows lie in shared memory.
constexpr int shared_taps(int taps) {
  return std::min(taps, kMostSharedTaps);
}

template <class T>
struct Problem {
  const T* x;
  const T* bias;  ///< or nullptr
  const T* gamma;
  const T* beta;
  T* y;
  std::uint8_t* argmax;
  float* means;
  float* factors;
  const unsigned char* rows;  ///< of all taps, kRowBytes each: (symbols, taps)
  std::int64_t lines;         ///< of text
  int width, output_width, padding;
  int windows;  ///< of a line, those among them that its end cuts off
  int rounds;   ///< of a line
  int characters, filters;
  norm::MeanOf mean_of;
  float least;  ///< 0: a ReLU comes before the pooling; else -INFINITY
};

/// Block: a row. rows[symbol][tap][filter], of weights (K, taps, C).
template <class T>
__global__ void __launch_bounds__(kFilters)
    conv2d_rows_of_symbols(const T* weights, int characters, int filters, int taps, T* rows) {
  const auto symbol = static_cast<int>(blockIdx.x) / taps;
  const auto tap = static_cast<int>(blockIdx.x) % taps;
  const auto filter = static_cast<int>(threadIdx.x);
  const bool exists = symbol > 0 && filter < filters;
  const std::int64_t from = (std::int64_t{filter} * taps + tap) * characters + symbol - 1;
  rows[std::int64_t{blockIdx.x} * kFilters + filter] = exists ? weights[from] : from_float<T>(0.0f);
}

/// Copies the rows of the first kShared of kTaps taps of each symbol.
template <int kTaps, int kShared>
__device__ __forceinline__ void copy_rows(const unsigned char* rows, int symbols, unsigned char* table) {
  constexpr int kChunks = kRowBytes / kChunkBytes;
  const auto* from = reinterpret_cast<const uint4*>(rows);
  auto* to = reinterpret_cast<uint4*>(table);
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < symbols * kShared * kChunks; i += kThreads) {
    to[i] = from[i / (kShared * kChunks) * (kTaps * kChunks) + i % (kShared * kChunks)];
  }
}

/// Copies a number of each filter; 0 stands where there is no filter, or nothing to copy.
template <class T>
__device__ __forceinline__ void copy_of_filters(const T* from, int filters, T* to) {
  for (int k = static_cast<int>(threadIdx.x); k < kFilters; k += kThreads) {
    to[k] = from != nullptr && k < filters ? from[k] : from_float<T>(0.0f);
  }
}

/// The rounds of a warp, one after the other: so many windows of a line.
template <class T, int kWindows, int P>
class Rounds {
 public:
  __device__ __forceinline__ explicit Rounds(const Problem<T>& q)
      : q_(q), round_(std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32) {
    find();
  }
  __device__ __forceinline__ bool at_end() const { return line_ >= q_.lines; }
  __device__ __forceinline__ void advance() {
    round_ += std::int64_t{gridDim.x} * kWarps;
    find();
  }
  __device__ __forceinline__ std::int64_t line() const { return line_; }
  /// The first window of the round in its line.
  __device__ __forceinline__ int window() const { return window_; }
  /// What is stored of the lane's character; 0, which is none, in the padding and at the end.
  __device__ __forceinline__ T stored() const {
    const int column = window_ * P + static_cast<int>(threadIdx.x) % 32 - q_.padding;
    const bool exists = !at_end() && static_cast<unsigned>(column) < static_cast<unsigned>(q_.width);
    return exists ? q_.x[line_ * q_.width + column] : from_float<T>(0.0f);
  }

 private:
  __device__ __forceinline__ void find() {
    line_ = norm::quotient(round_, q_.rounds);
    window_ = static_cast<int>(round_ - line_ * q_.rounds) * kWindows;
  }

  const Problem<T>& q_;
  std::int64_t round_, line_;
  int window_;
};

/// Windows of P positions. kTaps taps, the first kShared of which have their rows in shared memory.
template <class T, int kTaps, int P>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_shared_rows_normed(const __grid_constant__ Problem<T> q) {
  constexpr int kShared = shared_taps(kTaps);
  static_assert(kTaps - kShared <= 1);
  constexpr int W = kWide<T>;
  constexpr int kWindows = (32 - (kTaps - 1)) / P;
  using G = norm::Group<32, 1, W>;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ unsigned in_table[kWarps][32];  // where the rows of a character begin
  __shared__ unsigned in_rows[kWarps][32];
  __shared__ __align__(16) T bias[kFilters];
  __shared__ __align__(16) T gamma[kFilters];
  __shared__ __align__(16) T beta[kFilters];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int filter = lane * W;
  const bool exists = filter < q.filters;
  copy_rows<kTaps, kShared>(q.rows, q.characters + 1, shared);
  copy_of_filters(q.bias, q.filters, bias);
  copy_of_filters(q.gamma, q.filters, gamma);
  copy_of_filters(q.beta, q.filters, beta);
  __syncthreads();

  const mma::SharedAddress table = mma::shared_address(shared);
  const unsigned char* last_rows = q.rows + (kTaps - 1) * kRowBytes + lane * kChunkBytes;
  unsigned* to_table = in_table[threadIdx.x / 32];
  unsigned* to_rows = in_rows[threadIdx.x / 32];
  const int own = norm::own_position<G, P>();
  const bool writes = norm::writes_statistics<G, P>();
  Rounds<T, kWindows, P> rounds(q);
  for (T stored = rounds.stored(); !rounds.at_end();) {
    const auto symbol = static_cast<unsigned>(symbol_of(to_float(stored), q.characters));
    to_table[lane] = table + symbol * (kShared * kRowBytes);
    to_rows[lane] = symbol * (kTaps * kRowBytes);
    __syncwarp();
    const std::int64_t line = rounds.line();
    const int first = rounds.window();
    rounds.advance();
    stored = rounds.stored();
    const int windows = min(kWindows, q.windows - first);
    for (int w = 0; w < windows; ++w) {
      uint4 last[P];
      if constexpr (kShared < kTaps) {
#pragma unroll
        for (int p = 0; p < P; ++p)
          last[p] = __ldg(reinterpret_cast<const uint4*>(last_rows + to_rows[w * P + p + kTaps - 1]));
      }
      float sums[P][W];
#pragma unroll
      for (int p = 0; p < P; ++p) load_floats(bias + filter, sums[p]);
#pragma unroll
      for (int c = 0; c < P + kShared - 1; ++c) {
        const mma::SharedAddress of_character =
            to_table[w * P + c] + static_cast<unsigned>(lane * kChunkBytes);
#pragma unroll
        for (int p = 0; p < P; ++p) {
          if (c >= p && c - p < kShared) add<T>(sums[p], of_character + (c - p) * kRowBytes);
        }
      }
      norm::Row<G> rows[P];
#pragma unroll
      for (int p = 0; p < P; ++p) {
        if constexpr (kShared < kTaps) {
          const unsigned words[4] = {last[p].x, last[p].y, last[p].z, last[p].w};
          add_words<T>(sums[p], words);
        }
#pragma unroll
        for (int i = 0; i < W; ++i) rows[p].at[0][i] = to_float(from_float<T>(sums[p][i]));
      }
      const auto moments = norm::center_at_once<G>(rows, q.filters, q.mean_of);
      const int position = (first + w) * P;
      if (writes && position + own < q.output_width) {
        const std::int64_t at = line * q.output_width + position + own;
        q.means[at] = moments.own.mean + moments.own.rest;
        q.factors[at] = moments.own.factor;
      }
      if (!exists || position + P > q.output_width) continue;
      norm::Scales<W> scales;
      load_floats(gamma + filter, scales.gamma);
      load_floats(beta + filter, scales.beta);
      const auto largest = norm::largest_at_once<G, P, T>(rows, moments.of, scales, q.least);
      const std::int64_t output = (line * (q.output_width / P) + first + w) * q.filters + filter;
      *reinterpret_cast<Vec<T, W>*>(q.y + output) = largest.values;
      *reinterpret_cast<Vec<std::uint8_t, W>*>(q.argmax + output) = largest.places;
    }
    __syncwarp();
  }
}

std::int64_t table_bytes(const OpShape& s) {
  return std::int64_t{s.in_channels + 1} * shared_taps(s.kernel_width) * kRowBytes;
}

std::size_t workspace(const OpShape& s, core::Precision) {
  return static_cast<std::size_t>(s.in_channels + 1) * static_cast<std::size_t>(s.kernel_width) * kRowBytes;
}

constexpr int parts(int all, int each) {
  return (all + each - 1) / each;
}

template <class T, int kTaps, int P>
void launch(const OpCall& call) {
  constexpr std::int64_t kProcessors = 132;
  constexpr int kWindows = (32 - (kTaps - 1)) / P;
  const OpShape& s = call.shape;
  const cudaStream_t stream = core::cuda_stream(*call.stream);
  auto* rows = static_cast<T*>(call.workspace);
  conv2d_rows_of_symbols<T><<<static_cast<unsigned>((s.in_channels + 1) * kTaps), kFilters, 0, stream>>>(
      call.operand<const T>(Name::weights), s.in_channels, s.out_channels, kTaps, rows);
  auto* statistics = call.operand<float>(Name::statistics);
  const int windows = parts(output_width(s), P);
  const Problem<T> problem{call.operand<const T>(Name::input),
                           call.covers(Op::bias_forward) ? call.operand<const T>(Name::bias) : nullptr,
                           call.operand<const T>(Name::norm_weights),
                           call.operand<const T>(Name::norm_bias),
                           call.operand<T>(Name::output),
                           call.operand<std::uint8_t>(Name::argmax),
                           statistics,
                           statistics + sizes::output_pixels(s),
                           static_cast<const unsigned char*>(call.workspace),
                           s.batch * s.height,
                           s.width,
                           output_width(s),
                           padding_of(s, s.kernel_width),
                           windows,
                           parts(windows, kWindows),
                           s.in_channels,
                           s.out_channels,
                           norm::MeanOf(s.out_channels),
                           call.covers(Op::relu_forward) ? 0.0f : -INFINITY};
  const auto kernel = conv2d_shared_rows_normed<T, kTaps, P>;
  core::check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostTableBytes),
                   "the shared memory of conv2d.forward shared_rows_normed");
  const std::int64_t rounds = problem.lines * problem.rounds;
  const std::int64_t blocks = std::min(kProcessors, (rounds + kWarps - 1) / kWarps);
  kernel<<<static_cast<unsigned>(blocks), kThreads, static_cast<unsigned>(table_bytes(s)), stream>>>(problem);
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
  core::check_launch("conv2d.forward shared_rows_normed");
}

std::string refuses_normed(const OpShape& s) {
  if (s.kernel_height != 1 || s.stride != 1 || s.dilation != 1) {
    return "takes kernels of one row, without stride and dilation";
  }
  if (s.kernel_width != 3 && s.kernel_width != 5 && s.kernel_width != 7)
    return "takes kernels of 3, 5 or 7 taps";
  if (s.out_channels % 8 != 0 || s.out_channels > kFilters)
    return "takes filters in multiples of 8, at most 256";
  const bool pools = s.covered.has(Op::maxpool2d_forward);
  if (pools && (s.window_height != 1 || s.window_width < 2 || s.window_width > 3)) {
    return "takes pooling in windows of 2 or 3 positions of a row";
  }
  if (table_bytes(s) <= kMostTableBytes) return refuses(s);
  return "its table of " + std::to_string(s.in_channels) + " characters and " +
         std::to_string(shared_taps(s.kernel_width)) + " taps takes " +
         std::to_string((table_bytes(s) + 1023) / 1024) + " KB of shared memory, at most 219";
}

}  // namespace
}  // namespace fused::rows

Variant shared_rows_normed_forward() {
  using namespace fused::rows;
  return {.op = Op::conv2d_forward,
          .name = "shared_rows_normed",
          .device = core::DeviceKind::cuda,
          .precisions = {core::Precision::fp16, core::Precision::bf16},
          .minimum_compute_capability = 90,
          .maximum_compute_capability = 109,
          .chain = normed_chain(),
          .summary =
              "A layer norm behind it and the max pooling behind that run in the same pass: only what is "
              "pooled is written.",
          .launch = forward_normed,
          .workspace_bytes = workspace,
          .refuses = refuses_normed};
}

}  // namespace warpscope::ops::conv2d
