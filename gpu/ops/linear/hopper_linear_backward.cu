// linear.backward_weights, variant `hopper`: a layer's backward pass in one launch, as by `split_k_fused`; over that it
// adds wgmma and the tensor memory accelerator.
//
//   dW[o,i] = sum_n dy[n,o] x[n,i]                    both turned by the tensor cores
//   db[o]   = sum_n dy[n,o]                           where linear.backward_bias is covered
//   dx[n,i] = sum_o dy[n,o] W[o,i], 0 where x <= 0    where linear.backward_input is covered; the mask where
//                                                     relu.backward is, W turned. Other activations multiply by
//                                                     their derivative (ops/activated.cuh)
//
// x, dx (N,I), dy (N,O), W (O,I) in FP16 or BF16, dW (O,I) and db (O) in FP32, all row-major; sums in FP32, dx rounded
// once, to nearest even.
//
// Tiles of 128 x 128 (hopper_products.cuh); four blocks make a cluster of 2 x 2 tiles. dW takes most of the memory's
// time and dx most of the tensor cores', so their clusters alternate, and two blocks share a multiprocessor: one
// multiplies while the other writes. The blocks of the first columns of dW add up dy at last, out of the L2 cache: a
// warp 16 outputs, a lane eight of them over every 16th row, then the 16 sums of each. Sums over n are never cut:
// layers that are taken have 64 tiles of dW or more. Those over o are, where tiles of dx are few (hopper_layers.h),
// and a second kernel adds the parts in order. So results are deterministic.
//
// Limits: compute capability 9.0; inputs and outputs in multiples of 64, sizes as hopper_layers.h says;
// operands aligned to 16 bytes. The workspace has a copy of dx in FP32 for each part. Threads 288 of 90 registers;
// shared memory 97 KiB, three stages: two blocks to a multiprocessor. Source: hopper_products.cuh; split_k.h.

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/linear/hopper_products.cuh"

namespace warpscope::ops::linear::hopper {
namespace {

/// Three stages, two blocks to a multiprocessor, clusters of 2 x 2.
template <class Math>
using BackwardShape = Shape<Math, 3, 2, 2, 2>;

template <class Math>
struct BackwardProblem {
  Cut weights;  ///< of dW
  Cut input;    ///< of dx; none where it is not covered
  int rows;     ///< of dy
  const typename Math::Storage* dy;
  float* dw;
  float* db;  ///< nullptr: not covered
  Result<Math> dx;
};

/// A cluster's product and its number among that product's clusters.
struct Turn {
  bool of_input;
  int cluster;
};

/// Spreads the clusters of dx evenly among those of dW, which come first.
__device__ __forceinline__ Turn turn_of(int cluster, int of_weights, int of_input) {
  const std::int64_t all = of_weights + of_input;
  const int before = static_cast<int>(std::int64_t{cluster} * of_input / all);
  const int after = static_cast<int>((std::int64_t{cluster} + 1) * of_input / all);
  return after > before ? Turn{true, before} : Turn{false, cluster - before};
}

constexpr int kWarpOutputs = kTile * 32 / kConsumerThreads;  // whose sums of dy a warp adds
constexpr int kWarpChunks = kWarpOutputs / 8;
constexpr int kWarpRows = 32 / kWarpChunks;  // of dy, at once

/// A warp: the sums over all rows of dy of its outputs from `first` on. A lane adds eight of these over every 16th row.
template <class Math>
__device__ __forceinline__ void add_gradients(const BackwardProblem<Math>& q, int first, int lane) {
  const int outputs = q.weights.rows;
  if (first >= outputs) return;
  const int output = first + 8 * (lane % kWarpChunks);
  float sums[8] = {};
#pragma unroll 4
  for (int row = lane / kWarpChunks; row < q.rows; row += kWarpRows) {
    const uint4 chunk = __ldg(reinterpret_cast<const uint4*>(q.dy + std::int64_t{row} * outputs + output));
    const unsigned words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      sums[2 * k] += mma::widen(Math{}, static_cast<typename Math::Storage>(words[k] & 0xffff));
      sums[2 * k + 1] += mma::widen(Math{}, static_cast<typename Math::Storage>(words[k] >> 16));
    }
  }
#pragma unroll
  for (int apart = kWarpChunks; apart < 32; apart *= 2) {
#pragma unroll
    for (int k = 0; k < 8; ++k) sums[k] += __shfl_xor_sync(0xffffffffu, sums[k], apart);
  }
  if (lane >= kWarpChunks) return;
#pragma unroll
  for (int k = 0; k < 8; ++k) q.db[output + k] = sums[k];
}

template <class S>
__global__ void __cluster_dims__(S::cluster, 1, 1) __launch_bounds__(kThreads, S::blocks)
    linear_hopper_backward(const __grid_constant__ BackwardProblem<typename S::Math> q,
                           const __grid_constant__ CUtensorMap dy, const __grid_constant__ CUtensorMap x,
                           const __grid_constant__ CUtensorMap w) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  const Places<S> at{tiles::first_tile(shared)};
  make_barriers(at);
  const int rank = static_cast<int>(cluster_rank());
  const Turn turn =
      turn_of(static_cast<int>(blockIdx.x) / S::cluster, q.weights.clusters(), q.input.clusters());
  const Work work = work_of<S>(turn.of_input ? q.input : q.weights, turn.cluster, rank);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= kConsumerThreads) {
    if (thread == kConsumerThreads) {
      if (turn.of_input) {
        produce<S, false, true>(at, work, rank, dy, w);
      } else {
        produce<S, true, true>(at, work, rank, dy, x);
      }
    }
    __syncwarp();
    arrive_at_cluster();
  } else {
    const Consumer me(thread);
    float sums[kSums];
    if (turn.of_input) {
      multiply_slices<S, false, true>(sums, at, work, me);
      arrive_at_cluster();
      write_result(sums, q.input, work, q.dx, me);
    } else {
      multiply_slices<S, true, true>(sums, at, work, me);
      arrive_at_cluster();
      write_floats(sums, q.weights, work, q.dw, me);
      if (work.column == 0 && q.db != nullptr)
        add_gradients(q, work.row + thread / 32 * kWarpOutputs, me.lane);
    }
  }
  wait_for_cluster();  // no block ends while another may arrive at its barriers
