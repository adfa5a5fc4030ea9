// linear.forward, variants `split_k` and `split_k_fused`: tiles as in `tiled`, of 16, 32 or 64 rows and
// columns. Over `tiled` they add that chunks of 128 bytes of depth come by asynchronous copies of 16 bytes,
// three or four of them ahead of the sums; that groups of threads share each chunk's depth, so that small
// tiles keep a whole block busy; that in FP16, BF16 and TF32 the products are the tensor cores'; and that
// where tiles are too few for the GPU the depth is split over blocks, of which the last one of a tile to
// arrive adds all parts in their order: one launch, the same bits every time. `split_k_fused` adds the bias
// and the activation to the sums while they are in registers. Limits: none on the shape; rows that do not begin at
// multiples of 16 bytes come in copies of 4 bytes, or by element. Workspace: the parts, where the depth is
// split. At most 128 registers, 74 KiB of shared memory, no spills. Source: linear.cpp; V. Volkov, J. Demmel,
// "Benchmarking GPUs to tune dense linear algebra" (2008); NVIDIA CUTLASS, "Efficient GEMM in CUDA" (split-K
// and sliced-K reductions).

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/linear/split_k_launch.cuh"

namespace warpscope::ops::linear::split_k {
namespace {

template <class Tile, class T, class Finish>
__global__ void __launch_bounds__(Tile::kThreads, 512 / Tile::kThreads)
    linear_forward_split_k(const __grid_constant__ Job<T, Finish> job) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  Block<Tile, true, true, Finish>(job, blockIdx.x, shared).run();
#endif
}

}  // namespace

void launch_forward(const OpCall& call, const Cut& cut) {
  with_tile(call.precision, cut.tile, [&](auto* tile) {
    using Tile = std::remove_pointer_t<decltype(tile)>;
    using T = typename Tile::Value;
    constexpr unsigned kSharedBytes = Layout<Tile, true, true>::kBytes;
    const Product p = forward_product(call.shape);
    const Activation activation = activation_of(call.shape.covered);
    with_relu_or_more(activation, [&](auto relu) {
      using Finish = BiasAndActivation<T, relu.value>;
      const Finish finish{call.operand<const T>(Name::bias), activation, call.operand<T>(Name::unactivated)};
      Shared from = shared_of(call);
      const auto made = job(p, cut, depth_first(call.operand<const T>(Name::input), p.rows, p.depth),
                            depth_first(call.operand<const T>(Name::weights), p.columns, p.depth),
                            call.operand<T>(Name::output), finish, from);
      run_kernel(call, {cut.blocks(), Tile::kThreads, kSharedBytes}, linear_forward_split_k<Tile, T, Finish>,
                 made);
    });
  });
}

}  // namespace warpscope::ops::linear::split_k
