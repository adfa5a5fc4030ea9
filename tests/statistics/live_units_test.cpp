// Which units of a ReLU's output are never anything but 0, on the CPU and, where there is one, on a GPU.

#include "gpu/statistics/live_units.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/random.h"
#include "gpu/ops/host_values.h"
#include "tests/support/device_case.h"

namespace warpscope::statistics::live_units_test {
namespace {

using core::ElementType;

struct Found {
  std::vector<std::uint32_t> live_units;  ///< one a tensor
  std::vector<std::uint8_t> live_channels;
};

class LiveUnits : public tests::DeviceCase {
 protected:
  Found find(std::vector<UnitTensor> tensors, const std::vector<std::vector<double>>& values) {
    std::vector<core::Buffer> memory;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const ops::Bytes bytes = ops::encode(values[i], tensors[i].type);
      memory.push_back(uploaded(bytes.data(), bytes.size()));
      tensors[i].values = memory.back().data();
    }
    const UnitLayout layout = lay_out_chunks(tensors);
    std::vector<std::uint32_t> chunks(static_cast<std::size_t>(layout.chunks));
    Found found;
    found.live_channels.resize(static_cast<std::size_t>(layout.channels));
    const core::Buffer table = uploaded(tensors.data(), tensors.size() * sizeof(UnitTensor));
    const core::Buffer units = uploaded(chunks.data(), chunks.size() * sizeof(std::uint32_t));
    const core::Buffer channels = uploaded(found.live_channels.data(), found.live_channels.size());
    find_live_units(*device_, *stream_,
                    {table.as<const UnitTensor>(), static_cast<int>(tensors.size()), layout.chunks,
                     units.as<std::uint32_t>(), channels.as<std::uint8_t>()});
    stream_->copy(chunks.data(), units.data(), units.bytes());
    stream_->copy(found.live_channels.data(), channels.data(), channels.bytes());
    stream_->synchronize();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto end = i + 1 < tensors.size() ? tensors[i + 1].first_chunk : layout.chunks;
      std::uint32_t sum = 0;
      for (std::int64_t c = tensors[i].first_chunk; c < end; ++c) sum += chunks[static_cast<std::size_t>(c)];
      found.live_units.push_back(sum);
    }
    return found;
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, LiveUnits, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param; });

TEST_P(LiveUnits, AreThoseThatOneImageOfTheBatchMakesAnythingButZero) {
  // Two images of two places and three channels: channel 0 is live at one place, 1 nowhere, 2 by a NaN.
  const UnitTensor tensor{nullptr, ElementType::f32, 2, 6, 3};
  const Found found = find({tensor}, {{0, 0, 0, 0, -0.0, 0,  //
                                       0, 0, NAN, 1e-40, 0, 0}});
  EXPECT_EQ(found.live_units, std::vector<std::uint32_t>{2});
  EXPECT_EQ(found.live_channels, (std::vector<std::uint8_t>{1, 0, 1}));
}

TEST_P(LiveUnits, AreFoundInTensorsOfEverySizeAndType) {
  std::vector<UnitTensor> tensors;
  std::vector<std::vector<double>> values;
  std::vector<std::uint32_t> live;
  std::vector<std::uint8_t> live_channels;
  for (const auto& [type, places, channels] :
       {std::tuple{ElementType::f32, 1, 7}, std::tuple{ElementType::bf16, 331, 13},
        std::tuple{ElementType::f16, 4097, 5}, std::tuple{ElementType::f32, 64, 64}}) {
    const int batch = 3;
    UnitTensor tensor{nullptr, type, batch, std::int64_t{places} * channels, channels};
    std::vector<double> all(static_cast<std::size_t>(batch * tensor.units));
    for (std::size_t i = 0; i < all.size(); ++i) {
      // Every fourth channel is dead.
      const bool dead = i % static_cast<std::size_t>(channels) % 4 == 3;
      all[i] = dead || core::random_bits(9, i) % 3 != 0 ? 0 : 0.5;
    }
    std::vector<std::uint8_t> of_channels(static_cast<std::size_t>(channels));
    std::uint32_t count = 0;
    for (std::int64_t unit = 0; unit < tensor.units; ++unit) {
      bool is_live = false;
      for (int image = 0; image < batch; ++image) {
        is_live = is_live || all[static_cast<std::size_t>(image * tensor.units + unit)] != 0;
      }
      count += is_live ? 1 : 0;
      if (is_live) of_channels[static_cast<std::size_t>(unit % channels)] = 1;
    }
    tensors.push_back(tensor);
    values.push_back(all);
    live.push_back(count);
    live_channels.insert(live_channels.end(), of_channels.begin(), of_channels.end());
  }
  const Found found = find(tensors, values);
  EXPECT_EQ(found.live_units, live);
  EXPECT_EQ(found.live_channels, live_channels);
}

}  // namespace
}  // namespace warpscope::statistics::live_units_test
