// conv2d.backward_weights, variant `mma`: over `implicit_gemm` it adds tensor cores, and on request the
// gradient of the bias from the tiles of dy that it has in shared memory.
//
//   dw[k, (r, s, c)] = sum over pixels of dy[pixel, k] * x[pixel shifted by (r, s), c]
//
// A[pixel][k] and B[pixel][(r, s, c)] lie in shared memory as in the tensors; fragments are transposed as
// they are loaded. Pixels are split among blocks ("split-K"); each block writes a partial result to the
// workspace, and a second kernel adds them in a fixed order, per lane, then across lanes by shuffles, then
// across warps: the same bits every time. Which tensor is shifted, the tile (128x256, 128x128, 64x64 or
// 128x32) and the number of splits: mma_plan.h. With 3 channels on one side the columns are the 27 of (r, s)
// and these 3.
//
// The bias gradient is summed by the blocks of one column of tiles, each thread its own chunks of dy, and
// added like the weights. Convolutions that are not plain (conv2d.cpp) shift x, found by mma_general.cuh, and
// have no 128x256 tile. Limits: tensors of at most 2e9 elements, kernels of at most 15x15; up to 128 MiB of
// workspace; the shifted tensor is read once per tap, from the L2 cache.
// Registers on sm_90, in 16 bits and in TF32: wide 242 and 255, large 241 and 234, tall 134 and 135, small
// 109 and 123, by elements 128 and 126, the sum 30; none spill.
// Source: those of mma_tile.cuh; the sum across lanes: M. Harris, "Optimizing parallel reduction in CUDA"
// (2007), and NVIDIA, "CUDA C++ Programming Guide", "Warp Shuffle Functions".

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/implicit_gemm_launch.cuh"
#include "gpu/ops/conv2d/mma_general.cuh"
#include "gpu/ops/conv2d/mma_loaders.cuh"
#include "gpu/ops/conv2d/mma_plan.h"
#include "gpu/ops/conv2d/mma_tile.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace tensor_cores {
namespace {

/// `AnyTaps` is Taps for plain convolutions and GeneralTaps for all others.
template <class AnyTaps>
struct WeightsProblem {
  AnyTaps taps;  ///< the shifted tensor
  int rows;      ///< channels of the plain tensor
  int columns;
  int split_pixels;
  int column_tiles;
  std::int64_t split_elements;  ///< from one split's partial result to the next
  bool vectors_out;
  bool bias;     ///< whether to sum dy too
  bool swapped;  ///< whether dy is the shifted tensor
};

/// Sums a tile AlongSide over its lines: each thread those of its chunk, then sum() those of all threads.
template <class Math, class Layout>
struct LineSums : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;

  __device__ __forceinline__ void add(float (&sums)[8], mma::SharedAddress tile) const {
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      unsigned words[4];
      mma::load_chunk(words, this->place(tile, i));
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        if constexpr (sizeof(typename Math::Storage) == 2) {
          sums[2 * w] += mma::widen(Math{}, static_cast<std::uint16_t>(words[w] & 0xffffu));
          sums[2 * w + 1] += mma::widen(Math{}, static_cast<std::uint16_t>(words[w] >> 16));
        } else {
          sums[w] += mma::widen(Math{}, words[w]);
        }
      }
    }
  }
  /// Writes the sums of the columns of `out` that exist; the tile's first is column `first`, which may be
  /// negative. Has barriers: all threads call it.
  __device__ __forceinline__ void write(const float (&sums)[8], float* shared, int first, int columns,
                                        float* out) const {
    constexpr int kSide = Layout::chunks * Base::per_chunk;
#pragma unroll
    for (int e = 0; e < Base::per_chunk; ++e) shared[this->line * kSide + this->first() + e] = sums[e];
    __syncthreads();
    for (int side = static_cast<int>(threadIdx.x); side < kSide; side += Layout::threads) {
      if (first + side < 0 || first + side >= columns) continue;
      float sum = 0.0f;
      for (int line = 0; line < Base::line_step; ++line) sum += shared[line * kSide + side];
      out[first + side] = sum;
    }
    __syncthreads();
  }
};

