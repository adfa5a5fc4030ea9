// linear.forward, variant `hopper`: over `split_k_fused` it adds wgmma, which multiplies from shared memory, and the
// tensor memory accelerator, which fills that.
//
//   y[n,o] = max(sum_i x[n,i] W[o,i] + b[o], 0)       bias and ReLU where they are covered; a NaN stays. Other
//                                                     activations work from the rounded sum (ops/activated.cuh)
//
// x (N,I), W (O,I), y (N,O), all row-major in FP16 or BF16; sums, bias and ReLU in FP32, rounded once, to nearest
// even.
//
// Tiles of 128 x 128 (hopper_products.cuh); two blocks side by side make a cluster and share the rows of x. Where
// tiles are too few for 132 multiprocessors, whatever the GPU has, the depth is cut into parts: their sums go to the
// workspace in FP32, and a second kernel, which finds them in the L2 cache, adds them in order, adds the bias and
// rounds. So results are deterministic.
//
// Limits: compute capability 9.0; inputs and outputs in multiples of 64, sizes as hopper_layers.h says;
// operands aligned to 16 bytes. The workspace has a copy of y in FP32 for each part. Threads 288 of 90 registers;
// shared memory 193 KiB, six stages. Source: hopper_products.cuh; NVIDIA, "CUTLASS documentation", "Efficient GEMM in
// CUDA", section "Split-K".

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/linear/hopper_products.cuh"

namespace warpscope::ops::linear::hopper {
namespace {

/// Six stages, one block to a multiprocessor, clusters of 1 x 2.
template <class Math>
using ForwardShape = Shape<Math, 6, 1, 1, 2>;

template <class S>
__global__ void __cluster_dims__(S::cluster, 1, 1) __launch_bounds__(kThreads, S::blocks)
    linear_hopper_forward(const __grid_constant__ Cut cut, const __grid_constant__ CUtensorMap x,
                          const __grid_constant__ CUtensorMap w,
                          const __grid_constant__ Result<typename S::Math> y) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  const Places<S> at{tiles::first_tile(shared)};
  make_barriers(at);
  const int rank = static_cast<int>(cluster_rank());
  const Work work = work_of<S>(cut, static_cast<int>(blockIdx.x) / S::cluster, rank);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= kConsumerThreads) {
    if (thread == kConsumerThreads) produce<S, false, false>(at, work, rank, x, w);
    __syncwarp();
    arrive_at_cluster();
  } else {
    const Consumer me(thread);
    float sums[kSums];
    multiply_slices<S, false, false>(sums, at, work, me);
    arrive_at_cluster();
    write_result(sums, cut, work, y, me);
  }
  wait_for_cluster();  // no block ends while another may arrive at its barriers
#else
  __trap();  // this build has no code for sm_90a
#endif
}

Cut forward_cut(const OpShape& s) {
  using S = ForwardShape<mma::Fp16>;
  return cut_of(s.batch, s.out_channels, s.in_channels, S::cluster_rows, S::cluster_columns, true);
}

template <class Math>
void launch_forward_in(const OpCall& call) {
  using S = ForwardShape<Math>;
  using Storage = typename Math::Storage;
  const OpShape& s = call.shape;
  const Cut cut = forward_cut(s);
  const Activation activation = activation_of(s.covered);
  Finish<Math> finish{call.operand<const Storage>(Name::bias), activation == Activation::relu};
  if (reads_input(activation)) finish.activated = {activation, call.operand<Storage>(Name::unactivated)};
  const Result<Math> y{finish, call.operand<Storage>(Name::output), static_cast<float*>(call.workspace)};
  const auto blocks = static_cast<unsigned>(cut.clusters() * S::cluster);
  run_kernel(call, {blocks, kThreads, S::shared_bytes}, linear_hopper_forward<S>, cut,
             map_of(call.operand<const void>(Name::input), s.batch, s.in_channels, call.precision),
             map_of(call.operand<const void>(Name::weights), s.out_channels, s.in_channels, call.precision),
             y);
  launch_sum(call, cut, y);
}

}  // namespace

std::size_t forward_workspace(const OpShape& shape, core::Precision) {
  return parts_bytes(forward_cut(shape));
}

void launch_forward(const OpCall& call) {
  require_aligned(call, Name::output);
  require_aligned(call, Name::unactivated);
  if (call.precision == core::Precision::fp16) {
    launch_forward_in<mma::Fp16>(call);
  } else {
    launch_forward_in<mma::Bf16>(call);
  }
}

}  // namespace warpscope::ops::linear::hopper
