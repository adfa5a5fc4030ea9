// The mean and the maximum of each channel of each image, on the CPU and, where there is one, on a GPU.

#include "gpu/statistics/channel_peaks.h"

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/random.h"
#include "gpu/ops/host_values.h"
#include "tests/support/device_case.h"

namespace warpscope::statistics::channel_peaks_test {
namespace {

using core::ElementType;

struct Peaks {
  std::vector<float> means, maxima;
};

class ChannelPeaks : public tests::DeviceCase {
 protected:
  /// `values` are (images, places, channels).
  Peaks find(const std::vector<double>& values, ElementType type, std::int64_t images,
             std::int64_t channels) {
    const ops::Bytes bytes = ops::encode(values, type);
    const core::Buffer memory = uploaded(bytes.data(), bytes.size());
    const auto count = static_cast<std::size_t>(images * channels);
    const std::vector<float> poison(count, -12345.0f);
    const core::Buffer means = uploaded(poison.data(), count * sizeof(float));
    const core::Buffer maxima = uploaded(poison.data(), count * sizeof(float));
    const auto places = static_cast<std::int64_t>(values.size()) / images / channels;
    find_channel_peaks(
        *device_, *stream_,
        {memory.data(), type, images, places, channels, means.as<float>(), maxima.as<float>()});
    Peaks found{std::vector<float>(count), std::vector<float>(count)};
    stream_->copy(found.means.data(), means.data(), means.bytes());
    stream_->copy(found.maxima.data(), maxima.data(), maxima.bytes());
    stream_->synchronize();
    return found;
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, ChannelPeaks, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param; });

TEST_P(ChannelPeaks, AreThoseOfTheDefinitionForEverySizeAndType) {
  std::uint64_t seed = 20;
  for (const auto& [type, images, places, channels] :
       {std::tuple{ElementType::f32, 3, 1, 1}, std::tuple{ElementType::bf16, 5, 7, 33},
        std::tuple{ElementType::f16, 2, 1023, 13}, std::tuple{ElementType::f32, 4, 64, 256},
        std::tuple{ElementType::f32, 1, 9, 100}}) {
    SCOPED_TRACE(testing::Message() << images << " x " << places << " x " << channels);
    std::vector<double> values(static_cast<std::size_t>(images * places * channels));
    ++seed;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 4 * core::random_unit(seed, i) - 2.5;
    const std::vector<double> stored = ops::decode(ops::encode(values, type), type);
    const Peaks found = find(values, type, images, channels);
    for (int image = 0; image < images; ++image) {
      for (int channel = 0; channel < channels; ++channel) {
        double sum = 0, most = -std::numeric_limits<double>::infinity(), size = 0;
        for (int place = 0; place < places; ++place) {
          const double value =
              stored[static_cast<std::size_t>((image * places + place) * channels + channel)];
          sum += value;
          size += std::abs(value);
          most = std::max(most, value);
        }
        const auto at = static_cast<std::size_t>(image * channels + channel);
        // Each of the sum's roundings is at most half a unit in the last place of what has been summed up.
        const double tolerance = (places / 8.0 + 9) * std::ldexp(1.0, -24) * size / places;
        ASSERT_NEAR(found.means[at], sum / places, tolerance + std::ldexp(std::abs(sum / places), -24));
        ASSERT_EQ(found.maxima[at], static_cast<float>(most));
      }
    }
  }
}

TEST_P(ChannelPeaks, NotANumberAnywhereIsSeen) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // One image of ten places and three channels: a NaN in the first, an infinity in the second, negative ones in the
  // last.
  std::vector<double> values;
  for (int place = 0; place < 10; ++place) {
    values.insert(values.end(), {place == 4 ? kNan : place, place == 7 ? kInfinity : 1.0, -2.0 - place});
  }
  const Peaks found = find(values, ElementType::f32, 1, 3);
  EXPECT_TRUE(std::isnan(found.means[0]) && std::isnan(found.maxima[0]));
  EXPECT_EQ(found.maxima[1], kInfinity);
  EXPECT_EQ(found.means[1], kInfinity);
  EXPECT_EQ(found.maxima[2], -2.0f);
}

}  // namespace
}  // namespace warpscope::statistics::channel_peaks_test