template <class T, class Math, class LoaderA, class LoaderB, class LayoutA, class LayoutB, class AnyTaps>
__device__ __forceinline__ void weights_tile(const WeightsProblem<AnyTaps>& q,
                                             const typename Math::Storage* __restrict__ plain,
                                             const typename Math::Storage* __restrict__ shifted,
                                             float* __restrict__ partial, unsigned char* shared) {
  constexpr int kDepth = depth_of<T, Math>;
  const int first_row = static_cast<int>(blockIdx.x) / q.column_tiles * T::rows;
  const int first_column = static_cast<int>(blockIdx.x) % q.column_tiles * T::columns;
  int pixel = static_cast<int>(blockIdx.y) * q.split_pixels;
  const int end = min(q.taps.pixels, pixel + q.split_pixels);
  const int stages = (end - pixel + kDepth - 1) / kDepth;
  const LoaderA a(plain, q.rows, first_row, end);
  const LoaderB b(q.taps, shifted, first_column, end);
  const auto fetch = [&](mma::SharedAddress a_tile, mma::SharedAddress b_tile) {
    a.fetch(q.taps, pixel, a_tile);
    b.fetch(q.taps, pixel, b_tile);
    pixel += kDepth;
  };
  // The columns of the tap that does not shift are dy itself.
  const int middle = (q.taps.kernel_height * q.taps.kernel_width - 1) / 2 * q.taps.channels;
  const bool sums_plain = q.bias && !q.swapped && first_column == 0;
  const bool sums_shifted = q.bias && q.swapped && first_row == 0 &&
                            first_column < middle + q.taps.channels && first_column + T::columns > middle;
  float bias[8] = {};
  const auto look = [&](mma::SharedAddress a_tile, mma::SharedAddress b_tile) {
    if (sums_plain) LineSums<Math, LayoutA>{}.add(bias, a_tile);
    if (sums_shifted) LineSums<Math, LayoutB>{}.add(bias, b_tile);
  };

  const WarpPlace at = warp_place<T>();
  Sums<T> sums;
  multiply<T, Math, LayoutA, LayoutB>(sums, mma::shared_address(shared), stages, at, fetch, look);
  float* mine = partial + static_cast<std::int64_t>(blockIdx.y) * q.split_elements;
  float* mine_bias = mine + static_cast<std::int64_t>(q.rows) * q.columns;
  auto* scratch = reinterpret_cast<float*>(shared);
  if (sums_plain) LineSums<Math, LayoutA>{}.write(bias, scratch, first_row, q.rows, mine_bias);
  if (sums_shifted) {
    LineSums<Math, LayoutB>{}.write(bias, scratch, first_column - middle, q.taps.channels, mine_bias);
  }
  finish<T, mma::Tf32>(
      sums, shared, at, first_row, first_column,
      Target<mma::Tf32>{reinterpret_cast<std::uint32_t*>(mine), q.rows, q.columns, q.vectors_out});
}

template <class T, class Math, bool kPlainVectors, bool kShiftedVectors, class AnyTaps>
__global__ void __launch_bounds__(T::threads, T::blocks)
    mma_weights(const __grid_constant__ WeightsProblem<AnyTaps> q,
                const typename Math::Storage* __restrict__ plain,
                const typename Math::Storage* __restrict__ shifted, float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  using LayoutA = AlongSide<Math, T::rows, T::depth_bytes, T::threads>;
  using LayoutB = AlongSide<Math, T::columns, T::depth_bytes, T::threads>;
  using LoaderA = std::conditional_t<kPlainVectors, PlainVectors<Math, LayoutA>, PlainScalars<Math, LayoutA>>;
  using LoaderB =
      std::conditional_t<kShiftedVectors, typename Loaders<AnyTaps>::template ShiftedVectors<Math, LayoutB>,
                         typename Loaders<AnyTaps>::template ShiftedScalars<Math, LayoutB>>;
  weights_tile<T, Math, LoaderA, LoaderB, LayoutA, LayoutB>(q, plain, shifted, partial, shared);
#endif
}

/// The second kernel: element i of dw is the sum of element i of all splits. A warp has eight neighbouring
/// elements, and four lanes of each share the splits; where there are many splits, `spread` warps do.
struct SumProblem {
  int elements;  ///< of dw
  int bias;      ///< elements of the bias gradient, after those of dw; 0 if it is not wanted
  std::int64_t split_elements;
  int splits;
  int spread;
  bool swapped;
  int in_channels;
  int out_channels;
  int taps;

