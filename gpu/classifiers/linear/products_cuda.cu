// rows x weights: a block keeps the weights of a slab of columns in shared memory and goes down the rows; a warp takes
// four rows at a time, 128 columns of each in one access of 16 bytes a thread, so that a weight read from shared
// memory serves four rows and a feature read from memory serves all classes. Slabs are added up by a second launch.
//
// sums over rows: a thread keeps the sums of four columns for all classes in registers and goes down a range of rows,
// whose factors lie in shared memory. Ranges are added up by a second launch.

#include <algorithm>
#include <type_traits>

#include "gpu/classifiers/linear/products_cuda.h"
#include "gpu/core/cuda.h"
#include "gpu/ops/block_sum.cuh"

namespace warpscope::classifiers::linear {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kRows = 4;     // that a warp multiplies at a time
constexpr int kSlab = 1024;  // columns of a block
constexpr int kWide = 4;     // columns of a thread at a time
constexpr int kChunk = 32 * kWide;
constexpr int kTile = 64;          // rows whose factors lie in shared memory
constexpr int kMostProblems = 16;  // of a launch
constexpr int kBlocksPerMultiprocessor = 2;

/// Blocks that a multiprocessor is to hold at a time: as many as the sums of a thread leave registers for.
template <class Number, int K, bool Aligned>
constexpr int kHeldBlocks = K * sizeof(Number) > (Aligned ? 40 : 16) ? 1 : kBlocksPerMultiprocessor;

/// The column of a thread's n-th number in a chunk of 32 kWide (a warp's) or kThreads kWide (a block's) columns.
template <bool Aligned, int Threads>
__device__ __forceinline__ int column_of(int thread, int n) {
  return Aligned ? kWide * thread + n : thread + Threads * n;
}

/// A thread's numbers of a row, 0 beyond its end. The features are read once: they need not stay in the cache.
template <bool Aligned, int Threads>
__device__ __forceinline__ void load_columns(const float* row, int columns, int thread, float (&x)[kWide]) {
  if constexpr (Aligned) {
    float4 four = make_float4(0, 0, 0, 0);
    if (kWide * thread < columns) four = __ldcs(reinterpret_cast<const float4*>(row) + thread);
    x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
  } else {
#pragma unroll
    for (int n = 0; n < kWide; ++n) {
      const int j = column_of<Aligned, Threads>(thread, n);
      x[n] = j < columns ? __ldcs(row + j) : 0.0f;
    }
  }
}

/// The same of a row that is padded with zeros to whole groups of kWide.
template <bool Aligned, int Threads>
__device__ __forceinline__ void load_columns(const __half* row, int columns, int thread, float (&x)[kWide]) {
  static_assert(Aligned);
  uint2 four = make_uint2(0, 0);
  if (kWide * thread < columns) four = __ldcs(reinterpret_cast<const uint2*>(row) + thread);
  const float2 low = __half22float2(*reinterpret_cast<const __half2*>(&four.x));
  const float2 high = __half22float2(*reinterpret_cast<const __half2*>(&four.y));
  x[0] = low.x, x[1] = low.y, x[2] = high.x, x[3] = high.y;
}

/// Features as they are stored, `stride` numbers from row to row.
template <class Stored>
struct Rows {
  const Stored* values;
  std::int64_t rows;
  int columns;
  std::int64_t stride;
};

template <class Stored>
struct MultiplyCall {
  Rows<Stored> x;
  const void* weights;  ///< (problems, columns + 1)
  void* partial;        ///< (slabs, rows, problems)
  int problems;
  int first;  ///< problem of this launch
  int count;  ///< of problems of this launch
  int slabs;
};

template <class Stored, class Number, int K, bool Aligned>
__global__ void __launch_bounds__(kThreads, (kHeldBlocks<Number, K, Aligned>))
    multiply_slab(MultiplyCall<Stored> call) {
  extern __shared__ __align__(16) unsigned char shared[];
  Number* const tile = reinterpret_cast<Number*>(shared);  // (K, kSlab)
  const int slab = static_cast<int>(blockIdx.x) % call.slabs, from = slab * kSlab;
  const int columns = min(kSlab, call.x.columns - from);
  const Number* const weights = static_cast<const Number*>(call.weights);
  for (int i = static_cast<int>(threadIdx.x); i < K * kSlab; i += kThreads) {
    const int k = i / kSlab, j = i % kSlab;
    tile[i] = k < call.count && j < columns
                  ? weights[static_cast<std::int64_t>(call.first + k) * (call.x.columns + 1) + from + j]
                  : Number{0};
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t bands = gridDim.x / static_cast<unsigned>(call.slabs);
  const std::int64_t stride = bands * kWarps * kRows;
  Number* const partial = static_cast<Number*>(call.partial) +
                          static_cast<std::int64_t>(slab) * call.x.rows * call.problems + call.first;
  for (std::int64_t row = (blockIdx.x / static_cast<unsigned>(call.slabs) * kWarps + warp) * kRows;
       row < call.x.rows; row += stride) {
    const Stored* rows[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      rows[r] = call.x.values + min(row + r, call.x.rows - 1) * call.x.stride + from;
    }
    Number sums[kRows * K] = {};
#pragma unroll 2
    for (int chunk = 0; chunk < columns; chunk += kChunk) {
      float x[kRows][kWide];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        load_columns<Aligned, 32>(rows[r] + chunk, columns - chunk, lane, x[r]);
      }
#pragma unroll
      for (int k = 0; k < K; ++k) {
        Number w[kWide];
#pragma unroll
        for (int n = 0; n < kWide; ++n) w[n] = tile[k * kSlab + chunk + column_of<Aligned, 32>(lane, n)];
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
#pragma unroll
          for (int n = 0; n < kWide; ++n) sums[r * K + k] += static_cast<Number>(x[r][n]) * w[n];
        }
      }
    }
    ops::warp_sums(sums);
#pragma unroll
    for (int i = 0; i < kRows * K; ++i) {
      const int r = i / K, k = i % K;
      if (lane == i % 32 && k < call.count && row + r < call.x.rows)
        partial[(row + r) * call.problems + k] = sums[i];
    }
  }
}

