// What is left of a network whose batch norms are folded, and that it makes the same of its input.

#include "gpu/inference/folding.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/random.h"
#include "tests/support/double_network.h"
#include "tests/support/tiny.h"

namespace warpscope::inference::folding_test {
namespace {

using models::Model;
using enum models::LayerKind;

constexpr double kMost = 65504;

/// 8x8x3: two convolutions with norms, of which the first has no bias and the second is added to; a norm behind ReLU;
/// a linear layer without bias, and two norms.
Model normed_network() {
  Model model{"normed", 8, 8, 3, {}, models::Loss::cross_entropy, 5};
  model.layers = {{.kind = conv2d, .name = "conv1", .out_channels = 4, .kernel = 3, .bias = false},
                  {.kind = batch_norm, .name = "bn1"},
                  {.kind = relu, .name = "relu1"},
                  {.kind = conv2d, .name = "conv2", .out_channels = 4, .kernel = 1},
                  {.kind = batch_norm, .name = "bn2"},
                  {.kind = add, .name = "add1", .from = "bn1"},
                  {.kind = relu, .name = "relu2"},
                  {.kind = batch_norm, .name = "bn3"},
                  {.kind = linear, .name = "fc1", .out_channels = 5, .bias = false},
                  {.kind = batch_norm, .name = "bn4"},
                  {.kind = batch_norm, .name = "bn5"}};
  models::fit_layers(model);
  return model;
}

std::vector<float> drawn_parameters(const Model& model) {
  std::vector<float> values = models::initial_parameters(model, 5);
  for (const models::Parameter& each : models::parameter_layout(model).parameters) {
    if (each.shape.size() > 1) continue;
    for (std::size_t i = 0; i < each.elements; ++i) {
      const double drawn = static_cast<double>(core::random_bits(9, each.offset + i) % 1000) / 1000;
      values[each.offset + i] = static_cast<float>(0.25 + drawn);  // variances are above 0
    }
  }
  return values;
}

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const models::Layer& layer : model.layers) names.push_back(layer.name);
  return names;
}

std::vector<double> wide(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

TEST(Folding, LeavesOnlyNormsThatStandBehindNoSumOfProducts) {
  const Model model = normed_network();
  const Folded folded = fold_norms(model, drawn_parameters(model), kMost);
  EXPECT_EQ(names_of(folded.model),
            (std::vector<std::string>{"conv1", "relu1", "conv2", "add1", "relu2", "bn3", "fc1", "bn5"}));
  ASSERT_EQ(folded.norms.size(), 3U);
  EXPECT_EQ(std::pair(folded.norms[1].norm, folded.norms[1].layer),
            std::pair(std::string("bn2"), std::string("conv2")));
  EXPECT_EQ(folded.model.layers[3].from, "conv1");
  EXPECT_EQ(folded.parameters.size(), models::parameter_layout(folded.model).elements);
}

TEST(Folding, TheOutputStays) {
  const Model model = normed_network();
  const std::vector<float> values = drawn_parameters(model);
  const Folded folded = fold_norms(model, values, kMost);
  std::vector<double> image(8 * 8 * 3);
  for (std::size_t i = 0; i < image.size(); ++i)
    image[i] = static_cast<double>(core::random_bits(3, i) % 1000) / 1000;
  const auto wanted = tests::DoubleNetwork(model).reconstruct(wide(values), image);
  const auto made = tests::DoubleNetwork(folded.model).reconstruct(wide(folded.parameters), image);
  ASSERT_EQ(made.size(), wanted.size());
  for (std::size_t k = 0; k < made.size(); ++k)
    EXPECT_NEAR(made[k], wanted[k], 1e-5 * (1 + std::abs(wanted[k])));
}

TEST(Folding, AnAddendOrASecondReaderKeepsTheNormApart) {
  Model model = normed_network();
  model.layers[5].from = "conv1";
  const Folded folded = fold_norms(model, drawn_parameters(model), kMost);
  EXPECT_EQ(names_of(folded.model), (std::vector<std::string>{"conv1", "bn1", "relu1", "conv2", "add1",
                                                              "relu2", "bn3", "fc1", "bn5"}));
}

TEST(Folding, ANormStaysThatWouldMakeAWeightTooGreat) {
  const Model model = normed_network();
  std::vector<float> values = drawn_parameters(model);
  const models::Parameter scale = models::parameter_layout(model).find("bn2.weight");
  const float much = std::numeric_limits<float>::max();
  for (const float factor : {much, -much, std::numeric_limits<float>::quiet_NaN()}) {
    values[scale.offset + 2] = factor;
    EXPECT_EQ(fold_norms(model, values, kMost).norms.size(), 2U) << factor;
  }
  for (const float factor : {0.0F, 1e-6F, -3.0F}) {
    values[scale.offset + 2] = factor;
    EXPECT_EQ(fold_norms(model, values, kMost).norms.size(), 3U) << factor;
  }
}

}  // namespace
}  // namespace warpscope::inference::folding_test