  /// Where element i of the partial results, (rows, taps, shifted channels), belongs in dw.
  __device__ __forceinline__ int place(int i) const {
    if (!swapped) return i;
    const int k = i % out_channels;
    const int rest = i / out_channels;
    // The taps shift dy by minus their shift of x: they are counted from the other end.
    const int tap = taps - 1 - rest % taps;
    return (k * taps + tap) * in_channels + rest / taps;
  }
};

inline constexpr int kSumWarps = 8;
inline constexpr int kSumElements = 8;  // of a warp

__global__ void __launch_bounds__(kSumWarps * 32)
    mma_weights_sum(const __grid_constant__ SumProblem q, const float* __restrict__ partial,
                    float* __restrict__ dw, float* __restrict__ db) {
  __shared__ float shared[kSumWarps][kSumElements];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int element = lane % kSumElements;
  const int i =
      (static_cast<int>(blockIdx.x) * (kSumWarps / q.spread) + warp / q.spread) * kSumElements + element;
  const bool exists = i < q.elements + q.bias;
  float sum = 0.0f;
  if (exists) {
    const float* from = partial + i;
#pragma unroll 4
    for (int split = warp % q.spread * 4 + lane / kSumElements; split < q.splits; split += 4 * q.spread) {
      sum += from[split * q.split_elements];
    }
  }
  sum += __shfl_xor_sync(0xffffffffu, sum, 8);
  sum += __shfl_xor_sync(0xffffffffu, sum, 16);
  if (lane < kSumElements) shared[warp][element] = sum;
  __syncthreads();
  if (lane >= kSumElements || warp % q.spread != 0 || !exists) return;
  for (int other = 1; other < q.spread; ++other) sum += shared[warp + other][element];
  if (i < q.elements) {
    dw[q.place(i)] = sum;
  } else {
    db[i - q.elements] = sum;
  }
}

std::int64_t split_elements(const WeightsPlan& plan, const OpShape& s) {
  // A multiple of four, so that every split's rows may be written 16 bytes at a time.
  return (plan.rows * plan.columns + s.out_channels + 3) / 4 * 4;
}

std::size_t workspace(const OpShape& s, core::Precision precision) {
  const WeightsPlan plan = plan_weights(s, precision);
  return sizeof(float) * static_cast<std::size_t>(plan.splits * split_elements(plan, s));
}

/// The tensors of one call, in the terms of the plan.
template <class AnyTaps>
struct WeightsCall {
  WeightsPlan plan;
  AnyTaps taps;
  const void* plain;
  const void* shifted;
  float* partial;
  std::int64_t split_elements;
  bool bias;
  const Variant* variant;
  core::Stream* stream;
};

template <class T, class Math, bool kPlainVectors, bool kShiftedVectors, class AnyTaps>
void launch_tile(const WeightsCall<AnyTaps>& call) {
  using Storage = typename Math::Storage;
  const auto rows = static_cast<int>(call.plan.rows);
  const auto columns = static_cast<int>(call.plan.columns);
  const int row_tiles = (rows + T::rows - 1) / T::rows;
  const int column_tiles = (columns + T::columns - 1) / T::columns;
  const WeightsProblem<AnyTaps> problem{call.taps,        rows,
                                        columns,          static_cast<int>(call.plan.split_pixels),
                                        column_tiles,     call.split_elements,
                                        columns % 4 == 0, call.bias,
                                        call.plan.swapped};
  const dim3 blocks(static_cast<unsigned>(row_tiles) * static_cast<unsigned>(column_tiles),
                    static_cast<unsigned>(call.plan.splits));
  run_kernel(call, {blocks, T::threads, T::shared_bytes},
             mma_weights<T, Math, kPlainVectors, kShiftedVectors, AnyTaps>, problem, call.plain, call.shifted,
             call.partial);
}