template <class Number>
__global__ void __launch_bounds__(kThreads)
    add_slabs(const Number* partial, int slabs, const Number* weights, std::int64_t rows, int columns,
              int problems, Number* scores) {
  const std::int64_t count = rows * problems, stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += stride) {
    Number sum = weights[(i % problems + 1) * (columns + 1) - 1];
    for (int slab = 0; slab < slabs; ++slab) sum += partial[slab * count + i];
    scores[i] = sum;
  }
}

template <class Stored>
struct SumCall {
  Rows<Stored> x;
  const void* factors;  ///< (rows, problems)
  void* partial;        ///< (ranges, problems, columns + 1)
  int problems;
  int first;
  int count;
  std::int64_t range_rows;
};

template <class Stored, class Number, int K, bool Aligned>
__global__ void __launch_bounds__(kThreads, (kHeldBlocks<Number, K, Aligned>))
    sum_range(SumCall<Stored> call) {
  constexpr int kStride = (K + 3) / 4 * 4;  // factors of a row are read 16 bytes at a time
  __shared__ __align__(16) Number factors[kTile * kStride];
  const int from = static_cast<int>(blockIdx.x) * kWide * kThreads;
  const int columns = call.x.columns - from, thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = blockIdx.y * call.range_rows, end = min(call.x.rows, first + call.range_rows);
  Number sums[K][kWide] = {};
  Number bias = 0;
  for (std::int64_t tile = first; tile < end; tile += kTile) {
    const int rows = static_cast<int>(min(std::int64_t{kTile}, end - tile));
    __syncthreads();
    for (int i = thread; i < kTile * kStride; i += kThreads) {
      const int row = i / kStride, k = i % kStride;
      factors[i] =
          row < rows && k < call.count
              ? static_cast<const Number*>(call.factors)[(tile + row) * call.problems + call.first + k]
              : Number{0};
    }
    __syncthreads();
    if (blockIdx.x == 0 && thread < K) {
      for (int row = 0; row < rows; ++row) bias += factors[row * kStride + thread];
    }
    const Stored* x = call.x.values + tile * call.x.stride + from;
#pragma unroll 4
    for (int row = 0; row < rows; ++row, x += call.x.stride) {
      float values[kWide];
      load_columns<Aligned, kThreads>(x, columns, thread, values);
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const Number factor = factors[row * kStride + k];
#pragma unroll
        for (int n = 0; n < kWide; ++n) sums[k][n] += factor * static_cast<Number>(values[n]);
      }
    }
  }
  const int width = call.x.columns + 1;
  Number* const partial = static_cast<Number*>(call.partial) +
                          (static_cast<std::int64_t>(blockIdx.y) * call.problems + call.first) * width;
  if (blockIdx.x == 0 && thread < min(K, call.count))
    partial[static_cast<std::int64_t>(thread + 1) * width - 1] = bias;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (k >= call.count) break;
