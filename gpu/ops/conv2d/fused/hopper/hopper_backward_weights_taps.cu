// conv2d.backward_weights of wide layers on Hopper, in units of all taps: over hopper_backward_weights.cu they read a
// patch of x once for nine taps, and multiply by three of them at once.
//
//   part[p][k][tap][c] = sum over the split's pixels of dy[pixel][k] * x[pixel + tap][c]
//
// A unit is 64 filters and 64 channels. Patches are of bundles, 4x4 pixels of eight images, with 6x6 pixels of x
// beside them; a row of the tiles is 128 bytes of one image, eight images are a period of the swizzle, and a tap is a
// shift by whole periods, in either direction. With lines they are eight positions of eight texts, as elsewhere
// (hopper_maps.h).
//
// A warpgroup has the three taps of a column, of lines two or three of five or seven: they are further columns of
// one product of 64 x 192 sums, whose operand in x begins a row of taps later for each 64 channels. So a product reads
// 8 KiB of shared memory for 96 cycles of the tensor cores, where one of 64 x 128 sums reads 6 KiB for 64, and one of
// 64 x 64 sums 4 KiB for 32.
//
// FP16 and BF16 only, not upsampled. Threads 512 of 128 registers; shared memory 209 KiB, of lines 179 and 163 KiB.
// Source: hopper_backward_weights.cu.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_weights_stages.cuh"

namespace warpscope::ops::conv2d::fused::hopper {
namespace {

constexpr int kAddingWarps = 2;  ///< of dy: one would take longer for a patch than the products

/// A variation of the kernel, of nine taps those of bundles, of five or seven those of lines.
template <int kTaps>
struct TapsShape {
  static constexpr int taps = kTaps;
  static constexpr bool line = taps != 9;
  static constexpr int filters = kSlice;   ///< of a unit
  static constexpr int channels = kSlice;  ///< of a unit
  static constexpr int consumers = 3;
  static constexpr int threads = (1 + consumers) * static_cast<int>(kWarpgroup);
  static constexpr int few_taps = taps / consumers;                ///< of the first warpgroups
  static constexpr int first_more = consumers - taps % consumers;  ///< from here on a tap more
  static constexpr int pixels = line ? kPatchPixels : kBundlePixels;
  static constexpr int steps = pixels / 16;                     ///< products over a patch
  static constexpr int x_columns = line ? 1 : kBundleSide + 2;  ///< of a patch of x, in periods
  static constexpr int x_rows = line ? kPatchSide + taps - 1 : kBundleSide + 2;
  static constexpr int stages = line ? 8 : 4;
  static constexpr unsigned slice_bytes = pixels * kRowBytes;  ///< of dy
  static constexpr unsigned stage_bytes = slice_bytes + x_rows * x_columns * kPeriodBytes;
  static constexpr unsigned barriers_at = stages * stage_bytes;
  // Rows of taps of lines overlap; compute-sanitizer takes all of a product's operand to lie behind its beginning.
  static constexpr unsigned apart_bytes = line ? 2 * kPeriodBytes : 0;
  static constexpr unsigned shared_bytes = barriers_at + 2 * stages * 8 + apart_bytes + kAlignSlack;

