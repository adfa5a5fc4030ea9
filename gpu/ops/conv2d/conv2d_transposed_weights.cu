// transposed_weights.h. Bound by memory, a few MB at most; 4.2 KiB of shared memory.

#include <cstdint>

#include "gpu/ops/conv2d/transposed_weights.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d {
namespace {

constexpr int kSide = 32;
constexpr int kLines = 8;  // threads below each other

/// A square of filters and channels of one tap, blockIdx.z.
template <class T>
__global__ void __launch_bounds__(kSide* kLines)
    transposed_weights(const T* __restrict__ weights, T* __restrict__ transposed, int filters, int taps,
                       int channels) {
  __shared__ T square[kSide][kSide + 1];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const int filter = static_cast<int>(blockIdx.y) * kSide;
  const int channel = static_cast<int>(blockIdx.x) * kSide;
  const auto tap = static_cast<std::int64_t>(blockIdx.z);
  for (int i = y; i < kSide; i += kLines) {
    if (filter + i >= filters || channel + x >= channels) continue;
    square[i][x] = weights[((filter + i) * static_cast<std::int64_t>(taps) + tap) * channels + channel + x];
  }
  __syncthreads();
  for (int i = y; i < kSide; i += kLines) {
    if (channel + i >= channels || filter + x >= filters) continue;
    transposed[(tap * channels + channel + i) * filters + filter + x] = square[x][i];
  }
}

bool has_halves(core::Precision precision) {
  return precision == core::Precision::fp16 || precision == core::Precision::bf16;
}

}  // namespace

std::size_t transposed_weights_bytes(const OpShape& s, core::Precision precision) {
  const std::int64_t taps = std::int64_t{s.kernel_height} * s.kernel_width;
  return static_cast<std::size_t>(taps * s.in_channels * s.out_channels) * (has_halves(precision) ? 2 : 4);
}

void transpose_weights(const OpCall& call, const void* weights, void* transposed) {
  const OpShape& s = call.shape;
  const int taps = s.kernel_height * s.kernel_width;
  const dim3 blocks(static_cast<unsigned>(divide_up(s.in_channels, kSide)),
                    static_cast<unsigned>(divide_up(s.out_channels, kSide)), static_cast<unsigned>(taps));
  const auto launch_as = [&]<class T>(T) {
    run_kernel(call, "transposed weights", {blocks, dim3(kSide, kLines)}, transposed_weights<T>, weights,
               transposed, s.out_channels, taps, s.in_channels);
  };
  if (has_halves(call.precision)) return launch_as(std::uint16_t{});
  launch_as(std::uint32_t{});
}

}  // namespace warpscope::ops::conv2d
