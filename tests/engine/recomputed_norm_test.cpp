// Trainings whose first layer is not stored (batch_norm recomputed) go as those do that store it, where sums over
// images have the least to hold on to: images of one colour, black ones, a weight that is not a number.

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/models/model.h"
#include "gpu/models/parameters.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::recomputed_norm_test {
namespace {

using tests::run_steps;

models::Model normed_classifier() {
  using enum models::LayerKind;
  models::Model model{.name = "normed", .height = 8, .width = 8, .channels = 3, .layers = {}};
  model.layers = {{.kind = conv2d, .name = "conv1", .out_channels = 32, .kernel = 3, .bias = false},
                  {.kind = batch_norm, .name = "bn1"},
                  {.kind = relu, .name = "relu1"},
                  {.kind = maxpool2d, .name = "pool1", .kernel = 2},
                  {.kind = linear, .name = "fc", .out_channels = 3}};
  model.loss = models::Loss::cross_entropy;
  model.classes = 3;
  models::fit_layers(model);
  return model;
}

/// A precision of 16 bits.
class RecomputedOnTheGpu : public testing::TestWithParam<core::Precision> {
 protected:
  void SetUp() override {
    const std::string why_not = core::cuda_unavailable_reason();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    device = core::open_device("cuda");
    device->make_current();
    if (device->info().compute_capability < 80) GTEST_SKIP() << "it needs compute capability 8.0";
  }
  EngineOptions options(bool stored) const {
    EngineOptions options = tests::tiny_engine_options();
    options.model = normed_classifier();
    options.selection = {GetParam(), {}};
    if (stored) {
      options.selection.variants = {{ops::Op::batch_norm_forward, "welford"},
                                    {ops::Op::batch_norm_backward, "warp_shuffle"}};
    }
    options.optimizer.learning_rate = 0.01f;  // what is rounded otherwise stays small
    options.test_images = 24;
    return options;
  }
  std::unique_ptr<Engine> make(const EngineOptions& options, const data::DataSet& data) const {
    return std::make_unique<Engine>(options, std::make_shared<data::DataSet>(data), device);
  }
  /// Five steps of both ways from the same weights.
  void expect_alike(const data::DataSet& data) const {
    const auto recomputed = make(options(false), data);
    const auto stored = make(options(true), data);
    const std::vector<float> found = tests::losses(run_steps(*recomputed, 5));
    const std::vector<float> wanted = tests::losses(run_steps(*stored, 5));
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], wanted[i], 0.02 * (1 + wanted[i])) << "step " << i + 1;
    }
    for (const float value : recomputed->parameters()) ASSERT_TRUE(std::isfinite(value));
  }

  std::shared_ptr<core::Device> device;
};

INSTANTIATE_TEST_SUITE_P(Precisions, RecomputedOnTheGpu,
                         testing::Values(core::Precision::fp16, core::Precision::bf16),
                         [](const auto& which) { return std::string(core::to_string(which.param)); });

TEST_P(RecomputedOnTheGpu, ImagesThatDifferTrainAlike) {
  expect_alike(tests::labelled_data(48, 24));
}

TEST_P(RecomputedOnTheGpu, ImagesOfOneColourTrainAlike) {
  data::DataSet data = tests::labelled_data(48, 24);
  for (data::ImageSet* const set : {&data.train, &data.test}) set->pixels.assign(set->pixels.size(), 200);
  expect_alike(data);
}

TEST_P(RecomputedOnTheGpu, BlackImagesTrainAlike) {
  data::DataSet data = tests::labelled_data(48, 24);
  for (data::ImageSet* const set : {&data.train, &data.test}) set->pixels.assign(set->pixels.size(), 0);
  expect_alike(data);
}

TEST_P(RecomputedOnTheGpu, AWeightThatIsNoNumberShowsInTheLoss) {
  const auto engine = make(options(false), tests::labelled_data(48, 24));
  EngineState state = engine->state();
  state.parameters[models::parameter_layout(normed_classifier()).find("conv1.weight").offset + 30] =
      std::numeric_limits<float>::quiet_NaN();
  engine->restore(state);
  EXPECT_TRUE(std::isnan(run_steps(*engine, 1).front().loss));
}

}  // namespace
}  // namespace warpscope::training::recomputed_norm_test
