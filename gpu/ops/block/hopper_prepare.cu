// sum_weights() and unpool() of hopper_prepare.h: bound by memory, a thread moves 16 bytes at a time. Few
// registers, no shared memory; channels must be multiples of 8.
// Source: W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?" (2016), for the
// sums.

#include "gpu/core/cuda.h"
#include "gpu/ops/block/hopper_prepare.h"
#include "gpu/ops/mma.cuh"

namespace warpscope::ops::block::hopper {
namespace {

constexpr int kPrepareThreads = 256;
constexpr int kWidth = 8;  // elements in 16 bytes

unsigned blocks_for(std::int64_t items) {
  return static_cast<unsigned>((items + kPrepareThreads - 1) / kPrepareThreads);
}

/// Adds eight elements.
template <class Math>
__device__ __forceinline__ void add_chunk(float (&sums)[kWidth], const uint4& chunk) {
  const unsigned words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sums[2 * i] += mma::widen(Math{}, static_cast<typename Math::Storage>(words[i] & 0xffff));
    sums[2 * i + 1] += mma::widen(Math{}, static_cast<typename Math::Storage>(words[i] >> 16));
  }
}

/// Which of three taps meet tap `a` of two, at this parity: the first, and how many.
__device__ __forceinline__ int first_tap(int parity, int a) {
  return a == 0 ? 0 : parity + 1;
}
__device__ __forceinline__ int tap_count(int parity, int a) {
  return parity == a ? 1 : 2;
}

template <class Math>
__global__ void __launch_bounds__(kPrepareThreads)
    hopper_sum_weights(const uint4* __restrict__ weights, uint4* __restrict__ summed, int filters,
                       int chunks) {
  const int i = static_cast<int>(blockIdx.x * kPrepareThreads + threadIdx.x);
  const int set = filters * chunks;
  if (i >= 16 * set) return;
  const int place = i / set;
  const int row_parity = place >> 3 & 1;
  const int column_parity = place >> 2 & 1;
  const int a = place >> 1 & 1;
  const int b = place & 1;
  const int filter = i % set / chunks;
  const int chunk = i % chunks;
  float sums[kWidth] = {};
  const int first_row = first_tap(row_parity, a);
  const int first_column = first_tap(column_parity, b);
  for (int r = first_row; r < first_row + tap_count(row_parity, a); ++r) {
    for (int s = first_column; s < first_column + tap_count(column_parity, b); ++s) {
      add_chunk<Math>(sums, weights[(filter * 9 + r * 3 + s) * chunks + chunk]);
    }
  }
  summed[i] = uint4{mma::narrow_pair(Math{}, sums[0], sums[1]), mma::narrow_pair(Math{}, sums[2], sums[3]),
                    mma::narrow_pair(Math{}, sums[4], sums[5]), mma::narrow_pair(Math{}, sums[6], sums[7])};
}

/// `height` and `width` of the convolution's output. A thread has eight channels of a window, complete or
/// not.
struct UnpoolProblem {
  int images;
  int height;
  int width;
  int chunks;
  int items;
};

__global__ void __launch_bounds__(kPrepareThreads)
    hopper_unpool(const __grid_constant__ UnpoolProblem q, const uint4* __restrict__ pooled,
                  const std::uint8_t* __restrict__ argmax, uint4* __restrict__ full) {
  const int item = static_cast<int>(blockIdx.x * kPrepareThreads + threadIdx.x);
  if (item >= q.items) return;
  const int across = (q.width + 1) / 2;
  const int down = (q.height + 1) / 2;
  const int chunk = item % q.chunks;
  int rest = item / q.chunks;
  const int column = rest % across;
  rest /= across;
  const int row = rest % down;
  const int image = rest / down;
  uint4 value{0, 0, 0, 0};
  unsigned codes = 0;
  if (row < q.height / 2 && column < q.width / 2) {
    const std::int64_t from =
        ((static_cast<std::int64_t>(image) * (q.height / 2) + row) * (q.width / 2) + column) * q.chunks +
        chunk;
    value = pooled[from];
    codes = reinterpret_cast<const std::uint16_t*>(argmax)[from];
  }
  const unsigned words[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
  for (unsigned place = 0; place < 4; ++place) {
    const int r = 2 * row + static_cast<int>(place / 2);
    const int s = 2 * column + static_cast<int>(place % 2);
    if (r >= q.height || s >= q.width) continue;
    unsigned out[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned low = (codes >> (4 * i) & 3) == place ? 0x0000ffffu : 0u;
      const unsigned high = (codes >> (4 * i + 2) & 3) == place ? 0xffff0000u : 0u;
      out[i] = words[i] & (low | high);
    }
    full[((static_cast<std::int64_t>(image) * q.height + r) * q.width + s) * q.chunks + chunk] =
        uint4{out[0], out[1], out[2], out[3]};
  }
}

}  // namespace

void sum_weights(const OpShape& s, const void* weights, void* summed, core::Precision precision,
                 cudaStream_t stream) {
  const int chunks = s.in_channels / kWidth;
  const unsigned blocks = blocks_for(std::int64_t{16} * s.out_channels * chunks);
  const auto* from = static_cast<const uint4*>(weights);
  auto* to = static_cast<uint4*>(summed);
  if (precision == core::Precision::fp16) {
    hopper_sum_weights<mma::Fp16><<<blocks, kPrepareThreads, 0, stream>>>(from, to, s.out_channels, chunks);
  } else {
    hopper_sum_weights<mma::Bf16><<<blocks, kPrepareThreads, 0, stream>>>(from, to, s.out_channels, chunks);
  }
  core::check_launch("block hopper, sums of the weights");
}

void unpool(const OpShape& s, const void* pooled, const std::uint8_t* argmax, void* full,
            cudaStream_t stream) {
  const int scale = s.upsample ? 2 : 1;
  UnpoolProblem q{static_cast<int>(s.batch), scale * s.height, scale * s.width, s.out_channels / kWidth, 0};
  q.items = q.images * ((q.height + 1) / 2) * ((q.width + 1) / 2) * q.chunks;
  hopper_unpool<<<blocks_for(q.items), kPrepareThreads, 0, stream>>>(q, static_cast<const uint4*>(pooled),
                                                                     argmax, static_cast<uint4*>(full));
  core::check_launch("block hopper, unpooling");
}

}  // namespace warpscope::ops::block::hopper
