#pragma once
// How strongly each channel of an output answers to each image: the mean and the maximum over its places.

#include <cstdint>

#include "gpu/core/device.h"
#include "gpu/core/types.h"

namespace warpscope::statistics {

/// What find_channel_peaks() reads and writes: all in device memory.
///   means[n,c] = (1 / places) sum over p of values[n,p,c]
///   maxima[n,c] = max over p of values[n,p,c], NaN if one of them is
struct ChannelPeaksCall {
  const void* values = nullptr;  ///< (images, places, channels) numbers of `type`: f32, f16 or bf16
  core::ElementType type = core::ElementType::f32;
  std::int64_t images = 0;
  std::int64_t places = 0;  ///< one at least
  std::int64_t channels = 0;
  float* means = nullptr;   ///< (images, channels)
  float* maxima = nullptr;  ///< (images, channels)
};

/// Enqueues the search on a CUDA stream, as one launch with sums in FP32. On the CPU it is done at once, in the calling
/// thread and helpers, with sums in double: callers enqueue it inside Stream::capture(). The same bits every time.
void find_channel_peaks(const core::Device& device, core::Stream& stream, const ChannelPeaksCall& call);

// ---- on CUDA ----

void find_channel_peaks_cuda(core::Stream& stream, const ChannelPeaksCall& call);

}  // namespace warpscope::statistics
