#include "gpu/statistics/channel_peaks.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "gpu/core/parallel.h"
#include "gpu/ops/host_values.h"

namespace warpscope::statistics {
namespace {

using core::ElementType;

void search_image(const ChannelPeaksCall& call, std::int64_t image) {
  const auto elements = static_cast<std::size_t>(call.places * call.channels);
  const std::size_t bytes = elements * core::size_of(call.type);
  const auto* const from =
      static_cast<const std::byte*>(call.values) + static_cast<std::size_t>(image) * bytes;
  const std::vector<double> values = ops::decode({from, bytes}, call.type);
  std::vector<double> sums(static_cast<std::size_t>(call.channels), 0.0);
  std::vector<double> most(values.begin(), values.begin() + call.channels);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::size_t channel = i % sums.size();
    sums[channel] += values[i];
    if (values[i] > most[channel] || std::isnan(values[i])) most[channel] = values[i];
  }
  for (std::int64_t channel = 0; channel < call.channels; ++channel) {
    const auto at = static_cast<std::size_t>(channel);
    call.means[image * call.channels + channel] =
        static_cast<float>(sums[at] / static_cast<double>(call.places));
    call.maxima[image * call.channels + channel] = static_cast<float>(most[at]);
  }
}

}  // namespace

void find_channel_peaks(const core::Device& device, core::Stream& stream, const ChannelPeaksCall& call) {
  const bool known =
      call.type == ElementType::f32 || call.type == ElementType::f16 || call.type == ElementType::bf16;
  if (!known) throw std::logic_error("find_channel_peaks takes f32, f16 and bf16");
  if constexpr (core::kHaveCuda) {
    if (device.kind() == core::DeviceKind::cuda) return find_channel_peaks_cuda(stream, call);
  }
  core::parallel_for(call.images, 1, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t image = begin; image < end; ++image) search_image(call, image);
  });
}

}  // namespace warpscope::statistics
