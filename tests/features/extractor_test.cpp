// Features are what the network computes: against a model in double precision.

#include "gpu/features/extractor.h"

#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/models/parameters.h"
#include "tests/support/double_network.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny.h"

namespace warpscope::features::extractor_test {
namespace {

class Extraction : public testing::TestWithParam<tests::Streams> {
 protected:
  void SetUp() override {
    if (!place.device) GTEST_SKIP() << core::cuda_unavailable_reason();
    stream = place.device->make_stream();
    place.stream = stream.get();
    parameters = models::initial_parameters(model, 3);
    weights = core::Buffer(place.device, parameters.size() * sizeof(float));
    stream->copy(weights.data(), parameters.data(), weights.bytes());
    stream->synchronize();
  }
  std::vector<float> extract(const FeatureLayers& layers, const data::ImageSet& set) {
    const DeviceImages images(set, place);
    Extractor extractor(model, layers, tests::plain_selection(GetParam()), images, weights.as<float>(),
                        place);
    EXPECT_EQ(extractor.rows(), set.count);
    std::vector<float> rows(static_cast<std::size_t>(set.count * extractor.columns()), -1e30f);
    core::Buffer out(place.device, rows.size() * sizeof(float));
    stream->copy(out.data(), rows.data(), out.bytes());
    extractor.extract(out.as<float>());
    stream->copy(rows.data(), out.data(), out.bytes());
    stream->synchronize();
    return rows;
  }

  const models::Model model = tests::tiny_model();
  classifiers::Place place{tests::device_of(GetParam()), nullptr};
  std::unique_ptr<core::Stream> stream;
  std::vector<float> parameters;
  core::Buffer weights;
};

INSTANTIATE_TEST_SUITE_P(Streams, Extraction, testing::ValuesIn(tests::kAllStreams),
                         [](const auto& which) { return tests::name_of(which.param); });

TEST_P(Extraction, GivesTheOutputsOfLayersInTheOrderOfPyTorch) {
  const data::ImageSet set = tests::smooth_images(37, 4);  // not a multiple of any batch
  const FeatureLayers layers = parse_feature_layers("pool1+conv2:mean=2+conv1:max=1", model);
  const std::vector<float> rows = extract(layers, set);
  const std::size_t columns = static_cast<std::size_t>(columns_of(layers));
  ASSERT_EQ(columns, 64u + 20 + 4);
  const tests::DoubleNetwork network(model);
  for (std::size_t image = 0; image < 37; ++image) {
    const auto outputs = network.outputs({parameters.begin(), parameters.end()},
                                         tests::image_of(set, static_cast<std::int64_t>(image)));
    const float* const row = rows.data() + image * columns;
    for (std::size_t c = 0; c < 4; ++c) {
      for (std::size_t p = 0; p < 16; ++p) ASSERT_NEAR(row[c * 16 + p], outputs[2][p * 4 + c], 2e-5) << image;
    }
    double mean = 0;  // of conv2's first 2 x 2 window, channel 3
    for (const std::size_t pixel : {0u, 1u, 4u, 5u}) mean += outputs[3][pixel * 5 + 3] / 4;
    ASSERT_NEAR(row[64 + 3 * 4], mean, 2e-5) << image;
    double most = outputs[0][2];
    for (std::size_t p = 0; p < 64; ++p) most = std::max(most, outputs[0][p * 4 + 2]);
    ASSERT_NEAR(row[84 + 2], most, 2e-5) << image;
  }
}

TEST_P(Extraction, TellsOfItsProgressAndEndsWhenAsked) {
  const DeviceImages images(tests::smooth_images(40, 4), place);
  Extractor extractor(model, parse_feature_layers("", model), tests::plain_selection(GetParam()), images,
                      weights.as<float>(), place);
  core::Buffer out(place.device, static_cast<std::size_t>(40 * extractor.columns()) * sizeof(float));
  std::vector<double> parts;
  extractor.extract(out.as<float>(), {[&](double part, std::string_view) { parts.push_back(part); }, {}});
  EXPECT_EQ(parts.back(), 1.0);
  EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end()));
  std::stop_source source;
  source.request_stop();
  EXPECT_THROW(extractor.extract(out.as<float>(), {{}, source.get_token()}), classifiers::Cancelled);
}

}  // namespace
}  // namespace warpscope::features::extractor_test
