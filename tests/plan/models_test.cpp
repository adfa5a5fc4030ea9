#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/models/model.h"
#include "tests/support/tiny.h"
#include "tests/support/tiny_text.h"

namespace warpscope::models::models_test {
namespace {

/// What check_model says of the tiny model after `spoil`; "" if it takes it.
std::string refusal(const std::function<void(Model&)>& spoil) {
  Model model = tests::tiny_model();
  spoil(model);
  try {
    check_model(model);
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(Autoencoder, HasTheParametersOfTheDesign) {
  const ParameterLayout layout = parameter_layout(find_model("autoencoder"));
  EXPECT_EQ(layout.count, 751'875u);
  std::vector<std::string> names;
  for (const Parameter& parameter : layout.parameters) names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                             "conv3.weight", "conv3.bias", "conv4.weight", "conv4.bias",
                                             "conv5.weight", "conv5.bias"}));
  EXPECT_EQ(layout.find("conv2.weight").shape, (std::vector<int>{128, 3, 3, 256}));
  EXPECT_EQ(layout.find("conv5.bias").shape, (std::vector<int>{3}));
}

TEST(Autoencoder, HasALatentOf8x8x128) {
  const Model model = find_model("autoencoder");
  EXPECT_NO_THROW(check_model(model));
  int size = model.height;
  int channels = model.channels;
  std::vector<int> elements;
  for (const Layer& layer : model.layers) {
    if (layer.kind == LayerKind::conv2d) channels = layer.out_channels;
    if (layer.kind == LayerKind::maxpool2d) size /= 2;
    if (layer.kind == LayerKind::upsample2d) size *= 2;
    elements.push_back(size * size * channels);
    if (layer.name == "pool2") {
      EXPECT_EQ(size, 8);
      EXPECT_EQ(channels, 128);
    }
  }
  EXPECT_EQ(*std::min_element(elements.begin(), elements.end() - 1), 8192) << "the latent is the narrowest";
}

/// The table "Convolutional layers" of X. Zhang, J. Zhao, Y. LeCun (2015), its small features.
TEST(CharCnn, IsTheSmallNetworkOfThePaper) {
  const Model model = find_model("char_cnn");
  EXPECT_NO_THROW(check_model(model));
  EXPECT_EQ(model.width, 1014);
  const ParameterLayout layout = parameter_layout(model);
  EXPECT_EQ(layout.count, 11'339'780u);
  EXPECT_EQ(layout.find("conv1.weight").shape, (std::vector<int>{256, 1, 7, 70}));
  EXPECT_EQ(layout.find("conv6.weight").shape, (std::vector<int>{256, 1, 3, 256}));
  EXPECT_EQ(layout.find("fc1.weight").shape, (std::vector<int>{1024, 1, 34, 256})) << "8704 features";
  EXPECT_EQ(layout.find("fc3.weight").shape, (std::vector<int>{4, 1, 1, 1024}));
  const Model normalized = find_model("char_cnn_ln");
  EXPECT_EQ(parameter_layout(normalized).count, layout.count + 4 * 256);
  EXPECT_EQ(normalized.layers[index_of(normalized, "ln1") + 1].name, "relu1");
  EXPECT_EQ(normalized.layers[index_of(normalized, "ln2") + 1].name, "relu6");
  EXPECT_EQ(parameter_layout(find_model("char_cnn_cased")).find("conv1.weight").shape[3], 69 + 26);
}

TEST(Embedding, BeginsAsStandardNormalRows) {
  Model model = tests::tiny_text_model(LayerKind::embedding);
  model.layers[0].out_channels = 400;
  fit_layers(model);
  const std::vector<float> values = initial_parameters(model, 3);
  const ParameterLayout layout = parameter_layout(model);
  const Parameter& table = layout.find("first.weight");
  EXPECT_EQ(table.shape, (std::vector<int>{28, 400}));
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < table.elements; ++i) {
    const double value = values[table.offset + i];
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(table.elements);
  EXPECT_NEAR(sum / count, 0, 4 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 4 * std::sqrt(2 / count));
}

TEST(Model, UnknownNamesListTheValidOnes) {
  try {
    find_model("autoencode");
    FAIL() << "found";
  } catch (const core::BadInput& error) {
    EXPECT_STREQ(error.what(),
                 "unknown model 'autoencode'; valid: autoencoder, classifier, mlp, char_cnn, "
                 "char_cnn_ln, char_cnn_cased, classifier_bn, resnet9, vgg");
  }
  for (const std::string& name : model_names()) EXPECT_EQ(find_model(name).name, name);
}

TEST(Model, AHeadReadsTheLatents) {
  const Model joint = with_head(find_model("autoencoder"), 10);
  const ParameterLayout layout = parameter_layout(joint), bare = parameter_layout(find_model("autoencoder"));
  EXPECT_EQ(layout.find("head.weight").shape, (std::vector<int>{10, 8, 8, 128}));
  EXPECT_EQ(layout.find("head.weight").offset, bare.elements);
  EXPECT_EQ(layout.count, bare.count + 10 * 8192 + 10);
  EXPECT_EQ(layer_of(joint, layout.find("head.bias")), "head");
  EXPECT_EQ(layer_of(joint, layout.find("conv3.bias")), "conv3");
  EXPECT_NO_THROW(check_model(joint));
  EXPECT_THROW(check_model(with_head(find_model("classifier"), 10)), core::BadInput);
  EXPECT_THROW(check_model(with_head(find_model("autoencoder"), 257)), core::BadInput);
}

TEST(Model, LayoutIsAlignedAndWithoutOverlap) {
  for (const Model& model : {tests::tiny_model(), find_model("autoencoder")}) {
    const ParameterLayout layout = parameter_layout(model);
    std::size_t end = 0;
    std::size_t count = 0;
    for (const Parameter& parameter : layout.parameters) {
      EXPECT_EQ(parameter.offset % 64, 0u) << parameter.name;
      EXPECT_GE(parameter.offset, end) << parameter.name;
      EXPECT_LT(parameter.offset - end, 64u) << parameter.name;
      std::size_t elements = 1;
      for (const int extent : parameter.shape) elements *= static_cast<std::size_t>(extent);
      EXPECT_EQ(parameter.elements, elements) << parameter.name;
      EXPECT_EQ(parameter.name.substr(0, parameter.name.find('.')), model.layers[parameter.layer].name);
      end = parameter.offset + parameter.elements;
      count += parameter.elements;
    }
    EXPECT_EQ(layout.count, count);
    EXPECT_GE(layout.elements, end);
    EXPECT_EQ(layout.elements % 64, 0u);
  }
  EXPECT_EQ(parameter_layout(tests::tiny_model()).count, 3u * 9 * 4 + 4 + 4 * 9 * 5 + 5 + 5 * 9 * 3 + 3);
  EXPECT_THROW(parameter_layout(tests::tiny_model()).find("conv4.weight"), std::logic_error);
}

TEST(Model, RefusesLayersThatDoNotFitAndNamesThem) {
  EXPECT_EQ(refusal([](Model&) {}), "");
  EXPECT_EQ(refusal([](Model& model) { model.layers[3].in_channels = 6; }),
            "model tiny, layer conv2: takes 6 channels, gets 4");
  EXPECT_EQ(refusal([](Model& model) { model.layers[0].kernel = 4; }),
            "model tiny, layer conv1: the kernel must be odd");
  EXPECT_EQ(refusal([](Model& model) { model.layers[0].kernel = -3; }),
            "model tiny, layer conv1: the kernel must be odd");
  EXPECT_EQ(refusal([](Model& model) { model.layers[6].out_channels = 0; }),
            "model tiny, layer conv3: has no output channels");
  EXPECT_EQ(refusal([](Model& model) { model.height = 1; }),
            "model tiny, layer pool1: its input, 1x8x4, is too small for 2x2 windows");
  EXPECT_EQ(refusal([](Model& model) { model.layers[3].name = "conv1"; }),
            "model tiny, layer conv1: an earlier layer has its name");
}

TEST(Model, RefusesWhatIsNoReconstructionOfItsInput) {
  EXPECT_EQ(refusal([](Model& model) { model.layers.pop_back(); }),
            "model tiny: the output is 8x8x5, the input it reconstructs 8x8x3");
  EXPECT_EQ(refusal([](Model& model) { model.height = 9; }),
            "model tiny: the output is 8x8x3, the input it reconstructs 9x8x3")
      << "pooling drops the odd row";
  EXPECT_EQ(refusal([](Model& model) { model.layers.clear(); }), "model tiny has no layer to train");
  EXPECT_EQ(refusal([](Model& model) { model.channels = 0; }), "model tiny takes images of 8x8x0");
}

TEST(InitialParameters, AreTheSameForTheSameSeedAlone) {
  const Model model = tests::tiny_model();
  EXPECT_EQ(initial_parameters(model, 3), initial_parameters(model, 3));
  const std::vector<float> one = initial_parameters(model, 3);
  const std::vector<float> other = initial_parameters(model, 4);
  const Parameter weights = parameter_layout(model).find("conv2.weight");
  std::size_t equal = 0;
  for (std::size_t i = 0; i < weights.elements; ++i)
    equal += one[weights.offset + i] == other[weights.offset + i];
  EXPECT_EQ(equal, 0u);
  std::set<float> values;
  for (std::size_t i = 0; i < weights.elements; ++i) values.insert(one[weights.offset + i]);
  EXPECT_EQ(values.size(), weights.elements) << "no value twice in 180: a counter is used twice";
}

// The mean of n draws from N(0, s) has the deviation s / sqrt(n), their standard deviation one of
// s / sqrt(2 n), their kurtosis (3 for a normal distribution) one of sqrt(24 / n): five of each are allowed.
TEST(InitialParameters, FollowHesNormalDistribution) {
  const Model model = find_model("autoencoder");
  const std::vector<float> values = initial_parameters(model, 1);
  const ParameterLayout layout = parameter_layout(model);
  ASSERT_EQ(values.size(), layout.elements);
  for (const Parameter& parameter : layout.parameters) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(parameter.offset);
    const std::vector<double> draws(first, first + static_cast<std::ptrdiff_t>(parameter.elements));
    if (parameter.shape.size() == 1) {
      EXPECT_TRUE(std::all_of(draws.begin(), draws.end(), [](double v) { return v == 0; })) << parameter.name;
      continue;
    }
    const double fan_in = parameter.shape[1] * parameter.shape[2] * parameter.shape[3];
    const double wanted = std::sqrt(2.0 / fan_in);
    const auto n = static_cast<double>(draws.size());
    double sum = 0;
    double squares = 0;
    double fourths = 0;
    for (const double v : draws) {
      sum += v;
      squares += v * v;
      fourths += v * v * v * v;
    }
    EXPECT_NEAR(sum / n, 0.0, 5 * wanted / std::sqrt(n)) << parameter.name;
    EXPECT_NEAR(std::sqrt(squares / n), wanted, 5 * wanted / std::sqrt(2 * n)) << parameter.name;
    EXPECT_NEAR(n * fourths / (squares * squares), 3.0, 5 * std::sqrt(24 / n)) << parameter.name;
  }
}

TEST(InitialParameters, LeavePaddingZero) {
  const Model model = tests::tiny_model();
  std::vector<float> values = initial_parameters(model, 9);
  for (const Parameter& parameter : parameter_layout(model).parameters) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(parameter.offset);
    std::fill(first, first + static_cast<std::ptrdiff_t>(parameter.elements), 0.0f);
  }
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float v) { return v == 0; }));
}

}  // namespace
}  // namespace warpscope::models::models_test
