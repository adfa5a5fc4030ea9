// conv2d.backward_weights of wide layers on Hopper: over `mma` it adds wgmma and TMA, an upsampled
// block's gradient from four parity planes of dy by 2x2 taps each (2.25 times fewer products), and the bias
// gradient from the tiles of dy that are in shared memory anyway.
//
//   part[p][k][t][u][c] = sum over the split's pixels of dy[p][pixel][k] * x[pixel + (t, u) - shift][c]
//
// Both operands have the pixels, over which is summed, as rows: the tensor cores turn them. A unit is 128
// filters, one column u of taps and 128 channels: a warpgroup for each tap t has 128 x 128 sums and reads x
// from the row t of the stage's patch on. A block does one unit for one split of the patches; a second kernel
// adds the splits in order and folds an upsampled layers's parts, four to a tap of dw. In the blocks of the
// first column and channels a warp more for each 64 filters adds up dy. FP16 and BF16 alone: tensor cores do
// not turn TF32.
//
// Where there are no more than 64 filters or 64 channels, half of such a unit would be empty. There a slim unit is 64
// filters, 64 channels and all columns of taps: a warpgroup has 64 x 64 sums of each tap of its row, and a stage has
// a copy of x for each column. Lines and small images have no slim units.
//
// Of one dimension (hopper_lines.h) a unit has three of the taps instead of a column; of 5 or 7 taps the last unit has
// two or one, and as it is done sooner, fewer splits. Of small images (hopper_small.h) a patch is of eight.
//
// Threads 512 of 128 registers with 3x3 taps (exchanged to 32 and 160), 384 of 168 with 2x2 (88 and 208);
// shared memory 218 and 206 KiB, of slim units 192 and 158 KiB. A pooled block's dy is first spread over the
// convolution's size in the workspace. The splits are made for 132 multiprocessors, whatever the GPU has.
// Source: NVIDIA, "CUTLASS documentation", "Implicit GEMM convolution" and "Efficient GEMM in CUDA", section
// "Split-K".

#include <algorithm>
#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/core/cuda.h"
#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper_prepare.h"
#include "gpu/ops/conv2d/fused/hopper_small.h"
#include "gpu/ops/conv2d/fused/hopper_tiles.cuh"
#include "gpu/ops/conv2d/fused/hopper_weights_sum.cuh"
#include "gpu/ops/conv2d/fused/hopper_wide.h"

namespace warpscope::ops::conv2d::fused::hopper {

/// A variation of the kernel.
template <int kTapSide, bool kLine, bool kSmall, bool kSlim>
struct WeightsShape {
  static constexpr int taps = kTapSide;
  static constexpr bool line = kLine;    ///< of one dimension
  static constexpr bool small = kSmall;  ///< patches of small images (hopper_maps.h)
  static constexpr bool slim = kSlim;    ///< of 64 filters, 64 channels and all columns of taps
  static constexpr int filters = slim ? kSlice : 2 * kSlice;       ///< of a unit
  static constexpr int channels = slim ? kSlimColumns : kColumns;  ///< of a unit
  static constexpr int filter_slices = filters / kSlice;
  /// Of a warpgroup's sums, one to a slice of filters or, of slim units, to a column of taps; a stage has as many
  /// copies of x, one to a slice of channels or to a column.
  static constexpr int parts = slim ? taps : 2;
  static constexpr int sums = channels / 2;  ///< of a thread and part
  static constexpr int consumers = taps;
  static constexpr int threads = (1 + consumers) * static_cast<int>(kWarpgroup);
  static constexpr int producer_registers = taps == 3 ? 32 : 88;
  static constexpr int consumer_registers = taps == 3 ? 160 : 208;
  static constexpr int stages = small || (slim && taps == 3) ? 5 : 6;
  static constexpr unsigned slice_bytes = kPatchSide * kPeriodBytes;  ///< of dy: 64 pixels, 64 filters
  static constexpr unsigned x_at = filter_slices * slice_bytes;
  static constexpr unsigned patch_bytes = kPatchBytes<taps, small>;  ///< of x
  static constexpr unsigned stage_bytes = x_at + parts * patch_bytes;
  static constexpr unsigned barriers_at = stages * stage_bytes;
  static constexpr unsigned shared_bytes = barriers_at + 2 * stages * 8 + kAlignSlack;
};

namespace {

constexpr int kSplitProcessors = 132;

/// Units of the same number of taps: in how many splits, and how many patches one of them has.
struct Splits {
  int count;
  int patches;
};

struct WeightsProblem {
  Grid grid;
  int patches;
  int units;  ///< of a split, but those of the rest
  Splits splits;
  int filter_tiles;
  int channel_tiles;
  int filters;
  int channels;
  std::int64_t split_elements;  ///< of a split's partial results: the weights', then the bias's
  std::int64_t bias_at;
  int line_taps = 0;     ///< of lines
  int line_shift = 0;    ///< of lines: zeros before the first position
  Splits rest = {0, 0};  ///< of lines: of the units that have fewer taps than three