/// The 128x256 tile for plain convolutions, where the device has the memory; the splits suit the 128x128 one
/// too.
template <class Math, class AnyTaps>
void launch_wide(const WeightsCall<AnyTaps>& call) {
  if constexpr (std::is_same_v<AnyTaps, Taps>) {
    if (current_device().shared_bytes >= static_cast<int>(WideTile::shared_bytes)) {
      return launch_tile<WideTile, Math, true, true>(call);
    }
  }
  launch_tile<LargeTile, Math, true, true>(call);
}

template <class Math, class AnyTaps>
void launch_math(const WeightsCall<AnyTaps>& call) {
  // Contracts promise no alignment; the plan looks only at the channels.
  const bool plain_vectors = takes_vectors(call.plain);
  const bool shifted_vectors = takes_vectors(call.shifted);
  const bool vectors = plain_vectors && shifted_vectors;
  switch (call.plan.kernel) {
    case WeightsKernel::wide:
      if (vectors) return launch_wide<Math>(call);
      break;
    case WeightsKernel::large:
      if (vectors) return launch_tile<LargeTile, Math, true, true>(call);
      break;
    case WeightsKernel::small:
      if (vectors) return launch_tile<SmallTile, Math, true, true>(call);
      break;
    case WeightsKernel::tall:
      if (plain_vectors) return launch_tile<TallTile, Math, true, false>(call);
      break;
    case WeightsKernel::scalars:
      break;
  }
  launch_tile<SmallTile, Math, false, false>(call);
}

template <class AnyTaps>
void launch_sum(const WeightsCall<AnyTaps>& call, const OpShape& s, float* dw, float* db) {
  SumProblem sum{};
  sum.elements = static_cast<int>(call.plan.rows * call.plan.columns);
  sum.bias = db != nullptr ? s.out_channels : 0;
  sum.split_elements = call.split_elements;
  sum.splits = static_cast<int>(call.plan.splits);
  sum.spread = 1;
  while (sum.spread < kSumWarps && sum.splits > 16 * sum.spread) sum.spread *= 2;
  sum.swapped = call.plan.swapped;
  sum.in_channels = s.in_channels;
  sum.out_channels = s.out_channels;
  sum.taps = s.kernel_height * s.kernel_width;
  const int each = kSumElements * kSumWarps / sum.spread;
  const int all = sum.elements + sum.bias;
  run_kernel(call, "sum of the splits", {static_cast<unsigned>((all + each - 1) / each), kSumWarps * 32},
             mma_weights_sum, sum, call.partial, dw, db);
}

template <class AnyTaps>
void launch_both(const OpCall& call, const WeightsPlan& plan, const AnyTaps& taps) {
  const OpShape& s = call.shape;
  const void* x = call.operand<const void>(Name::input);
  const void* dy = call.operand<const void>(Name::output_gradient);
  float* db = call.operand<float>(Name::bias_gradient);
  const WeightsCall<AnyTaps> gemm{plan,
                                  taps,
                                  plan.swapped ? x : dy,
                                  plan.swapped ? dy : x,
                                  static_cast<float*>(call.workspace),
                                  split_elements(plan, s),
                                  db != nullptr,
                                  call.variant,
                                  call.stream};
  mma::with_math(call.precision, [&]<class Math>(Math) { launch_math<Math>(gemm); });
  launch_sum(gemm, s, call.operand<float>(Name::weights_gradient), db);
}

void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const WeightsPlan plan = plan_weights(s, call.precision);
  if (is_plain(s)) {
    launch_both(call, plan, taps_of(s, plan.swapped ? s.out_channels : s.in_channels));
  } else {
    launch_both(call, plan, taps_of_input(s));
  }
}

}  // namespace
}  // namespace tensor_cores

Variant mma_backward_weights() {
  return cuda_variant(
      Op::conv2d_backward_weights, "mma", tensor_cores::backward_weights,
      "A tensor-core product over the pixels, split among blocks, added by shuffles in a fixed order.",
      {.precisions = {core::Precision::tf32, core::Precision::fp16, core::Precision::bf16},
       .minimum_compute_capability = 80,
       .chain = {{.op = Op::conv2d_backward_weights}, {.op = Op::conv2d_backward_bias, .optional = true}},
       .presets = {{"tensor_cores", true}},
       .workspace_bytes = tensor_cores::workspace,
       .refuses = tensor_cores::refuses});
}

}  // namespace warpscope::ops::conv2d