  /// From a step's first pixel to the patch's, in x: two periods are two rows of lines, or two columns of a row.
  static constexpr unsigned step_bytes(int step) {
    constexpr int kRowSteps = kBundleSide / 2;
    return (line ? 2 * step : step / kRowSteps * x_columns + step % kRowSteps * 2) * kPeriodBytes;
  }
};

/// The patch's place in pixels and images, of lines in positions and texts.
template <class S>
__device__ __forceinline__ Place first_place(const Grid& grid, int patch) {
  const int line = patch / grid.across;
  const int image = line / grid.down;
  constexpr int kSide = S::line ? kPatchSide : kBundleSide;
  return {image * (S::line ? 1 : kSmallImages), (line - image * grid.down) * kSide,
          (patch - line * grid.across) * kSide};
}

template <class S>
__device__ __forceinline__ void next_place(Place& place, const Grid& grid) {
  constexpr int kSide = S::line ? kPatchSide : kBundleSide;
  place.column += kSide;
  if (place.column < grid.width) return;
  place.column = 0;
  place.row += kSide;
  if (place.row < grid.height) return;
  place.row = 0;
  place.image += S::line ? 1 : kSmallImages;
}

/// One thread: all copies of the block.
template <class S>
__device__ void produce_patches(const WeightsProblem& q, const StagePlaces<S>& at, const CUtensorMap& dy,
                                const CUtensorMap& x) {
  prefetch_map(dy);
  prefetch_map(x);
  const Unit unit = unit_of<S>(q);
  const int row_shift = S::line ? q.line_shift : 1;
  const int column_shift = S::line ? 0 : 1;
  Place patch = first_place<S>(q.grid, unit.first_patch);
  Ring<S::stages> ring;
#pragma unroll 1
  for (int i = unit.first_patch; i < unit.end_patch; ++i) {
    const SharedAddress stage = at.stage(ring.stage);
    const SharedAddress full = at.full(ring.stage);
    wait(at.empty(ring.stage), ring.parity ^ 1);
    arrive_expecting(full, S::stage_bytes);
    load_patch<!S::line>(stage, dy, full, unit.filter, patch.column, 0, patch.row, patch.image);
    load_patch<!S::line>(stage + S::slice_bytes, x, full, unit.channel, patch.column - column_shift, 0,
                         patch.row - row_shift, patch.image);
    next_place<S>(patch, q.grid);
    ring.advance();
  }
}

/// A warpgroup's kCount taps, of lines from `first` on, of bundles those of column `first`.
template <class Math, class S, int kCount>
__device__ void consume_taps(const WeightsProblem& q, const StagePlaces<S>& at, float* partial, int first,
                             int thread) {
  const Unit unit = unit_of<S>(q);
  float sums[kCount * kBlockSums];
  Ring<S::stages> ring;
  SharedAddress used = 0;
#pragma unroll 1
  for (int i = unit.first_patch; i < unit.end_patch; ++i) {
    const bool add = i > unit.first_patch;
    wait(at.full(ring.stage), ring.parity);
    fence_products();
    const SharedAddress stage = at.stage(ring.stage);
    const std::uint64_t a = describe(stage, 16);  // 64 filters are one slice: there is no next one
    const std::uint64_t b = describe(stage + S::slice_bytes + static_cast<unsigned>(first) * kPeriodBytes,
                                     S::x_columns * kPeriodBytes);
#pragma unroll
    for (int step = 0; step < S::steps; ++step) {
      multiply<1, 1>(Math{}, sums, advanced(a, static_cast<unsigned>(step) * kTurnedStep),
                     advanced(b, S::step_bytes(step)), add || step > 0);
    }
    commit_products();
    wait_products<1>();
    if (add && thread % 32 == 0) arrive(used);
    used = at.empty(ring.stage);
    ring.advance();
  }
  wait_products<0>();
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int tap = S::line ? first + i : 3 * i + first;
    write_block(split_of(q, partial), block_of(q, 0, unit.filter, tap, unit.channel), sums, i * kBlockSums,
                thread);
  }
}

template <class Math, class S>
__global__ void __launch_bounds__(S::threads, 1)
    hopper_weights_taps(const __grid_constant__ WeightsProblem q, const __grid_constant__ CUtensorMap dy,
                        const __grid_constant__ CUtensorMap x, float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  const StagePlaces<S> at{first_tile(shared)};
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) make_barriers(at, adds_gradients(q) ? static_cast<unsigned>(kAddingWarps) : 0);
  __syncthreads();
  const int group = thread / static_cast<int>(kWarpgroup) - 1;
  if (group < 0) {
    if (thread == 0) produce_patches<S>(q, at, dy, x);
    const int adding = thread / 32 - 1;
    if (adds_gradients(q) && adding >= 0 && adding < kAddingWarps) {
      add_gradients<Math, S, kAddingWarps>(q, at, shared + (at.base - shared_address(shared)), partial, 0,
                                           adding, thread % 32);
    }
    return;
  }
  const int member = thread % static_cast<int>(kWarpgroup);
  const int first = S::line ? S::few_taps * group + max(group - S::first_more, 0) : group;
  if constexpr (S::first_more < S::consumers) {
    if (group >= S::first_more) {
      consume_taps<Math, S, S::few_taps + 1>(q, at, partial, first, member);
      return;
    }
  }
  consume_taps<Math, S, S::few_taps>(q, at, partial, first, member);
#else
  __trap();  // this build has no code for sm_90a
#endif
}

template <int kTaps>
void launch_taps(const WeightsCall& call) {
  using S = TapsShape<kTaps>;
  const bool fp16 = call.precision == core::Precision::fp16;
  const auto kernel = fp16 ? hopper_weights_taps<mma::Fp16, S> : hopper_weights_taps<mma::Bf16, S>;
  launch_products(call, kernel, S::threads, S::shared_bytes);
}

}  // namespace

void launch_all_taps(const WeightsCall& call) {
  switch (call.plan.taps) {
    case 5:
      return launch_taps<5>(call);
    case 7:
      return launch_taps<7>(call);
    default:
      return launch_taps<9>(call);
  }
}

}  // namespace warpscope::ops::conv2d::fused::hopper