  /// How many units have all columns of taps together, of lines all taps but the rest.
  template <class S>
  __device__ __forceinline__ int columns() const {
    return S::line ? line_taps / S::taps : S::slim ? 1 : S::taps;
  }
};

struct Unit {
  int plane;
  int filter;
  int u;  ///< column of taps, of slim units the first; of lines the unit's first tap is three times this
  int channel;
  int first_patch;
  int end_patch;
  std::int64_t split;
};

/// Whether the block's unit is of the rest of taps. Those come last.
template <class S>
__device__ __forceinline__ bool is_rest(const WeightsProblem& q) {
  return S::line && static_cast<int>(blockIdx.x) >= q.units;
}

/// The units of a split are neighbours: they read the same pixels.
template <class S>
__device__ __forceinline__ Unit unit_of(const WeightsProblem& q) {
  const bool rest = is_rest<S>(q);
  const int i = static_cast<int>(blockIdx.x) - (rest ? q.units : 0);
  const int each = rest ? q.rest.patches : q.splits.patches;
  const int first = static_cast<int>(blockIdx.y) * each;
  const int columns = rest ? 1 : q.columns<S>();
  const int u = rest ? q.columns<S>() : i % columns;
  const int channel = i / columns % q.channel_tiles;
  const int tile = i / columns / q.channel_tiles;
  return {tile / q.filter_tiles,        tile % q.filter_tiles * S::filters,   u, channel * S::channels, first,
          min(first + each, q.patches), static_cast<std::int64_t>(blockIdx.y)};
}

template <class S>
struct Places {
  SharedAddress base;

