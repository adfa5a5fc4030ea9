#pragma once
// The CUDA half of channel_peaks.h.

#include "gpu/statistics/channel_peaks.h"

namespace warpscope::statistics {

void find_channel_peaks_cuda(core::Stream& stream, const ChannelPeaksCall& call);

}  // namespace warpscope::statistics
