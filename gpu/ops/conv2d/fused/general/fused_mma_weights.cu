// conv2d.backward_weights, variant `fused` in TF32, FP16 and BF16: a product over the pixels of x with the
// window of the gradient around each. After upsampling that is (R+1) x (S+1) taps at stride 2 and gives the
// gradients of the sums of taps that an upsampled pixel meets, 2.25 times fewer products than those of the
// taps themselves of a 3x3 kernel; the sum of the parts hands them to their taps (fused_passes.cu).
// Over conv2d's `mma` it also adds that a lane finds its pixels without masks of taps and, in TF32, loads 16
// bytes of fragments at once (fused_tf32.cuh): half the instructions.
//
// Tiles 128x256, 128x128, 64x64 and 128x32 and the number of parts: fused_plan.h. Limits: tensors of at most
// 2e9 elements, at most 15x15 taps, up to 128 MiB of workspace.
// Registers on sm_90, in 16 bits and in TF32: wide 229 and 214, large 228 and 210, tall 124 and 123, small 98
// and 112, by elements 128 (16 bytes spilled) and 125.
// Source: chain.h; those of conv2d_mma_backward_weights.cu.

#include <type_traits>

#include "gpu/ops/conv2d/fused/general/fused.h"
#include "gpu/ops/conv2d/fused/general/fused_mma.cuh"
#include "gpu/ops/conv2d/fused/general/fused_tf32.cuh"
#include "gpu/ops/conv2d/implicit_gemm_launch.cuh"
#include "gpu/ops/conv2d/mma_plan.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::general {
namespace tensor {
namespace {

using conv2d::tensor_cores::depth_of;

/// TF32 with 16-byte loads of four fragments, on warps of 64 x 64.
template <class T, class Math, bool kVectors>
inline constexpr bool takes_sides =
    kVectors&& std::is_same_v<Math, mma::Tf32>&& T::row_fragments == 4 && T::column_fragments == 8;

template <class T, class Math, bool kVectors, int kSide>
using Layout = std::conditional_t<takes_sides<T, Math, kVectors>, SideTf32<kSide, T::depth_bytes, T::threads>,
                                  conv2d::tensor_cores::AlongSide<Math, kSide, T::depth_bytes, T::threads>>;

struct WeightsProblem {
  Window window;
  int rows;
  int columns;
  int split_pixels;
  int column_tiles;
  std::int64_t split_elements;
};

template <class T, class Math, bool kPlainVectors, bool kShiftedVectors>
__global__ void __launch_bounds__(T::threads, T::blocks)
    fused_mma_weights(const __grid_constant__ WeightsProblem q,
                      const typename Math::Storage* __restrict__ plain,
                      const typename Math::Storage* __restrict__ shifted, float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  constexpr bool kVectors = kPlainVectors && kShiftedVectors;
  using LayoutA = Layout<T, Math, kVectors, T::rows>;
  using LayoutB = Layout<T, Math, kVectors, T::columns>;
  using LoaderA = std::conditional_t<kPlainVectors, conv2d::tensor_cores::PlainVectors<Math, LayoutA>,
                                     conv2d::tensor_cores::PlainScalars<Math, LayoutA>>;
  using LoaderB =
      std::conditional_t<kShiftedVectors, ShiftedVectors<Math, LayoutB>, ShiftedScalars<Math, LayoutB>>;
  constexpr int kDepth = depth_of<T, Math>;

  const int first_row = static_cast<int>(blockIdx.x) / q.column_tiles * T::rows;
  const int first_column = static_cast<int>(blockIdx.x) % q.column_tiles * T::columns;
  int pixel = static_cast<int>(blockIdx.y) * q.split_pixels;
  const int end = min(q.window.taps.pixels, pixel + q.split_pixels);
  const int stages = (end - pixel + kDepth - 1) / kDepth;
  const LoaderA a(plain, q.rows, first_row, end);
  const LoaderB b(q.window, shifted, first_column, end);
  const auto fetch = [&](mma::SharedAddress a_tile, mma::SharedAddress b_tile) {
    a.fetch(q.window.taps, pixel, a_tile);
    b.fetch(q.window, pixel, b_tile);
    pixel += kDepth;
  };
  const auto look = [](mma::SharedAddress, mma::SharedAddress) {};

  const WarpPlace at = conv2d::tensor_cores::warp_place<T>();
  Sums<T> sums;
  conv2d::tensor_cores::multiply<T, Math, LayoutA, LayoutB>(sums, mma::shared_address(shared), stages, at,
                                                            fetch, look);
  float* mine = partial + blockIdx.y * q.split_elements;
  if constexpr (takes_sides<T, Math, kVectors>) {
    finish_sides<T>(sums, at, first_row, first_column, mine, q.rows, q.columns);
  } else {
    conv2d::tensor_cores::finish<T, mma::Tf32>(
        sums, shared, at, first_row, first_column,
        conv2d::tensor_cores::Target<mma::Tf32>{reinterpret_cast<std::uint32_t*>(mine), q.rows, q.columns,
                                                q.columns % 4 == 0});
  }
#endif
}

template <class T, class Math, bool kPlainVectors, bool kShiftedVectors>
void launch_tile(const Weights& call) {
  using Storage = typename Math::Storage;
  const auto rows = static_cast<int>(call.plan.rows);
  const auto columns = static_cast<int>(call.plan.columns);
  const int row_tiles = (rows + T::rows - 1) / T::rows;
  const int column_tiles = (columns + T::columns - 1) / T::columns;
  const WeightsProblem problem{call.window,  rows,
                               columns,      static_cast<int>(call.plan.split_pixels),
                               column_tiles, call.plan.split_elements()};
  const dim3 blocks(static_cast<unsigned>(row_tiles) * static_cast<unsigned>(column_tiles),
                    static_cast<unsigned>(call.plan.splits));
  run_kernel(call, "products", {blocks, T::threads, T::shared_bytes},
             fused_mma_weights<T, Math, kPlainVectors, kShiftedVectors>, problem, call.input, call.gradient,
             call.partial);
}

template <class Math>
void launch_math(const Weights& call) {
  // Contracts promise no alignment; the plan looks only at the channels.
  const bool plain = conv2d::takes_vectors(call.input);
  const bool both = plain && conv2d::takes_vectors(call.gradient);
  using conv2d::tensor_cores::WideTile;
  switch (call.plan.kernel) {
    case WeightsKernel::wide:
      // The parts suit any tile.
      if (both &&
          conv2d::tensor_cores::current_device().shared_bytes >= static_cast<int>(WideTile::shared_bytes)) {
        return launch_tile<WideTile, Math, true, true>(call);
      }
      [[fallthrough]];
    case WeightsKernel::medium:
    case WeightsKernel::large:
      if (both) return launch_tile<conv2d::tensor_cores::LargeTile, Math, true, true>(call);
      break;
    case WeightsKernel::small:
      if (both) return launch_tile<conv2d::tensor_cores::SmallTile, Math, true, true>(call);
      break;
    case WeightsKernel::tall:
      if (plain) return launch_tile<conv2d::tensor_cores::TallTile, Math, true, false>(call);
      break;
    case WeightsKernel::scalars:
      break;
  }
  launch_tile<conv2d::tensor_cores::SmallTile, Math, false, false>(call);
}

}  // namespace
}  // namespace tensor

void weights_mma(const Weights& call, core::Precision precision) {
  mma::with_math(precision, [&]<class Math>(Math) { tensor::launch_math<Math>(call); });
}

}  // namespace warpscope::ops::conv2d::fused::general