  __device__ SharedAddress stage(int i) const { return base + static_cast<unsigned>(i) * S::stage_bytes; }
  __device__ SharedAddress full(int i) const { return barrier_at(base + S::barriers_at, i); }
  __device__ SharedAddress empty(int i) const { return barrier_at(base + S::barriers_at, S::stages + i); }
};

/// One thread: all copies of the block. dy's second slice may lie past its last filter, x's past its last
/// channel: what is read there only meets sums that are not written.
template <class S>
__device__ void produce(const WeightsProblem& q, const Places<S>& at, const CUtensorMap& dy,
                        const CUtensorMap& x) {
  prefetch_map(dy);
  prefetch_map(x);
  const Unit unit = unit_of<S>(q);
  const int row_parity = unit.plane >> 1;
  const int column_parity = unit.plane & 1;
  const int row_shift = S::line ? q.line_shift - unit.u * S::taps : S::taps == 3 ? 1 : 1 - row_parity;
  const int column_shift = S::line ? unit.u : S::taps == 3 ? 1 : 1 - column_parity;
  const int filter = column_parity * q.filters + unit.filter;
  Place patch = place_of<S::small>(q.grid, unit.first_patch);
  Ring<S::stages> ring;
#pragma unroll 1
  for (int i = unit.first_patch; i < unit.end_patch; ++i) {
    const SharedAddress stage = at.stage(ring.stage);
    const SharedAddress full = at.full(ring.stage);
    wait(at.empty(ring.stage), ring.parity ^ 1);
    arrive_expecting(full, S::stage_bytes);
#pragma unroll
    for (int part = 0; part < S::parts; ++part) {
      if (part < S::filter_slices) {
        load_patch<S::small>(stage + static_cast<unsigned>(part) * S::slice_bytes, dy, full,
                             filter + part * kSlice, patch.column, row_parity, patch.row, patch.image);
      }
      load_patch<S::small>(stage + S::x_at + static_cast<unsigned>(part) * S::patch_bytes, x, full,
                           unit.channel + (S::slim ? 0 : part * kSlice),
                           patch.column + unit.u - column_shift + (S::slim ? part : 0), 0,
                           patch.row - row_shift, patch.image);
    }
    advance<S::small>(patch, q.grid);
    ring.advance();
  }
}

/// A warp: the sums over the split's pixels of 64 filters. A lane has eight of them, of every fourth pixel.
template <class Math, class S>
__device__ void add_gradients(const WeightsProblem& q, const Places<S>& at, const unsigned char* tiles,
                              float* partial, int slice, int lane) {
  const Unit unit = unit_of<S>(q);
  float sums[8] = {};
  Ring<S::stages> ring;
  for (int i = unit.first_patch; i < unit.end_patch; ++i) {
    wait(at.full(ring.stage), ring.parity);
    const unsigned char* tile = tiles + static_cast<unsigned>(ring.stage) * S::stage_bytes +
                                static_cast<unsigned>(slice) * S::slice_bytes;
#pragma unroll 2
    for (int pixel = lane / 8; pixel < kPatchPixels; pixel += 4) {
      const uint4 chunk = *reinterpret_cast<const uint4*>(tile + pixel * 128 + ((lane ^ pixel) & 7) * 16);
      const unsigned words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        sums[2 * k] += mma::widen(Math{}, static_cast<typename Math::Storage>(words[k] & 0xffff));
        sums[2 * k + 1] += mma::widen(Math{}, static_cast<typename Math::Storage>(words[k] >> 16));
      }
    }
    __syncwarp();
    if (lane == 0) arrive(at.empty(ring.stage));
    ring.advance();
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    sums[k] += __shfl_xor_sync(0xffffffffu, sums[k], 8);
    sums[k] += __shfl_xor_sync(0xffffffffu, sums[k], 16);
  }
  const int filter = unit.filter + slice * kSlice + 8 * (lane % 8);
  if (lane >= 8 || filter >= q.filters) return;
  float* to = partial + unit.split * q.split_elements + q.bias_at + unit.plane * q.filters + filter;
#pragma unroll
  for (int k = 0; k < 8; ++k) to[k] = sums[k];
}

/// The products of a stage, of the tap t.
template <class Math, class S>
__device__ __forceinline__ void multiply_stage(float (&sums)[S::parts][S::sums], SharedAddress stage, int t,
                                               bool add) {
  // 64 filters are one slice of dy: there is no next one within a product, nor are there channels in slim units.
  const std::uint64_t a = describe(stage, 16);
  const std::uint64_t b =
      describe(stage + S::x_at + static_cast<unsigned>(t) * kTapBytes<S::small>, S::patch_bytes);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const unsigned further = static_cast<unsigned>(step) * kTurnedStep;
#pragma unroll
    for (int i = 0; i < S::parts; ++i) {
      const unsigned slice = S::slim ? 0 : static_cast<unsigned>(i) * S::slice_bytes;
      const unsigned column = S::slim ? static_cast<unsigned>(i) * S::patch_bytes : 0;
      multiply<1, 1>(Math{}, sums[i], advanced(a, slice + further), advanced(b, column + further),
                     add || step > 0);
    }
  }
}

/// The partial results of one tap, of slim units of a row of taps, where the second kernel finds them.
template <class S>
__device__ __forceinline__ void write_sums(const WeightsProblem& q, const Unit& unit,
                                           const float (&sums)[S::parts][S::sums], float* partial, int t,
                                           int thread) {
  const int group = thread % 32 / 4;
  const int member = thread % 4;
  const int taps = S::line ? q.line_taps : S::taps * S::taps;
  const int tap = S::line ? unit.u * S::taps + t : t * S::taps + unit.u;
  float* part = partial + unit.split * q.split_elements;
#pragma unroll
  for (int i = 0; i < S::parts; ++i) {
    const int slice = S::slim ? 0 : i;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int filter = unit.filter + slice * kSlice + thread / 32 * 16 + half * 8 + group;
      const std::int64_t line = (static_cast<std::int64_t>(unit.plane) * q.filters + filter) * taps;
      float* to = part + (line + tap + i - slice) * q.channels + unit.channel + 2 * member;
#pragma unroll
      for (int first = 0; first < S::channels; first += kSlice) {
        if (filter < q.filters && unit.channel + first < q.channels) {
#pragma unroll
          for (int k = 0; k < kSlice / 8; ++k) {
            const int j = first / 8 + k;
            *reinterpret_cast<float2*>(to + 8 * j) =
                float2{sums[i][4 * j + 2 * half], sums[i][4 * j + 2 * half + 1]};
          }
        }
      }
    }
  }
}

