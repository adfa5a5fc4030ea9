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
// first column and channels a warp more for each 64 filters adds up dy. FP16 and BF16 only: tensor cores do
// not turn TF32.
//
// Where an upsampled layer has no more than 64 filters or 64 channels, half of such a unit would be empty. There a slim
// unit is 64 filters, 64 channels and all columns of taps: a warpgroup has 64 x 64 sums of each tap of its row, and a
// stage has a copy of x for each column. Other layers have units of all taps (hopper_backward_weights_taps.cu) where
// these do better (hopper_weights_plan.h).
//
// In one dimension (hopper_lines.h) a column of taps is all three of them; more are units of all taps. A patch of small
// images (hopper_small.h) is of eight.
//
// Threads 512 of 128 registers with 3x3 taps (exchanged to 32 and 160), 384 of 168 with 2x2 (88 and 208);
// shared memory 218 and 206 KiB, of slim units 158 KiB. A pooled block's dy is first spread over the
// convolution's size in the workspace. The splits are made for 132 multiprocessors, whatever the GPU has.
// Source: NVIDIA, "CUTLASS documentation", "Implicit GEMM convolution" and "Efficient GEMM in CUDA", section
// "Split-K".

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_prepare.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_weights_stages.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_weights_sum.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_wide.h"

namespace warpscope::ops::conv2d::fused::hopper {

/// What a variation of the kernel computes.
struct WeightsVariation {
  int tap_side = 3;
  bool line = false;   ///< of one dimension
  bool small = false;  ///< patches of small images (hopper_maps.h)
  bool slim = false;   ///< of 64 filters, 64 channels and all columns of taps
};

template <WeightsVariation kVariation>
struct WeightsShape {
  static constexpr int taps = kVariation.tap_side;
  static constexpr bool line = kVariation.line;
  static constexpr bool small = kVariation.small;
  static constexpr bool slim = kVariation.slim;
  static constexpr int filters = slim ? kSlice : 2 * kSlice;       ///< of a unit
  static constexpr int channels = slim ? kSlimColumns : kColumns;  ///< of a unit
  static constexpr int filter_slices = filters / kSlice;
  /// Parts of a warpgroup's sums, one to a slice of filters or, in slim units, to a column of taps; a stage has as many
  /// copies of x, one to a slice of channels or to a column.
  static constexpr int parts = slim ? taps : 2;
  static constexpr int sums = channels / 2;  ///< of a thread and part
  static constexpr int consumers = taps;
  static constexpr int threads = (1 + consumers) * static_cast<int>(kWarpgroup);
  static constexpr int producer_registers = taps == 3 ? 32 : 88;
  static constexpr int consumer_registers = taps == 3 ? 160 : 208;
  static constexpr int stages = small ? 5 : 6;
  static constexpr unsigned slice_bytes = kPatchSide * kPeriodBytes;  ///< of dy: 64 pixels, 64 filters
  static constexpr unsigned x_at = filter_slices * slice_bytes;
  static constexpr unsigned patch_bytes = kPatchBytes<taps, small>;  ///< of x
  static constexpr unsigned stage_bytes = x_at + parts * patch_bytes;
  static constexpr unsigned barriers_at = stages * stage_bytes;
  static constexpr unsigned shared_bytes = barriers_at + 2 * stages * 8 + kAlignSlack;
};

namespace {

/// One thread: all copies of the block. dy's second slice may lie past its last filter, x's past its last
/// channel: what is read there only meets sums that are not written.
template <class S>
__device__ void produce(const WeightsProblem& q, const StagePlaces<S>& at, const CUtensorMap& dy,
                        const CUtensorMap& x) {
  prefetch_map(dy);
  prefetch_map(x);
  const Unit unit = unit_of<S>(q);
  const int row_parity = unit.plane >> 1;
  const int column_parity = unit.plane & 1;
  const int row_shift = S::line ? q.line_shift : S::taps == 3 ? 1 : 1 - row_parity;
  const int column_shift = S::line ? 0 : S::taps == 3 ? 1 : 1 - column_parity;
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

/// The partial sums of one tap, of slim units of a row of taps. Filters and channels past the last are not written.
template <class S>
__device__ __forceinline__ void write_sums(const WeightsProblem& q, const Unit& unit,
                                           const float (&sums)[S::parts][S::sums], float* partial, int t,
                                           int thread) {
  const int first_tap = S::line ? t : t * S::taps + unit.u;
#pragma unroll
  for (int i = 0; i < S::parts; ++i) {
    const int filter = unit.filter + (S::slim ? 0 : i * kSlice);
    const int tap = first_tap + (S::slim ? i : 0);
#pragma unroll
    for (int first = 0; first < S::channels; first += kSlice) {
      const int channel = unit.channel + first;
      if (filter < q.filters && channel < q.channels) {
        write_block(split_of(q, partial), block_of(q, unit.plane, filter, tap, channel), sums[i], first / 2,
                    thread);
      }
    }
  }
}

template <class Math, class S>
__device__ void consume(const WeightsProblem& q, const StagePlaces<S>& at, float* partial, int t,
                        int thread) {
  const Unit unit = unit_of<S>(q);
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
  const StagePlaces<S> at{first_tile(shared)};
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) make_barriers(at, adds_gradients(q) ? S::filter_slices : 0);
  __syncthreads();
  const int warp = thread / 32;
  if (thread < static_cast<int>(kWarpgroup)) {
    shrink_registers<S::producer_registers>();
    if (thread == 0) produce<S>(q, at, dy, x);
    if (adds_gradients(q) && (warp == 1 || (warp == 2 && S::filter_slices == 2))) {
      add_gradients<Math, S, 1>(q, at, shared + (at.base - shared_address(shared)), partial, warp - 1, 0,
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

template <WeightsVariation kVariation>
void launch_units(const WeightsCall& call) {
  using S = WeightsShape<kVariation>;
  const bool fp16 = call.precision == core::Precision::fp16;
  const auto kernel = fp16 ? hopper_weights<mma::Fp16, S> : hopper_weights<mma::Bf16, S>;
  launch_products(call, kernel, S::threads, S::shared_bytes);
}

void launch_columns(const WeightsCall& call) {
  switch (call.plan.of_patches) {
    case Patches::lines:
      return launch_units<WeightsVariation{.line = true}>(call);
    case Patches::small_images:
      return launch_units<WeightsVariation{.small = true}>(call);
    default:
      return call.plan.planes > 1 ? launch_units<WeightsVariation{.tap_side = 2}>(call)
                                  : launch_units<WeightsVariation{}>(call);
  }
}

/// The maps of dy, and of x with the pixels that the taps reach.
struct Maps {
  CUtensorMap dy;
  CUtensorMap x;
};

Maps maps_of(const ChainShape& s, const WeightsPlan& plan, const void* dy, const void* x,
             core::Precision precision) {
  const int images = static_cast<int>(s.batch);
  const int more = plan.rows - 1;
  const Pixels gradient{dy, images, s.height, s.width, s.out_channels, s.upsample};
  const Pixels pixels{x, images, s.height, s.width, s.in_channels, false};
  switch (plan.of_patches) {
    case Patches::lines:
      return {map_lines({dy, images, line_outputs(s), s.out_channels}, kPatchSide, precision),
              map_lines({x, images, s.width, s.in_channels}, kPatchSide + more, precision)};
    case Patches::small_images:
      return {map_small(gradient, kSmallColumns, kSmallSide, precision),
              map_small(pixels, kSmallColumns, kSmallSide + more, precision)};
    case Patches::bundles:
      return {map_small(gradient, kBundleSide, kBundleSide, precision),
              map_small(pixels, kBundleSide + more, kBundleSide + more, precision)};
    default:
      return {map_pixels(gradient, kPatchSide, precision), map_pixels(pixels, kPatchSide + more, precision)};
  }
}

WeightsProblem problem_of(const ChainShape& s, const WeightsPlan& plan) {
  return {plan.grid,
          plan.grid.patches(),
          plan.splits.patches,
          plan.columns,
          plan.taps,
          plan.filter_tiles,
          plan.channel_tiles,
          s.out_channels,
          s.in_channels,
          plan.of_patches == Patches::lines ? line_padding(s) : 0,
          s.bias,
          plan.bias_at,
          plan.split_elements};
}

}  // namespace

bool backward_weights::takes(const ChainShape& s) {
  return is_wide(s) || is_line(s);
}

/// The unpooled dy, then the splits' partial sums.
std::size_t backward_weights::workspace(const ChainShape& s, core::Precision precision) {
  return (s.pool ? convolution_bytes(s, precision) : 0) + partial_bytes(plan_weights(s));
}

void backward_weights::launch(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const WeightsPlan plan = plan_weights(s);
  const void* dy = call.operand<const void>(Name::output_gradient);
  auto* partial = static_cast<float*>(call.workspace);
  if (s.pool) {
    unpool(call, dy, call.workspace);
    dy = call.workspace;
    partial = reinterpret_cast<float*>(static_cast<unsigned char*>(call.workspace) +
                                       convolution_bytes(s, call.precision));
  }
  const Maps maps = maps_of(s, plan, dy, call.operand<const void>(Name::input), call.precision);
  const WeightsCall products{plan,    problem_of(s, plan), maps.dy,      maps.x,
                             partial, call.precision,      call.variant, call.stream};
  switch (plan.of_units) {
    case Units::columns:
      launch_columns(products);
      break;
    case Units::slim:
      launch_units<WeightsVariation{.tap_side = 2, .slim = true}>(products);
      break;
    case Units::all_taps:
      launch_all_taps(products);
      break;
  }
  add_splits(call, plan, partial);
}

}  // namespace warpscope::ops::conv2d::fused::hopper
