// The kernels of hopper_prepare.h: bound by memory, a thread moves 16 bytes at a time; transpose_weights()
// one element, through 4.1 KiB of shared memory. At most 34 registers; channels must be multiples of 32.
// Source: W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?" (2016), for the
// sums.

#include <cstdint>
#include <type_traits>

#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_prepare.h"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::fused::hopper {
namespace {

constexpr int kPrepareThreads = 256;

/// Elements in 16 bytes.
template <class Math>
inline constexpr int kWidth = 16 / static_cast<int>(sizeof(typename Math::Storage));

unsigned blocks_for(std::int64_t items) {
  return static_cast<unsigned>((items + kPrepareThreads - 1) / kPrepareThreads);
}

template <class Math>
__device__ __forceinline__ void add_chunk(float (&sums)[kWidth<Math>], const uint4& chunk) {
  const unsigned words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (kWidth<Math> == 4) {
      sums[i] += mma::widen(Math{}, words[i]);
    } else {
      sums[2 * i] += mma::widen(Math{}, static_cast<typename Math::Storage>(words[i] & 0xffff));
      sums[2 * i + 1] += mma::widen(Math{}, static_cast<typename Math::Storage>(words[i] >> 16));
    }
  }
}

template <class Math>
__device__ __forceinline__ uint4 chunk_of(const float (&sums)[kWidth<Math>]) {
  unsigned words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (kWidth<Math> == 4) {
      words[i] = __float_as_uint(sums[i]);
    } else {
      words[i] = mma::narrow_pair(Math{}, sums[2 * i], sums[2 * i + 1]);
    }
  }
  return uint4{words[0], words[1], words[2], words[3]};
}

/// Those of three taps of a row or column that meet tap `a` of two, at this parity.
struct Taps {
  int first;
  int end;
};

__device__ __forceinline__ Taps taps_of(int parity, int a) {
  return a == 0 ? Taps{0, 2 - (parity == 0 ? 1 : 0)} : Taps{parity + 1, 3};
}

template <class Math>
__global__ void __launch_bounds__(kPrepareThreads)
    hopper_sum_weights(const uint4* __restrict__ weights, uint4* __restrict__ summed, int filters,
                       int chunks) {
  const int i = static_cast<int>(blockIdx.x * kPrepareThreads + threadIdx.x);
  const int set = filters * chunks;
  if (i >= 16 * set) return;
  const int place = i / set;
  const Taps rows = taps_of(place >> 3 & 1, place >> 1 & 1);
  const Taps columns = taps_of(place >> 2 & 1, place & 1);
  const int filter = i % set / chunks;
  const int chunk = i % chunks;
  float sums[kWidth<Math>] = {};
  for (int r = rows.first; r < rows.end; ++r) {
    for (int s = columns.first; s < columns.end; ++s) {
      add_chunk<Math>(sums, weights[(filter * 9 + r * 3 + s) * chunks + chunk]);
    }
  }
  summed[i] = chunk_of<Math>(sums);
}

constexpr int kTransposeSide = 32;
constexpr int kTransposeLines = 8;

/// A block: 32 x 32 filters and channels of one of the `taps`, or of one tap of the sums, of 3x3.
__global__ void __launch_bounds__(kTransposeSide* kTransposeLines)
    hopper_transpose_weights(const float* __restrict__ weights, float* __restrict__ transposed, int filters,
                             int channels, int taps, bool summed) {
  __shared__ float tile[kTransposeSide][kTransposeSide + 1];
  const int place = static_cast<int>(blockIdx.z);
  const Taps rows = summed ? taps_of(place >> 3 & 1, place >> 1 & 1) : Taps{0, 1};
  const Taps columns = summed ? taps_of(place >> 2 & 1, place & 1) : Taps{place, place + 1};
  const int x = static_cast<int>(threadIdx.x);
  const int first_channel = static_cast<int>(blockIdx.x) * kTransposeSide;
  const int first_filter = static_cast<int>(blockIdx.y) * kTransposeSide;
  for (int y = static_cast<int>(threadIdx.y); y < kTransposeSide; y += kTransposeLines) {
    float sum = 0.0f;
    for (int r = rows.first; r < rows.end; ++r) {
      for (int s = columns.first; s < columns.end; ++s) {
        sum += weights[((first_filter + y) * taps + r * 3 + s) * channels + first_channel + x];
      }
    }
    tile[y][x] = sum;
  }
  __syncthreads();
  for (int y = static_cast<int>(threadIdx.y); y < kTransposeSide; y += kTransposeLines) {
    transposed[(place * channels + first_channel + y) * filters + first_filter + x] = tile[x][y];
  }
}