/// Of a warpgroup without a tap: tells that it needs no stage.
template <class S>
__device__ void pass_over(const Unit& unit, const Places<S>& at, int thread) {
  if (thread % 32 != 0) return;
  Ring<S::stages> ring;
#pragma unroll 1
  for (int i = unit.first_patch; i < unit.end_patch; ++i) {
    wait(at.full(ring.stage), ring.parity);
    arrive(at.empty(ring.stage));
    ring.advance();
  }
}

template <class Math, class S>
__device__ void consume(const WeightsProblem& q, const Places<S>& at, float* partial, int t, int thread) {
  const Unit unit = unit_of<S>(q);
  if (S::line && unit.u * S::taps + t >= q.line_taps) return pass_over<S>(unit, at, thread);
  float sums[S::parts][S::sums];
  Ring<S::stages> ring;
  SharedAddress used = 0;
#pragma unroll 1
  for (int i = unit.first_patch; i < unit.end_patch; ++i) {
    const bool add = i > unit.first_patch;
    wait(at.full(ring.stage), ring.parity);
    fence_products();
    multiply_stage<Math, S>(sums, at.stage(ring.stage), t, add);
    commit_products();
    wait_products<1>();
    if (add && thread % 32 == 0) arrive(used);
    used = at.empty(ring.stage);
    ring.advance();
  }
  wait_products<0>();
  write_sums<S>(q, unit, sums, partial, t, thread);
}

template <class Math, class S>
__global__ void __launch_bounds__(S::threads, 1)
    hopper_weights(const __grid_constant__ WeightsProblem q, const __grid_constant__ CUtensorMap dy,
                   const __grid_constant__ CUtensorMap x, float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  const Places<S> at{first_tile(shared)};
  if (is_rest<S>(q) && static_cast<int>(blockIdx.y) >= q.rest.count) return;
  // The unit's first column of taps and first channels.
  const bool adds_gradients =
      !is_rest<S>(q) && static_cast<int>(blockIdx.x) % (q.columns<S>() * q.channel_tiles) == 0;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) {
    for (int i = 0; i < S::stages; ++i) {
      make_barrier(at.full(i), 1);
      make_barrier(at.empty(i), S::consumers * 4 + (adds_gradients ? S::filter_slices : 0));
    }
    publish_barriers();
  }
  __syncthreads();
  const int warp = thread / 32;
  if (thread < static_cast<int>(kWarpgroup)) {
    shrink_registers<S::producer_registers>();
    if (thread == 0) produce<S>(q, at, dy, x);
    if (adds_gradients && (warp == 1 || (warp == 2 && S::filter_slices == 2))) {
      add_gradients<Math, S>(q, at, shared + (at.base - shared_address(shared)), partial, warp - 1,
                             thread % 32);
    }
  } else {
    grow_registers<S::consumer_registers>();
    consume<Math, S>(q, at, partial, warp / 4 - 1, thread % static_cast<int>(kWarpgroup));
  }
#else
  __trap();  // this build has no code for sm_90a
#endif
}

// ---- the plan ----

struct Plan {
  Grid grid;  ///< of dy
  int planes;
  int rows;     ///< of taps, of a unit
  int columns;  ///< of taps; of lines the units that have all of them but the rest
  int taps;     ///< of a plane
  int filter_tiles;
  int channel_tiles;
  int units;  ///< of a split
  Splits splits;
  int rest_units;  ///< of lines: those with fewer taps than three, of a split of theirs
  Splits rest;
  std::int64_t bias_at;
  std::int64_t split_elements;
};

/// What a patch is of.
enum class Patches { image, lines, small_images };

/// Whether units are slim.
bool is_slim(const ChainShape& s, Patches of) {
  return of == Patches::image && (s.out_channels <= kSlice || s.in_channels <= kSlimColumns);
}

