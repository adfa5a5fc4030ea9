// conv2d.backward_weights `pipelined`, the product:
//
//   dw[k, tap, c] = sum over pixels of x[what the tap reads for the pixel, c] * dy[pixel, k]
//
// A stage of shared memory has 8 pixels: of each, the tile's rows, four channels of one tap to a copy, and its columns,
// output channels. Both lie there as in memory; copies of 16 bytes bring them (cp.async), and zeros where a tap reads
// outside. Where channels do not come in fours, copies of 4 bytes bring one each. The pixels are split among blocks,
// whose partial sums narrow_sum.h adds in a fixed order. Blocks of the first rows also sum dy: the bias's gradient.
//
// Registers and shared memory: as pipelined_products.cu. Source: the same; for splits, NVIDIA, "CUTLASS documentation",
// "Efficient GEMM in CUDA", section "Split-K".

#include <cstddef>
#include <cstdint>
#include <utility>

#include "gpu/ops/conv2d/fused/narrow/narrow_sum.h"
#include "gpu/ops/conv2d/pipelined/pipelined_tile.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::pipelined {
namespace {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
/// A pixel of y that goes on by some pixels at a time.
struct PixelWalk {
  std::int64_t pixel;
  int image;
  int row;
  int column;

  __device__ __forceinline__ PixelWalk(const WeightsProblem& q, std::int64_t first) : pixel(first) {
    const auto line = first / q.right.extent;
    image = static_cast<int>(line / q.down.extent);
    row = static_cast<int>(line - static_cast<std::int64_t>(image) * q.down.extent);
    column = static_cast<int>(first - line * q.right.extent);
  }
  __device__ __forceinline__ void advance(const WeightsProblem& q, int by) {
    pixel += by;
    column += by;
    while (column >= q.right.extent) {
      column -= q.right.extent;
      if (++row == q.down.extent) {
        row = 0;
        ++image;
      }
    }
  }
};

/// kWidth neighbouring floats, or zeros.
template <int kWidth>
__device__ __forceinline__ void copy_floats(mma::SharedAddress to, const float* from, bool exists) {
  if constexpr (kWidth == kVector) {
    mma::copy_async(to, from, exists);
  } else {
    mma::copy_word_async(to, from, exists);
  }
}

/// What a thread copies of the rows: kWidth channels of a tap, four or one, for pixels that lie `step` apart. Copies of
/// one channel are so many that a thread goes from pixel to pixel, instead of with a walk for each of them.
template <class T, int kWidth>
struct RowCopies {
  static constexpr int across = T::rows / kWidth;  ///< copies of a pixel
  static constexpr int step = T::threads / across;
  static constexpr int count = kDepth / step;
  static constexpr int walks = kWidth == kVector ? count : 1;
  static_assert(T::threads % across == 0 && kDepth % step == 0);

  const WeightsProblem& q;
  const float* in;  ///< the channels of the first pixel of all
  bool exists;
  int down;  ///< what the tap reads for the first row of y
  int right;
  int mine;  ///< the copy of a pixel
  PixelWalk walk[walks];

  __device__ __forceinline__ RowCopies(const WeightsProblem& of, const float* input, int first_row,
                                       std::int64_t first_pixel)
      : RowCopies(of, input, first_row + static_cast<int>(threadIdx.x) % across * kWidth,
                  first_pixel + static_cast<int>(threadIdx.x) / across, std::make_index_sequence<walks>()) {}

  __device__ __forceinline__ void copy(mma::SharedAddress stage, std::int64_t end) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      PixelWalk& at = walk[i % walks];
      const int y = at.row * q.read_step + down;
      const int x = at.column * q.read_step + right;
      const bool reads = exists && at.pixel < end &&
                         static_cast<unsigned>(y) < static_cast<unsigned>(q.read_rows) &&
                         static_cast<unsigned>(x) < static_cast<unsigned>(q.read_columns);
      const std::int64_t from = (static_cast<std::int64_t>(at.image) * q.read_rows + y) * q.read_columns + x;
      const int pixel = static_cast<int>(threadIdx.x) / across + i * step;
      copy_floats<kWidth>(stage + static_cast<unsigned>((pixel * across + mine) * kWidth) *
                                      static_cast<unsigned>(sizeof(float)),
                          reads ? in + from * q.in_channels : in, reads);
      at.advance(q, walks == count ? kDepth : step);
    }
  }

 private:
  template <std::size_t... kCopies>
  __device__ __forceinline__ RowCopies(const WeightsProblem& of, const float* input, int row,
                                       std::int64_t pixel, std::index_sequence<kCopies...>)
      : q(of),
        mine(static_cast<int>(threadIdx.x) % across),
        walk{PixelWalk(of, pixel + static_cast<int>(kCopies) * step)...} {
    const int tap = row / q.in_channels;
    const int r = tap / q.right.count;
    exists = r < q.down.count;
    down = q.down.lower + r * q.down.shift;
    right = q.right.lower + (tap - r * q.right.count) * q.right.shift;
    in = input + (exists ? row - tap * q.in_channels : 0);
  }
};

