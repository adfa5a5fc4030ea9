#pragma once
// How strongly the channels of a layer answer to held-out images.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpscope::training {

/// What counts as the strength of a channel's answer to an image.
enum class ChannelMeasure : std::uint8_t {
  mean,     ///< over the places of its map
  maximum,  ///< of them
};

/// Those of a layer for the first test images, after a step. Linear layers have one place: both measures are its value.
struct ChannelActivations {
  std::uint64_t step = 0;
  std::uint64_t generation = 0;  ///< Snapshot::generation
  std::uint64_t number = 0;      ///< 1 for the first, then 2, ...
  std::size_t output = 0;  ///< counts in Inspection::outputs: 0 is the image, n the layer n - 1 of the model
  std::size_t images = 0;
  std::size_t channels = 0;
  std::vector<float> means;   ///< (images, channels)
  std::vector<float> maxima;  ///< (images, channels)

  float of(ChannelMeasure measure, std::size_t image, std::size_t channel) const {
    return (measure == ChannelMeasure::mean ? means : maxima)[image * channels + channel];
  }
};

/// A test image and how strongly a channel answers to it.
struct ExcitingImage {
  std::int64_t image = 0;
  float mean = 0;
  float maximum = 0;
};

/// The `count` images, or as many as there are, to which the channel answers most strongly, the strongest first; of
/// equal ones the earlier comes first. An image whose measure is not a number is none of them. Nothing if there is no
/// such channel.
std::vector<ExcitingImage> most_exciting(const ChannelActivations& activations, std::size_t channel,
                                         ChannelMeasure measure, std::size_t count);

}  // namespace warpscope::training
