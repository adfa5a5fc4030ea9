// Decision values: sums of coefficients times K. A thread has one row and all columns of a class's coefficients, which
// the block shares; a block goes through one stretch of a class's support vectors. Sums of 32 terms are FP32, these
// are added in double, and stretches in order.

#include "gpu/classifiers/rbf_svm/rbf_kernels.h"
#include "gpu/core/cuda.h"

namespace warpscope::classifiers::rbf {
namespace {

constexpr int kDecisionThreads = 128;
constexpr int kVectors = 32;  // support vectors whose coefficients are in shared memory
constexpr int kColumns = 9;   // coefficients a thread sums at once

template <bool kShifted>
__global__ void __launch_bounds__(kDecisionThreads)
    sum_stretches(const __grid_constant__ DecisionCall call, int column_groups) {
  const int columns = call.present - 1;
  const int row = static_cast<int>(blockIdx.x) * kDecisionThreads + static_cast<int>(threadIdx.x);
  const int at = min(row, call.rows - 1);
  const int of_class = static_cast<int>(blockIdx.y) / column_groups;
  const int first_column = static_cast<int>(blockIdx.y) % column_groups * kColumns;
  const int class_first = call.first[of_class];
  const std::int64_t count = call.first[of_class + 1] - class_first;
  const int part = static_cast<int>(blockIdx.z);
  const int begin = class_first + static_cast<int>(count * part / call.parts);
  const int end = class_first + static_cast<int>(count * (part + 1) / call.parts);
  __shared__ float coefficients[kVectors][kColumns + 1];
  double sums[kColumns] = {};
  for (int s0 = begin; s0 < end; s0 += kVectors) {
    const int here = min(kVectors, end - s0);
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); k < kVectors * kColumns; k += kDecisionThreads) {
      const int s = k / kColumns;
      const int column = first_column + k % kColumns;
      coefficients[s][k % kColumns] =
          s < here && column < columns
              ? call.coefficients[static_cast<std::int64_t>(s0 + s) * columns + column]
              : 0.0f;
    }
    __syncthreads();
    float terms[kColumns] = {};
    const float* const distances = call.distances + s0 * call.pitch + at;
#pragma unroll 8
    for (int s = 0; s < here; ++s) {
      const float kernel = kernel_value<kShifted>(distances[s * call.pitch], call.factors);
#pragma unroll
      for (int k = 0; k < kColumns; ++k) terms[k] += coefficients[s][k] * kernel;
    }
#pragma unroll
    for (int k = 0; k < kColumns; ++k) sums[k] += static_cast<double>(terms[k]);
  }
  if (row >= call.rows) return;
#pragma unroll
  for (int k = 0; k < kColumns; ++k) {
    if (first_column + k >= columns) continue;
    const std::int64_t line =
        (static_cast<std::int64_t>(part) * call.present + of_class) * columns + first_column + k;
    call.partial[line * call.rows + row] = sums[k];
  }
}

/// The sum of all parts, for a class and a column of its coefficients.
__device__ double sum_parts(const DecisionCall& call, int of_class, int column, int row) {
  const std::int64_t lines = static_cast<std::int64_t>(call.present) * (call.present - 1);
  const std::int64_t line = static_cast<std::int64_t>(of_class) * (call.present - 1) + column;
  double sum = 0;
  for (int part = 0; part < call.parts; ++part) sum += call.partial[(part * lines + line) * call.rows + row];
  return sum;
}

__global__ void __launch_bounds__(kDecisionThreads) decide(const __grid_constant__ DecisionCall call) {
  const int row = static_cast<int>(blockIdx.y) * kDecisionThreads + static_cast<int>(threadIdx.x);
  if (row >= call.rows) return;
  const int pair = static_cast<int>(blockIdx.x);
  int a = 0;
  for (int left = pair; left >= call.present - 1 - a; ++a) left -= call.present - 1 - a;
  const int b = pair - a * (2 * call.present - a - 1) / 2 + a + 1;
  const double sum = sum_parts(call, a, b - 1, row) + sum_parts(call, b, a, row) - call.rho[pair];
  call.result[static_cast<std::int64_t>(row) * gridDim.x + pair] = static_cast<float>(sum);
}

}  // namespace

void sum_decisions(core::Stream& stream, const DecisionCall& call) {
  if (call.rows == 0) return;
  const cudaStream_t native = core::cuda_stream(stream);
  const int groups = (call.present - 1 + kColumns - 1) / kColumns;
  const dim3 grid(static_cast<unsigned>((call.rows + kDecisionThreads - 1) / kDecisionThreads),
                  static_cast<unsigned>(call.present * groups), static_cast<unsigned>(call.parts));
  if (call.shifted)
    sum_stretches<true><<<grid, kDecisionThreads, 0, native>>>(call, groups);
  else
    sum_stretches<false><<<grid, kDecisionThreads, 0, native>>>(call, groups);
  core::check_launch("rbf_svm: decision values");
  const dim3 pairs(static_cast<unsigned>(call.present * (call.present - 1) / 2), grid.x);
  decide<<<pairs, kDecisionThreads, 0, native>>>(call);
  core::check_launch("rbf_svm: sums of decision values");
}

}  // namespace warpscope::classifiers::rbf
