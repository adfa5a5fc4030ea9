// The search on CUDA: a block takes 32 channels of one image. Its lanes are neighbouring channels, its warps share the
// places among them; then the first warp joins what they have found, in the order of the warps. Source: M. Harris,
// "Optimizing parallel reduction in CUDA" (2007).

#include "gpu/core/cuda.h"
#include "gpu/ops/storage.cuh"
#include "gpu/statistics/channel_peaks.h"

namespace warpscope::statistics {
namespace {

constexpr unsigned kLanes = 32, kWarps = 8;

/// The larger of both; NaN if one of them is.
__device__ __forceinline__ float larger(float a, float b) {
  return b > a || b != b ? b : a;
}

template <class T>
__global__ void __launch_bounds__(kLanes* kWarps) search_channels(ChannelPeaksCall call) {
  __shared__ float sums[kWarps][kLanes], most[kWarps][kLanes];
  const std::int64_t image = blockIdx.x;
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.y) * kLanes + threadIdx.x;
  const bool exists = channel < call.channels;
  const T* const values = static_cast<const T*>(call.values) + image * call.places * call.channels + channel;
  float sum = 0.0f, peak = -__int_as_float(0x7f800000);
  for (std::int64_t place = threadIdx.y; exists && place < call.places; place += kWarps) {
    const float value = ops::to_float(values[place * call.channels]);
    sum += value;
    peak = larger(peak, value);
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  most[threadIdx.y][threadIdx.x] = peak;
  __syncthreads();
  if (threadIdx.y != 0 || !exists) return;
  for (unsigned warp = 1; warp < kWarps; ++warp) {
    sum += sums[warp][threadIdx.x];
    peak = larger(peak, most[warp][threadIdx.x]);
  }
  call.means[image * call.channels + channel] = sum / static_cast<float>(call.places);
  call.maxima[image * call.channels + channel] = peak;
}

template <class T>
void launch(core::Stream& stream, const ChannelPeaksCall& call) {
  const dim3 grid(static_cast<unsigned>(call.images),
                  static_cast<unsigned>((call.channels + kLanes - 1) / kLanes));
  search_channels<T><<<grid, dim3(kLanes, kWarps), 0, core::cuda_stream(stream)>>>(call);
  core::check_launch("find_channel_peaks");
}

}  // namespace

void find_channel_peaks_cuda(core::Stream& stream, const ChannelPeaksCall& call) {
  if (call.images == 0) return;
  switch (call.type) {
    case core::ElementType::f16:
      return launch<__half>(stream, call);
    case core::ElementType::bf16:
      return launch<__nv_bfloat16>(stream, call);
    default:
      return launch<float>(stream, call);
  }
}

}  // namespace warpscope::statistics
