// global_average_pool.forward, variant `warp_shuffle`: a block adds eight channels of one image. A warp reads eight
// neighbouring channels of four pixels at a time, its lanes exchange sums by shuffles, and the warps theirs through
// shared memory. Over `naive` it adds 32 threads a mean; the order of additions is fixed by the shape, so the bits are
// the same every time. Images of fewer pixels than a warp's lanes would leave most of the block idle: there a thread
// takes a mean. Limits: none on the shape. Bound by memory. At most 32 registers, 256 bytes of shared memory, no
// spills. Source: global_average_pool.cpp; J. Luitjens, "Faster parallel reductions on Kepler" (2014).

#include <algorithm>

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::global_average_pool {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kLanes = 32;
constexpr unsigned kWarps = kThreads / kLanes;
constexpr unsigned kChannels = 8;  // 32 bytes of FP32: what memory delivers at least
constexpr unsigned kPixels = kThreads / kChannels;
constexpr unsigned kAllLanes = 0xffffffffu;

/// `tasks` are the groups of eight channels of all images; `groups` those of one.
template <class T>
__global__ void global_average_pool_forward_warp_shuffle(std::int64_t tasks, unsigned groups,
                                                         std::int64_t pixels, unsigned channels, float share,
                                                         const T* __restrict__ x, T* __restrict__ y) {
  __shared__ float partial[kWarps][kChannels];
  const unsigned lane = threadIdx.x % kChannels;
  for (std::int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    const std::int64_t image = task / groups;
    const unsigned channel = static_cast<unsigned>(task % groups) * kChannels + lane;
    float sum = 0.0f;
    if (channel < channels) {
      const T* const first = x + image * pixels * channels + channel;
      for (std::int64_t p = threadIdx.x / kChannels; p < pixels; p += kPixels)
        sum += to_float(first[p * channels]);
    }
    // Lanes of one channel are kChannels apart.
    for (unsigned distance = kLanes / 2; distance >= kChannels; distance /= 2) {
      sum += __shfl_xor_sync(kAllLanes, sum, distance);
    }
    if (threadIdx.x % kLanes < kChannels) partial[threadIdx.x / kLanes][lane] = sum;
    __syncthreads();
    if (threadIdx.x < kChannels && channel < channels) {
      float total = 0.0f;
      for (unsigned warp = 0; warp < kWarps; ++warp) total += partial[warp][lane];
      y[image * channels + channel] = from_float<T>(total * share);
    }
    __syncthreads();  // before the next task overwrites the parts
  }
}

/// Grid: channels, images.
template <class T>
__global__ void global_average_pool_forward_few_pixels(std::int64_t images, int pixels, int channels,
                                                       float share, const T* __restrict__ x,
                                                       T* __restrict__ y) {
  const auto channel = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (channel >= channels) return;
  for (std::int64_t image = blockIdx.y; image < images; image += gridDim.y) {
    const T* const first = x + image * pixels * channels + channel;
    float sum = 0.0f;
    for (int p = 0; p < pixels; ++p) sum += to_float(first[std::int64_t{p} * channels]);
    y[image * channels + channel] = from_float<T>(sum * share);
  }
}

template <class T>
void launch_few_pixels(const OpCall& call) {
  constexpr std::int64_t kMostRows = 65535;
  const OpShape& s = call.shape;
  const int pixels = s.height * s.width;
  const dim3 grid((static_cast<unsigned>(s.in_channels) + kThreads - 1) / kThreads,
                  static_cast<unsigned>(std::min(s.batch, kMostRows)));
  run_kernel(call, {grid, kThreads}, global_average_pool_forward_few_pixels<T>, s.batch, pixels,
             s.in_channels, 1.0f / static_cast<float>(pixels), Name::input, Name::output);
}

void forward(const OpCall& call) {
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 20;
  const OpShape& s = call.shape;
  const unsigned groups = (static_cast<unsigned>(s.in_channels) + kChannels - 1) / kChannels;
  const std::int64_t tasks = s.batch * groups;
  const std::int64_t pixels = std::int64_t{s.height} * s.width;
  with_storage(call.precision, [&]<class T>(T) {
    if (pixels < kPixels) return launch_few_pixels<T>(call);
    run_kernel(call, {static_cast<unsigned>(std::min(tasks, kMostBlocks)), kThreads},
               global_average_pool_forward_warp_shuffle<T>, tasks, groups, pixels, s.in_channels,
               1.0f / static_cast<float>(pixels), Name::input, Name::output);
  });
}

}  // namespace

Variant warp_shuffle_forward() {
  return cuda_variant(Op::global_average_pool_forward, "warp_shuffle", forward,
                      "A block adds eight channels of an image, its lanes by shuffles: 32 threads a mean.");
}

}  // namespace warpscope::ops::global_average_pool