/// The same of the columns, kWidth channels to a copy.
template <class T, int kWidth>
struct ColumnCopies {
  static constexpr int across = T::columns / kWidth;
  static constexpr int all = across * kDepth;
  static constexpr int count = (all + T::threads - 1) / T::threads;

  const WeightsProblem& q;
  const float* in;
  int first_column;

  __device__ __forceinline__ void copy(mma::SharedAddress stage, std::int64_t first, std::int64_t end) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int mine = static_cast<int>(threadIdx.x) + i * T::threads;
      if (all % T::threads != 0 && mine >= all) continue;
      const std::int64_t pixel = first + mine / across;
      const int column = first_column + mine % across * kWidth;
      const bool reads = pixel < end && column < q.out_channels;
      copy_floats<kWidth>(stage + static_cast<unsigned>(mine * kWidth) * static_cast<unsigned>(sizeof(float)),
                          reads ? in + pixel * q.out_channels + column : in, reads);
    }
  }
};

/// The first of four neighbouring rows of a thread.
template <class T>
__device__ __forceinline__ int row_of(const ThreadPlace<T>& place, int four) {
  return (four * T::shape.threads_down + place.down) * kVector;
}

template <class T>
__device__ __forceinline__ void multiply_weights(Sums<T>& sums, const float* rows, const float* columns,
                                                 const ThreadPlace<T>& place) {
#pragma unroll
  for (int pixel = 0; pixel < kDepth; ++pixel) {
    float a[T::down];
    float b[T::across];
#pragma unroll
    for (int i = 0; i < T::down; i += kVector) {
      const float4 four =
          *reinterpret_cast<const float4*>(rows + pixel * T::rows + row_of<T>(place, i / kVector));
      a[i] = four.x;
      a[i + 1] = four.y;
      a[i + 2] = four.z;
      a[i + 3] = four.w;
    }
#pragma unroll
    for (int j = 0; j < T::across; j += T::vector) {
      const float* from = columns + pixel * T::columns + place.column(j / T::vector);
      if constexpr (T::vector == 4) {
        const float4 four = *reinterpret_cast<const float4*>(from);
        b[j] = four.x;
        b[j + 1] = four.y;
        b[j + 2] = four.z;
        b[j + 3] = four.w;
      } else {
        const float2 two = *reinterpret_cast<const float2*>(from);
        b[j] = two.x;
        b[j + 1] = two.y;
      }
    }
#pragma unroll
    for (int i = 0; i < T::down; ++i) {
#pragma unroll
      for (int j = 0; j < T::across; ++j) sums[i][j] += a[i] * b[j];
    }
  }
}

template <class T, bool kVectors>
__device__ __forceinline__ void write_weights(const Sums<T>& sums, const WeightsProblem& q, float* dw,
                                              const ThreadPlace<T>& place, int first_row, int first_column) {
  const int rows = q.row_count();
#pragma unroll
  for (int j = 0; j < T::across; ++j) {
    const int column = first_column + place.column(j / T::vector) + j % T::vector;
    if (column >= q.out_channels) continue;
#pragma unroll
    for (int i = 0; i < T::down; i += kVector) {
      const int row = first_row + row_of<T>(place, i / kVector);
      if (row >= rows) continue;
      float* to = dw + static_cast<std::int64_t>(column) * rows + row;
      if constexpr (kVectors) {
        *reinterpret_cast<float4*>(to) =
            make_float4(sums[i][j], sums[i + 1][j], sums[i + 2][j], sums[i + 3][j]);
      } else {
#pragma unroll
        for (int k = 0; k < kVector; ++k) {
          if (row + k < rows) to[k] = sums[i + k][j];
        }
      }
    }
  }
}
#endif