#else
  __trap();  // this build has no code for sm_90a
#endif
}

Cut weights_cut(const OpShape& s) {
  using S = BackwardShape<mma::Fp16>;
  return cut_of(s.out_channels, s.in_channels, s.batch, S::cluster_rows, S::cluster_columns, false);
}

Cut input_cut(const OpShape& s) {
  using S = BackwardShape<mma::Fp16>;
  if (!s.covered.has(Op::linear_backward_input)) return {};
  return cut_of(s.batch, s.in_channels, s.out_channels, S::cluster_rows, S::cluster_columns, true);
}

template <class Math>
void launch_backward_in(const OpCall& call) {
  using S = BackwardShape<Math>;
  using Storage = typename Math::Storage;
  const OpShape& s = call.shape;
  const auto* dy = call.operand<const Storage>(Name::output_gradient);
  const auto* x = call.operand<const Storage>(Name::input);
  const auto* w = call.operand<const Storage>(Name::weights);
  const Activation activation = derivative_of(s.covered);
  Finish<Math> finish{nullptr, false, activation == Activation::relu ? x : nullptr};
  if (reads_input(activation)) {
    finish.activated = {activation, nullptr, call.operand<const Storage>(Name::unactivated)};
  }
  const BackwardProblem<Math> problem{
      weights_cut(s),
      input_cut(s),
      static_cast<int>(s.batch),
      dy,
      call.operand<float>(Name::weights_gradient),
      call.operand<float>(Name::bias_gradient),
      {finish, call.operand<Storage>(Name::input_gradient), static_cast<float*>(call.workspace)}};
  const auto kernel = linear_hopper_backward<S>;
  prefer_shared_memory(call, kernel);  // for two blocks
  const CUtensorMap dy_map = map_of(dy, s.batch, s.out_channels, call.precision);
  const CUtensorMap x_map = map_of(x, s.batch, s.in_channels, call.precision);
  // Where dx is not covered there is no W, and nobody reads its map.
  const CUtensorMap w_map = w == nullptr ? x_map : map_of(w, s.out_channels, s.in_channels, call.precision);
  const auto clusters = static_cast<unsigned>(problem.weights.clusters() + problem.input.clusters());
  run_kernel(call, {clusters * S::cluster, kThreads, S::shared_bytes}, kernel, problem, dy_map, x_map, w_map);
  launch_sum(call, problem.input, problem.dx);
}

}  // namespace

std::size_t backward_workspace(const OpShape& shape, core::Precision) {
  return parts_bytes(input_cut(shape));
}

void launch_backward(const OpCall& call) {
  require_aligned(call, Name::weights_gradient);
  require_aligned(call, Name::input_gradient);
  require_aligned(call, Name::unactivated);
  if (call.precision == core::Precision::fp16) {
    launch_backward_in<mma::Fp16>(call);
  } else {
    launch_backward_in<mma::Bf16>(call);
  }
}

}  // namespace warpscope::ops::linear::hopper