Patches patches_of(const ChainShape& s) {
  return is_line(s) ? Patches::lines : Patches::image;
}

Lines line_gradient(const ChainShape& s, const void* dy) {
  return {dy, static_cast<int>(s.batch), line_outputs(s), s.out_channels};
}

/// At most `wanted` splits of all patches.
Splits split_patches(int patches, int wanted) {
  const auto each = static_cast<int>(divide_up(patches, std::clamp(wanted, 1, patches)));
  return {static_cast<int>(divide_up(patches, each)), each};
}

/// How many splits the rest of `taps` has beside `splits` of three: with one tap it takes about half as long, with two
/// three quarters.
int rest_of(int splits, int taps) {
  return static_cast<int>(divide_up((taps + 1) * splits, 4));
}

Plan plan_of(const ChainShape& s, Patches of) {
  Plan plan{};
  const bool line = of == Patches::lines;
  plan.grid = line                          ? grid_of(line_gradient(s, nullptr))
              : of == Patches::small_images ? small_grid_of(s)
                                            : grid_of(s);
  plan.planes = s.upsample ? 4 : 1;
  plan.rows = s.upsample ? 2 : 3;
  plan.columns = line ? s.kernel_width / plan.rows : plan.rows;
  plan.taps = line ? s.kernel_width : plan.rows * plan.columns;
  const bool slim = is_slim(s, of);
  plan.filter_tiles = static_cast<int>(divide_up(s.out_channels, slim ? kSlice : 2 * kSlice));
  plan.channel_tiles = static_cast<int>(divide_up(s.in_channels, slim ? kSlimColumns : kColumns));
  const int tiles = plan.planes * plan.filter_tiles * plan.channel_tiles;
  plan.units = tiles * (slim ? 1 : plan.columns);
  const int rest_taps = line ? plan.taps % plan.rows : 0;
  plan.rest_units = rest_taps > 0 ? tiles : 0;
  int wanted = std::max(kSplitProcessors / plan.units, 1);
  while (wanted > 1 &&
         wanted * plan.units + rest_of(wanted, rest_taps) * plan.rest_units > kSplitProcessors) {
    --wanted;
  }
  const int patches = plan.grid.patches();
  plan.splits = split_patches(patches, wanted);
  if (rest_taps > 0) plan.rest = split_patches(patches, rest_of(wanted, rest_taps));
  plan.bias_at = std::int64_t{plan.planes} * plan.taps * s.out_channels * s.in_channels;
  plan.split_elements = plan.bias_at + std::int64_t{plan.planes} * s.out_channels;
  return plan;
}

struct WeightsCall {
  WeightsProblem problem;
  CUtensorMap dy;
  CUtensorMap x;
  float* partial;
  dim3 blocks;
  cudaStream_t stream;
};

template <class Math, class S>
void launch_products(const WeightsCall& call) {
  const auto kernel = hopper_weights<Math, S>;
  core::check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes),
                   "the shared memory of conv2d.backward_weights hopper");
  kernel<<<call.blocks, S::threads, S::shared_bytes, call.stream>>>(call.problem, call.dy, call.x,
                                                                    call.partial);
}

template <int kTaps, bool kLine, bool kSmall, bool kSlim>
void launch_both(const WeightsCall& call, const Plan& plan, core::Precision precision, float* dw, float* db) {
  using S = WeightsShape<kTaps, kLine, kSmall, kSlim>;
  if (precision == core::Precision::fp16) {
    launch_products<mma::Fp16, S>(call);
  } else {
    launch_products<mma::Bf16, S>(call);
  }
  core::check_launch("conv2d.backward_weights hopper");
  const WeightsProblem& q = call.problem;
  const SumProblem sum{q.filters,
                       q.channels,
                       plan.taps,
                       plan.splits.count,
                       plan.rest.count > 0 ? plan.rows * plan.columns : plan.taps,
                       plan.rest.count,
                       q.filters * q.channels * (kTaps == 2 ? 9 : plan.taps) / 4,
                       plan.split_elements,
                       plan.bias_at,
                       reinterpret_cast<std::uintptr_t>(dw) % sizeof(float4) == 0};
  add_splits<kTaps>(sum, call.partial, dw, db, call.stream);
}

