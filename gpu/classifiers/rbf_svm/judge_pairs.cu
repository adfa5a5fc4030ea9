// What pairs have reached: v summed anew in double from alpha, and gap, objective and rho from it.

#include "gpu/classifiers/rbf_svm/rbf_kernels.h"
#include "gpu/core/cuda.h"
#include "gpu/ops/block_sum.cuh"

namespace warpscope::classifiers::rbf {
namespace {

constexpr int kSumThreads = 256;
constexpr int kSumWarps = kSumThreads / 32;
constexpr int kSumPlaces = 128;  // of a block: four a lane, the same for all warps
constexpr int kJudgeThreads = 512;

__device__ bool is_judged(const PairState& state) {
  return state.phase == static_cast<int>(PairPhase::settled) ||
         state.phase == static_cast<int>(PairPhase::exhausted);
}

__device__ __forceinline__ int index_of(const PairProblem& p, int place) {
  return place < p.padded[0] ? p.first[0] + place : p.first[1] + place - p.padded[0];
}

/// exact[t] = sum_s y_s alpha_s K_ts - y_t for 128 places t; each warp sums over every eighth s, the warps' sums
/// are added in order.
template <bool kShifted>
__global__ void __launch_bounds__(kSumThreads) sum_gradients(const __grid_constant__ SolveCall call) {
  if (!is_judged(call.states[blockIdx.x])) return;
  const PairProblem p = call.problems[blockIdx.x];
  const int places = p.padded[0] + p.padded[1];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int t = static_cast<int>(blockIdx.y) * kSumPlaces + 4 * lane;
  if (static_cast<int>(blockIdx.y) * kSumPlaces >= places) return;
  double sums[4] = {0, 0, 0, 0};
  const float* const columns = p.distances + index_of(p, min(t, places - 4));
#pragma unroll 4
  for (int s = warp; s < places; s += kSumWarps) {
    const double alpha = p.alpha[s];
    if (alpha == 0.0) continue;
    const double coefficient = s < p.padded[0] ? alpha : -alpha;
    const float4 d = *reinterpret_cast<const float4*>(columns + index_of(p, s) * p.pitch);
    sums[0] += coefficient * static_cast<double>(kernel_value<kShifted>(d.x, call.factors));
    sums[1] += coefficient * static_cast<double>(kernel_value<kShifted>(d.y, call.factors));
    sums[2] += coefficient * static_cast<double>(kernel_value<kShifted>(d.z, call.factors));
    sums[3] += coefficient * static_cast<double>(kernel_value<kShifted>(d.w, call.factors));
  }
  __shared__ double of_warps[kSumWarps][kSumPlaces];
#pragma unroll
  for (int k = 0; k < 4; ++k) of_warps[warp][4 * lane + k] = sums[k];
  __syncthreads();
  const int own = static_cast<int>(threadIdx.x);
  const int place = static_cast<int>(blockIdx.y) * kSumPlaces + own;
  if (own >= kSumPlaces || place >= places) return;
  double sum = 0;
  for (int w = 0; w < kSumWarps; ++w) sum += of_warps[w][own];
  p.exact[place] = sum - (place < p.padded[0] ? 1.0 : -1.0);
}

/// The largest of the block's `value`, in every thread.
__device__ double block_max(double value, double* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = kJudgeThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < static_cast<unsigned>(half)) {
      shared[threadIdx.x] = fmax(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
  }
  const double most = shared[0];
  __syncthreads();
  return most;
}

/// Sums over the places of one thread, then of the block.
struct PairSums {
  double objective = 0;
  double free_v = 0;
  int support = 0;
  int bounded = 0;
};

__global__ void __launch_bounds__(kJudgeThreads) judge(const __grid_constant__ SolveCall call) {
  PairState& state = call.states[blockIdx.x];
  if (!is_judged(state)) return;
  const PairProblem p = call.problems[blockIdx.x];
  const int places = p.padded[0] + p.padded[1];
  double rising = -INFINITY, falling = -INFINITY;
  PairSums sums;
  for (int t = static_cast<int>(threadIdx.x); t < places; t += kJudgeThreads) {
    const double v = p.exact[t];
    p.gradient[t] = static_cast<float>(v);
    if (p.member[t] == 0) continue;
    const bool positive = t < p.padded[0];
    const double alpha = p.alpha[t];
    const double bound = positive ? p.bounds[0] : p.bounds[1];
    if (can_rise(positive, alpha, bound)) rising = fmax(rising, -v);
    if (can_fall(positive, alpha, bound)) falling = fmax(falling, v);
    sums.objective += alpha * ((positive ? v : -v) - 1.0);
    if (alpha > 0.0) ++sums.support;
    if (alpha >= bound) ++sums.bounded;
    if (alpha > 0.0 && alpha < bound) sums.free_v += v;
  }
  __shared__ double shared[kJudgeThreads];
  rising = block_max(rising, shared);
  falling = block_max(falling, shared);
  double added[2] = {sums.objective, sums.free_v};
  int counts[2] = {sums.support, sums.bounded};
  ops::block_sums(added);
  ops::block_sums(counts);
  if (threadIdx.x != 0) return;
  const double gap = rising + falling;
  state.exact_gap = gap > 0 ? gap : 0;
  state.objective = 0.5 * added[0];
  state.support_vectors = counts[0];
  state.bounded = counts[1];
  state.free_vectors = counts[0] - counts[1];
  // As LIBSVM: the mean of v over free support vectors, or the middle of what the bounded ones allow.
  state.rho = state.free_vectors > 0 ? added[1] / state.free_vectors : 0.5 * (falling - rising);
  PairPhase next = PairPhase::running;
  if (gap < static_cast<double>(call.judged_tolerance))
    next = PairPhase::done;
  else if (state.phase == static_cast<int>(PairPhase::exhausted))
    next = PairPhase::stopped;
  else if (state.sent_back_at == state.iterations)
    next = PairPhase::stopped;
  state.sent_back_at = state.iterations;
  state.phase = static_cast<int>(next);
}

}  // namespace

void judge_pairs(core::Stream& stream, const SolveCall& call) {
  if (call.count == 0) return;
  const cudaStream_t native = core::cuda_stream(stream);
  const dim3 grid(static_cast<unsigned>(call.count),
                  static_cast<unsigned>((call.largest + kSumPlaces - 1) / kSumPlaces));
  if (call.shifted)
    sum_gradients<true><<<grid, kSumThreads, 0, native>>>(call);
  else
    sum_gradients<false><<<grid, kSumThreads, 0, native>>>(call);
  core::check_launch("rbf_svm: gradients in double");
  judge<<<static_cast<unsigned>(call.count), kJudgeThreads, 0, native>>>(call);
  core::check_launch("rbf_svm: gaps");
}

}  // namespace warpscope::classifiers::rbf