#pragma unroll
    for (int n = 0; n < kWide; ++n) {
      const int j = column_of<Aligned, kThreads>(thread, n);
      if (j < columns) partial[static_cast<std::int64_t>(k) * width + from + j] = sums[k][n];
    }
  }
}

/// The sum of a number over all ranges.
template <class Number>
__device__ __forceinline__ double add_up(const Number* first, int ranges, std::int64_t stride) {
  double sum = 0;
#pragma unroll 4
  for (int range = 0; range < ranges; ++range) sum += static_cast<double>(first[range * stride]);
  return sum;
}

template <class Number>
__global__ void __launch_bounds__(kThreads)
    add_ranges(const Number* partial, int ranges, std::int64_t count, double* sums) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  sums[i] = add_up(partial + i, ranges, count);
}

/// Sums of what compact features stand for: x_ij = stored_ij factors_j + means_j.
__global__ void __launch_bounds__(kThreads)
    add_compact_ranges(const float* partial, int ranges, std::int64_t count, int width, const float* means,
                       const float* factors, double* sums) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const auto j = static_cast<int>(i % width);
  const double sum = add_up(partial + i, ranges, count);
  if (j + 1 == width) {
    sums[i] = sum;
    return;
  }
  const double all = add_up(partial + i - j + width - 1, ranges, count);  // the sum of the rows' own factors
  sums[i] = sum * static_cast<double>(factors[j]) + all * static_cast<double>(means[j]);
}

template <class Stored, class Number, int K, bool Aligned>
void launch_multiply(const MultiplyCall<Stored>& call, int multiprocessors, cudaStream_t stream) {
  const auto kernel = multiply_slab<Stored, Number, K, Aligned>;
  constexpr int kBytes = K * kSlab * static_cast<int>(sizeof(Number));
  core::check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
                   "shared memory of multiply_rows");
  int blocks = 0;
  core::check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, kBytes),
                   "occupancy of multiply_rows");
  const std::int64_t most = (call.x.rows + kWarps * kRows - 1) / (kWarps * kRows);
  const std::int64_t bands = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::max(blocks, 1)) * multiprocessors / call.slabs, 1, most);
  kernel<<<static_cast<unsigned>(bands * call.slabs), kThreads, kBytes, stream>>>(call);
  core::check_launch("multiply_rows");
}

/// Calls body(K) with a type for the fewest problems of a launch that are not fewer than `count`.
template <class Body>
void for_width(int count, const Body& body) {
  if (count <= 1) return body(std::integral_constant<int, 1>{});
  if (count <= 2) return body(std::integral_constant<int, 2>{});
  if (count <= 4) return body(std::integral_constant<int, 4>{});
  if (count <= 10) return body(std::integral_constant<int, 10>{});
  return body(std::integral_constant<int, kMostProblems>{});
}

/// Calls body(aligned) with a type: whether rows can be read in whole groups of kWide numbers.
template <class Stored, class Body>
void for_alignment(const Rows<Stored>& x, const Body& body) {
  if constexpr (std::is_same_v<Stored, float>) {
    const bool aligned = x.stride % kWide == 0 && reinterpret_cast<std::uintptr_t>(x.values) % 16 == 0;
    if (!aligned) return body(std::false_type{});
  }
  body(std::true_type{});
}

/// Calls body(first, count) for launches of at most kMostProblems problems, as even as they can be.
template <class Body>
void for_launches(int problems, const Body& body) {
  const int launches = (problems + kMostProblems - 1) / kMostProblems;
  const int each = (problems + launches - 1) / launches;
  for (int first = 0; first < problems; first += each) body(first, std::min(each, problems - first));
}

template <class Stored, class Number>
void multiply(const ProductPlan& plan, const Rows<Stored>& x, const Number* weights, int problems,
              Number* scores, void* partial, int multiprocessors, cudaStream_t stream) {
  for_launches(problems, [&](int first, int count) {
    const MultiplyCall<Stored> call{x, weights, partial, problems, first, count, plan.slabs};
    for_alignment(x, [&](auto aligned) {
      for_width(count, [&](auto k) {
        launch_multiply<Stored, Number, decltype(k)::value, decltype(aligned)::value>(call, multiprocessors,
                                                                                      stream);
      });
    });
  });
  const std::int64_t blocks = (x.rows * problems + kThreads - 1) / kThreads;
  add_slabs<<<static_cast<unsigned>(std::min<std::int64_t>(blocks, 65536)), kThreads, 0, stream>>>(
      static_cast<const Number*>(partial), plan.slabs, weights, x.rows, x.columns, problems, scores);
  core::check_launch("multiply_rows, slabs");
}

