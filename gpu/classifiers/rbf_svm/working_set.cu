// What working sets need besides distances: the square of distances among themselves, and the sum of their steps.

#include "gpu/classifiers/rbf_svm/rbf_kernels.h"
#include "gpu/core/cuda.h"

namespace warpscope::classifiers::rbf {
namespace {

constexpr int kWorkingThreads = 128;

__global__ void __launch_bounds__(kWorkingThreads)
    gather(const __grid_constant__ WorkingSetCall call, float* square) {
  const int i = static_cast<int>(blockIdx.y);
  const int j = static_cast<int>(blockIdx.x) * kWorkingThreads + static_cast<int>(threadIdx.x);
  if (j >= call.size) return;
  const int slot = call.slots[i];
  const bool empty = slot < 0 || call.slots[j] < 0;
  square[static_cast<std::int64_t>(i) * call.size + j] =
      empty ? 0.0f : call.rows[slot * call.pitch + call.members[j]];
}

template <bool kShifted>
__global__ void __launch_bounds__(kWorkingThreads)
    add(const __grid_constant__ WorkingSetCall call, const double* steps, KernelFactors factors, double* v) {
  const int t = static_cast<int>(blockIdx.x) * kWorkingThreads + static_cast<int>(threadIdx.x);
  if (t >= call.columns) return;
  double sum = v[t];
#pragma unroll 4
  for (int i = 0; i < call.size; ++i) {
    const double step = steps[i];
    if (step == 0.0) continue;
    const float distance = call.rows[call.slots[i] * call.pitch + t];
    sum += step * static_cast<double>(kernel_value<kShifted>(distance, factors));
  }
  v[t] = sum;
}

unsigned blocks_of(int count) {
  return static_cast<unsigned>((count + kWorkingThreads - 1) / kWorkingThreads);
}

}  // namespace

void gather_square(core::Stream& stream, const WorkingSetCall& call, float* square) {
  const dim3 grid(blocks_of(call.size), static_cast<unsigned>(call.size));
  gather<<<grid, kWorkingThreads, 0, core::cuda_stream(stream)>>>(call, square);
  core::check_launch("rbf_svm: distances of a working set");
}

void add_steps(core::Stream& stream, const WorkingSetCall& call, const double* steps, KernelFactors factors,
               bool shifted, double* v) {
  const cudaStream_t native = core::cuda_stream(stream);
  const unsigned blocks = blocks_of(call.columns);
  if (shifted)
    add<true><<<blocks, kWorkingThreads, 0, native>>>(call, steps, factors, v);
  else
    add<false><<<blocks, kWorkingThreads, 0, native>>>(call, steps, factors, v);
  core::check_launch("rbf_svm: steps of a working set");
}

}  // namespace warpscope::classifiers::rbf