/// The maps of dy, and of x with the rows that the taps reach.
struct Maps {
  CUtensorMap dy;
  CUtensorMap x;
};

Maps maps_of(const ChainShape& s, Patches of, int taps, const void* dy, const void* x,
             core::Precision precision) {
  const int images = static_cast<int>(s.batch);
  if (of == Patches::lines) {
    return {map_lines(line_gradient(s, dy), kPatchSide, precision),
            map_lines({x, images, s.width, s.in_channels}, kPatchSide + taps - 1, precision)};
  }
  const Pixels gradient{dy, images, s.height, s.width, s.out_channels, s.upsample};
  const Pixels pixels{x, images, s.height, s.width, s.in_channels, false};
  if (of == Patches::small_images) {
    return {map_small(gradient, kSmallSide, precision), map_small(pixels, kSmallSide + taps - 1, precision)};
  }
  return {map_pixels(gradient, kPatchSide, precision), map_pixels(pixels, kPatchSide + taps - 1, precision)};
}

/// The unpooled dy, then the splits' partial results.
std::size_t workspace_of(const ChainShape& s, Patches of, core::Precision precision) {
  const Plan plan = plan_of(s, of);
  return (s.pool ? convolution_bytes(s, precision) : 0) +
         sizeof(float) * static_cast<std::size_t>(plan.splits.count * plan.split_elements);
}

void launch_patches(const ChainCall& call, Patches of) {
  const ChainShape& s = call.shape;
  const cudaStream_t stream = core::cuda_stream(*call.stream);
  const Plan plan = plan_of(s, of);
  const void* dy = call.operand<const void>(Name::output_gradient);
  auto* partial = static_cast<float*>(call.workspace);
  if (s.pool) {
    unpool(s, dy, call.operand<const std::uint8_t>(Name::argmax), call.workspace, call.precision, stream);
    dy = call.workspace;
    partial = reinterpret_cast<float*>(static_cast<unsigned char*>(call.workspace) +
                                       convolution_bytes(s, call.precision));
  }
  const bool line = of == Patches::lines;
  const WeightsProblem problem{plan.grid,      plan.grid.patches(),  plan.units,
                               plan.splits,    plan.filter_tiles,    plan.channel_tiles,
                               s.out_channels, s.in_channels,        plan.split_elements,
                               plan.bias_at,   line ? plan.taps : 0, line ? line_padding(s) : 0,
                               plan.rest};
  const Maps maps = maps_of(s, of, plan.rows, dy, call.operand<const void>(Name::input), call.precision);
  const WeightsCall products{
      problem,
      maps.dy,
      maps.x,
      partial,
      dim3(static_cast<unsigned>(plan.units + plan.rest_units), static_cast<unsigned>(plan.splits.count)),
      stream};
  float* dw = call.operand<float>(Name::weights_gradient);
  float* db = call.operand<float>(Name::bias_gradient);
  const bool slim = is_slim(s, of);
  if (line) {
    launch_both<3, true, false, false>(products, plan, call.precision, dw, db);
  } else if (of == Patches::small_images) {
    launch_both<3, false, true, false>(products, plan, call.precision, dw, db);
  } else if (s.upsample) {
    const auto launch = slim ? launch_both<2, false, false, true> : launch_both<2, false, false, false>;
    launch(products, plan, call.precision, dw, db);
  } else {
    const auto launch = slim ? launch_both<3, false, false, true> : launch_both<3, false, false, false>;
    launch(products, plan, call.precision, dw, db);
  }
}

}  // namespace

bool backward_weights::takes(const ChainShape& s) {
  return is_wide(s) || is_line(s);
}
std::size_t backward_weights::workspace(const ChainShape& s, core::Precision precision) {
  return workspace_of(s, patches_of(s), precision);
}
void backward_weights::launch(const ChainCall& call) {
  launch_patches(call, patches_of(call.shape));
}

bool small_backward_weights::takes(const ChainShape& s) {
  return is_small(s);
}
std::size_t small_backward_weights::workspace(const ChainShape& s, core::Precision precision) {
  return workspace_of(s, Patches::small_images, precision);
}
void small_backward_weights::launch(const ChainCall& call) {
  launch_patches(call, Patches::small_images);
}

}  // namespace warpscope::ops::conv2d::fused::hopper