template <class Stored, class Number>
void sum(const ProductPlan& plan, const Rows<Stored>& x, const Number* factors, int problems, void* partial,
         cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(plan.sum_slabs), static_cast<unsigned>(plan.ranges));
  for_launches(problems, [&](int first, int count) {
    const SumCall<Stored> call{x, factors, partial, problems, first, count, plan.range_rows};
    for_alignment(x, [&](auto aligned) {
      for_width(count, [&](auto k) {
        sum_range<Stored, Number, decltype(k)::value, decltype(aligned)::value>
            <<<grid, kThreads, 0, stream>>>(call);
        core::check_launch("sum_rows");
      });
    });
  });
}

Rows<float> rows_of(const FeatureMatrix& features) {
  return {features.values, features.rows, features.columns, features.columns};
}

Rows<__half> rows_of(const FeatureMatrix& features, const CompactFeatures& compact) {
  return {compact.values(), features.rows, features.columns, compact.stride()};
}

}  // namespace

ProductPlan plan_products(const Place& place, const FeatureMatrix& features, int problems) {
  ProductPlan plan;
  plan.slabs = (features.columns + kSlab - 1) / kSlab;
  plan.sum_slabs = (features.columns + kWide * kThreads - 1) / (kWide * kThreads);
  const int wanted =
      std::max(1, kBlocksPerMultiprocessor * place.device->info().multiprocessors / plan.sum_slabs);
  plan.range_rows = std::max<std::int64_t>(kTile / 2, (features.rows + wanted - 1) / wanted);
  plan.ranges = static_cast<int>((features.rows + plan.range_rows - 1) / plan.range_rows);
  const std::int64_t multiplied = std::int64_t{plan.slabs} * features.rows * problems;
  const std::int64_t summed = std::int64_t{plan.ranges} * problems * (features.columns + 1);
  plan.bytes = static_cast<std::size_t>(std::max(multiplied, summed)) * sizeof(double);
  return plan;
}

template <class Number>
void multiply_rows_cuda(const ProductPlan& plan, const FeatureMatrix& features, const Number* weights,
                        int problems, Number* scores, void* partial, int multiprocessors,
                        cudaStream_t stream) {
  multiply(plan, rows_of(features), weights, problems, scores, partial, multiprocessors, stream);
}

void multiply_compact_rows(const ProductPlan& plan, const FeatureMatrix& features,
                           const CompactFeatures& compact, const float* weights, int problems, float* scores,
                           void* partial, int multiprocessors, cudaStream_t stream) {
  multiply(plan, rows_of(features, compact), weights, problems, scores, partial, multiprocessors, stream);
}

template <class Number>
void sum_rows_cuda(const ProductPlan& plan, const FeatureMatrix& features, const Number* factors,
                   int problems, double* sums, void* partial, cudaStream_t stream) {
  sum(plan, rows_of(features), factors, problems, partial, stream);
  const std::int64_t count = std::int64_t{problems} * (features.columns + 1);
  add_ranges<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      static_cast<const Number*>(partial), plan.ranges, count, sums);
  core::check_launch("sum_rows, ranges");
}

void sum_compact_rows(const ProductPlan& plan, const FeatureMatrix& features, const CompactFeatures& compact,
                      const float* factors, int problems, double* sums, void* partial, cudaStream_t stream) {
  sum(plan, rows_of(features, compact), factors, problems, partial, stream);
  const int width = features.columns + 1;
  const std::int64_t count = std::int64_t{problems} * width;
  add_compact_ranges<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      static_cast<const float*>(partial), plan.ranges, count, width, compact.means(), compact.factors(),
      sums);
  core::check_launch("sum_rows, compact ranges");
}

template void multiply_rows_cuda<float>(const ProductPlan&, const FeatureMatrix&, const float*, int, float*,
                                        void*, int, cudaStream_t);
template void multiply_rows_cuda<double>(const ProductPlan&, const FeatureMatrix&, const double*, int,
                                         double*, void*, int, cudaStream_t);
template void sum_rows_cuda<float>(const ProductPlan&, const FeatureMatrix&, const float*, int, double*,
                                   void*, cudaStream_t);
template void sum_rows_cuda<double>(const ProductPlan&, const FeatureMatrix&, const double*, int, double*,
                                    void*, cudaStream_t);

}  // namespace warpscope::classifiers::linear