/// `height` and `width` of the convolution's output. A thread has 16 bytes of a window, complete or not.
struct UnpoolProblem {
  int images;
  int height;
  int width;
  int chunks;
  int items;
};

/// A word's elements whose code is `place`; the first one's are the lowest bits.
template <int kBytes>
__device__ __forceinline__ unsigned kept(unsigned word, unsigned codes, unsigned place) {
  if constexpr (kBytes == 4) {
    return (codes & 3) == place ? word : 0u;
  } else {
    const unsigned low = (codes & 3) == place ? 0x0000ffffu : 0u;
    const unsigned high = (codes >> 2 & 3) == place ? 0xffff0000u : 0u;
    return word & (low | high);
  }
}

/// kBytes: of an element.
template <int kBytes>
__global__ void __launch_bounds__(kPrepareThreads)
    hopper_unpool(const __grid_constant__ UnpoolProblem q, const uint4* __restrict__ pooled,
                  const std::uint8_t* __restrict__ argmax, uint4* __restrict__ full) {
  using Codes = std::conditional_t<kBytes == 4, std::uint8_t, std::uint16_t>;  // of 16 bytes
  constexpr int kWordBits = 8 / kBytes;
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
    codes = reinterpret_cast<const Codes*>(argmax)[from];
  }
  const unsigned words[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
  for (unsigned place = 0; place < 4; ++place) {
    const int r = 2 * row + static_cast<int>(place / 2);
    const int s = 2 * column + static_cast<int>(place % 2);
    if (r >= q.height || s >= q.width) continue;
    unsigned out[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = kept<kBytes>(words[i], codes >> (kWordBits * i), place);
    full[((static_cast<std::int64_t>(image) * q.height + r) * q.width + s) * q.chunks + chunk] =
        uint4{out[0], out[1], out[2], out[3]};
  }
}

}  // namespace

void sum_weights(const ChainCall& call, const void* weights, void* summed) {
  const ChainShape& s = call.shape;
  mma::with_math(call.precision, [&]<class Math>(Math) {
    const int chunks = s.in_channels / kWidth<Math>;
    const unsigned blocks = blocks_for(std::int64_t{16} * s.out_channels * chunks);
    run_kernel(call, "sums of the weights", {blocks, kPrepareThreads}, hopper_sum_weights<Math>, weights,
               summed, s.out_channels, chunks);
  });
}

void transpose_weights(const ChainCall& call, const void* weights, void* transposed) {
  const ChainShape& s = call.shape;
  const int taps = s.kernel_height * s.kernel_width;
  const dim3 blocks(static_cast<unsigned>(s.in_channels / kTransposeSide),
                    static_cast<unsigned>(s.out_channels / kTransposeSide),
                    s.upsample ? 16 : static_cast<unsigned>(taps));
  run_kernel(call, "transposed weights", {blocks, dim3(kTransposeSide, kTransposeLines)},
             hopper_transpose_weights, weights, transposed, s.out_channels, s.in_channels, taps, s.upsample);
}

void unpool(const ChainCall& call, const void* pooled, void* full) {
  const ChainShape& s = call.shape;
  const int scale = s.upsample ? 2 : 1;
  const int bytes = element_bytes(call.precision);
  UnpoolProblem q{static_cast<int>(s.batch), scale * s.height, scale * s.width, s.out_channels * bytes / 16,
                  0};
  q.items = q.images * ((q.height + 1) / 2) * ((q.width + 1) / 2) * q.chunks;
  const auto kernel = bytes == 4 ? hopper_unpool<4> : hopper_unpool<2>;
  run_kernel(call, "unpooling", {blocks_for(q.items), kPrepareThreads}, kernel, q, pooled, Name::argmax,
             full);
}

}  // namespace warpscope::ops::conv2d::fused::hopper