/// `kVectors`: input and output channels come in fours.
template <class T, bool kVectors>
__global__ void __launch_bounds__(T::threads, T::resident)
    pipelined_weights(const __grid_constant__ WeightsProblem q, const float* __restrict__ input,
                      const float* __restrict__ gradient, float* __restrict__ weights_gradient,
                      float* __restrict__ bias_gradient) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) float shared[];
  const int first_row = static_cast<int>(blockIdx.x) / q.column_tiles * T::rows;
  const int first_column = static_cast<int>(blockIdx.x) % q.column_tiles * T::columns;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.y) * q.per_split;
  const std::int64_t end = min(begin + q.per_split, q.pixels);
  const int stages = static_cast<int>((end - begin + kDepth - 1) / kDepth);

  constexpr int kWidth = kVectors ? kVector : 1;
  RowCopies<T, kWidth> rows(q, input, first_row, begin);
  const ColumnCopies<T, kWidth> columns{q, gradient, first_column};
  const mma::SharedAddress base = mma::shared_address(shared);
  const auto copy = [&](int stage) {
    if (stage < stages) {
      const mma::SharedAddress to = base + static_cast<unsigned>(stage % T::stages * T::stage_floats) *
                                               static_cast<unsigned>(sizeof(float));
      rows.copy(to, end);
      columns.copy(to + T::row_floats * static_cast<unsigned>(sizeof(float)),
                   begin + static_cast<std::int64_t>(stage) * kDepth, end);
    }
    mma::commit_copies();
  };
#pragma unroll 1
  for (int stage = 0; stage < T::stages - 1; ++stage) copy(stage);

  const ThreadPlace<T> place;
  Sums<T> sums;
  clear<T>(sums);
  const int mine = static_cast<int>(threadIdx.x);
  const bool adds = q.bias && first_row == 0 && mine < T::columns && first_column + mine < q.out_channels;
  float bias = 0.0f;
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    mma::wait_copies<T::stages - 2>();
    __syncthreads();
    copy(stage + T::stages - 1);
    const float* now = shared + stage % T::stages * T::stage_floats;
    if (adds) {
#pragma unroll
      for (int pixel = 0; pixel < kDepth; ++pixel) bias += now[T::row_floats + pixel * T::columns + mine];
    }
    multiply_weights<T>(sums, now, now + T::row_floats, place);
  }
  const std::int64_t split = static_cast<std::int64_t>(blockIdx.y) * q.split_elements();
  write_weights<T, kVectors>(sums, q, weights_gradient + split, place, first_row, first_column);
  if (adds) bias_gradient[split + first_column + mine] = bias;
#endif
}

}  // namespace

void launch_weights(const OpCall& call, const WeightsPlan& plan) {
  const WeightsProblem& q = plan.problem;
  const bool splits = q.splits > 1;
  auto* partial = static_cast<float*>(call.workspace);
  auto* dw = splits ? partial : call.operand<float>(Name::weights_gradient);
  auto* db = splits ? partial + q.weights() : call.operand<float>(Name::bias_gradient);
  with_tile(plan.tile, [&]<int kIndex>() {
    using T = Tile<kIndex>;
    const dim3 blocks(static_cast<unsigned>(q.row_tiles * q.column_tiles), static_cast<unsigned>(q.splits));
    const bool vectors = q.in_channels % kVector == 0 && q.out_channels % kVector == 0;
    const auto kernel = vectors ? pipelined_weights<T, true> : pipelined_weights<T, false>;
    run_kernel(call, {blocks, T::threads, T::shared_bytes}, kernel, q, call.operand<const float>(Name::input),
               call.operand<const float>(Name::output_gradient), dw, db);
  });
  if (!splits) return;
  fused::narrow::launch_sum(
      *call.variant, *call.stream, "sum of the splits", {q.weights(), q.bias ? q.out_channels : 0, q.splits},
      {partial, call.operand<float>(Name::weights_gradient), call.operand<float>(Name::bias_gradient)});
}

}  // namespace warpscope::ops::conv2d::pipelined
