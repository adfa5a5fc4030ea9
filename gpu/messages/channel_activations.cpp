#include "gpu/messages/channel_activations.h"

#include <algorithm>
#include <cmath>

namespace warpscope::training {

std::vector<ExcitingImage> most_exciting(const ChannelActivations& activations, std::size_t channel,
                                         ChannelMeasure measure, std::size_t count) {
  std::vector<ExcitingImage> images;
  if (channel >= activations.channels) return images;
  for (std::size_t image = 0; image < activations.images; ++image) {
    if (std::isnan(activations.of(measure, image, channel))) continue;
    images.push_back({static_cast<std::int64_t>(image), activations.of(ChannelMeasure::mean, image, channel),
                      activations.of(ChannelMeasure::maximum, image, channel)});
  }
  const auto strength = [measure](const ExcitingImage& one) {
    return measure == ChannelMeasure::mean ? one.mean : one.maximum;
  };
  const auto end = images.begin() + static_cast<std::ptrdiff_t>(std::min(count, images.size()));
  std::partial_sort(images.begin(), end, images.end(), [&](const ExcitingImage& a, const ExcitingImage& b) {
    return strength(a) != strength(b) ? strength(a) > strength(b) : a.image < b.image;
  });
  images.erase(end, images.end());
  return images;
}

}  // namespace warpscope::training
