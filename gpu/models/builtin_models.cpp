#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/models/model_file.h"

namespace warpscope::models {
namespace {

Layer conv(const char* name, int in_channels, int out_channels) {
  return {LayerKind::conv2d, name, in_channels, out_channels, 3};
}
Layer dense(const char* name, int in_features, int out_features) {
  return {LayerKind::linear, name, in_features, out_features};
}
Layer pool(const char* name) {
  return {LayerKind::maxpool2d, name, 0, 0, 2};
}
Layer plain(LayerKind kind, const char* name) {
  return {kind, name};
}

/// conv 3-256, pool, conv 256-128, pool (latent 8x8x128), conv 128-128, up, conv 128-256, up, conv 256-3;
/// ReLU after every convolution but the last. 751,875 parameters.
Model autoencoder() {
  using enum LayerKind;
  return {"autoencoder",
          32,
          32,
          3,
          {conv("conv1", 3, 256), plain(relu, "relu1"), pool("pool1"),               //
           conv("conv2", 256, 128), plain(relu, "relu2"), pool("pool2"),             //
           conv("conv3", 128, 128), plain(relu, "relu3"), plain(upsample2d, "up3"),  //
           conv("conv4", 128, 256), plain(relu, "relu4"), plain(upsample2d, "up4"),  //
           conv("conv5", 256, 3)}};
}

/// The autoencoder's encoder, linear 8192-128, ReLU, linear 128-10. 1,352,202 parameters.
Model classifier() {
  using enum LayerKind;
  return {"classifier",
          32,
          32,
          3,
          {conv("conv1", 3, 256), plain(relu, "relu1"), pool("pool1"),    //
           conv("conv2", 256, 128), plain(relu, "relu2"), pool("pool2"),  //
           dense("fc1", 8192, 128), plain(relu, "relu3"), dense("fc2", 128, 10)},
          Loss::cross_entropy,
          10};
}

/// linear 784-128, ReLU, linear 128-128, ReLU, linear 128-10. 118,282 parameters.
Model mlp() {
  using enum LayerKind;
  return {"mlp",
          28,
          28,
          1,
          {dense("fc1", 784, 128), plain(relu, "relu1"), dense("fc2", 128, 128), plain(relu, "relu2"),
           dense("fc3", 128, 10)},
          Loss::cross_entropy,
          10};
}

/// The characters of the paper below. It counts 70, because its list has the hyphen twice: 26 small letters, 10 digits,
/// 32 others and the line break. The last of the 70 channels stays 0.
constexpr int kCharactersOfPaper = 70;
constexpr const char* kSmallLetters =
    "abcdefghijklmnopqrstuvwxyz0123456789-,;.!?:'\"/\\|_@#$%^&*~`+=<>()[]{}\n";
constexpr const char* kBothCases =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-,;.!?:'\"/\\|_@#$%^&*~`+=<>()[]{}\n";

/// A convolution of a network on texts, and whether pooling follows it.
struct Stage {
  int kernel = 0;
  bool pools = false;
};
constexpr std::array kStages{Stage{7, true},  Stage{7, true},  Stage{3, false},
                             Stage{3, false}, Stage{3, false}, Stage{3, true}};

/// The smaller of the paper's two networks: one-hot characters of the first 1014, six convolutions of 256 channels
/// without padding, each with ReLU, pooling in threes after three of them, and three linear layers with dropout between
/// them. The paper draws weights from N(0, 0.05), these are He's.
/// Source: X. Zhang, J. Zhao, Y. LeCun, "Character-level convolutional networks for text classification" (2015).
/// `characters`: channels of the one-hot characters, 0 for as many as there are.
Model text_network(const char* name, const char* alphabet, int characters, bool normalized) {
  using enum LayerKind;
  constexpr int kChannels = 256, kUnits = 1024, kClasses = 4;
  Model model{name, 1, 1014, 1, {plain(one_hot, "onehot1")}, Loss::cross_entropy, kClasses, 0, alphabet};
  int pools = 0, norms = 0;
  model.layers.front().symbols = characters;
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    Layer& convolution =
        model.layers.emplace_back(Layer{conv1d, "conv" + number, 0, kChannels, kStages[i].kernel});
    convolution.valid = true;
    if (normalized && (i == 0 || i + 1 == kStages.size())) {
      model.layers.push_back({layer_norm, "ln" + std::to_string(++norms)});
    }
    model.layers.push_back({relu, "relu" + number});
    if (kStages[i].pools) model.layers.push_back({maxpool1d, "pool" + std::to_string(++pools), 0, 0, 3});
  }
  for (int i = 1; i <= 2; ++i) {
    model.layers.push_back({linear, fmt::format("fc{}", i), 0, kUnits});
    model.layers.push_back({relu, fmt::format("relu{}", kStages.size() + static_cast<std::size_t>(i))});
    model.layers.push_back(Layer{dropout, fmt::format("drop{}", i)});
    model.layers.back().rate = 0.5f;
  }
  model.layers.push_back({linear, "fc3", 0, kClasses});
  fit_layers(model);
  return model;
}

/// 11,339,780 parameters.
Model char_cnn() {
  return text_network("char_cnn", kSmallLetters, kCharactersOfPaper, false);
}

/// The same with layer normalization behind the first and the last convolution, before ReLU.
Model char_cnn_ln() {
  return text_network("char_cnn_ln", kSmallLetters, kCharactersOfPaper, true);
}

/// The same with capital letters as characters of their own.
Model char_cnn_cased() {
  return text_network("char_cnn_cased", kBothCases, 0, false);
}

using Maker = Model (*)();
constexpr std::array<std::pair<std::string_view, Maker>, 6> kModels{{{"autoencoder", autoencoder},
                                                                     {"classifier", classifier},
                                                                     {"mlp", mlp},
                                                                     {"char_cnn", char_cnn},
                                                                     {"char_cnn_ln", char_cnn_ln},
                                                                     {"char_cnn_cased", char_cnn_cased}}};

}  // namespace

bool is_code(std::string_view name) {
  return std::ranges::any_of(kModels, [&](const auto& row) { return row.first == name; });
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kModels) names.emplace_back(name);
  for (const ShippedNetwork& network : shipped_networks()) names.emplace_back(network.name);
  return names;
}

const ShippedNetwork* find_shipped(std::string_view name) {
  for (const ShippedNetwork& network : shipped_networks()) {
    if (network.name == name) return &network;
  }
  return nullptr;
}

Model find_model(std::string_view name) {
  for (const auto& [each, make] : kModels) {
    if (name == each) return make();
  }
  if (const ShippedNetwork* const shipped = find_shipped(name)) return parse_model(shipped->text, name, name);
  throw core::BadInput(fmt::format("unknown model '{}'; valid: {}", name, fmt::join(model_names(), ", ")));
}

}  // namespace warpscope::models
