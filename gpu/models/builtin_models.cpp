#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/models/model.h"

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

using Maker = Model (*)();
constexpr std::array<std::pair<std::string_view, Maker>, 3> kModels{
    {{"autoencoder", autoencoder}, {"classifier", classifier}, {"mlp", mlp}}};

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kModels) names.emplace_back(name);
  return names;
}

Model find_model(std::string_view name) {
  for (const auto& [each, make] : kModels) {
    if (name == each) return make();
  }
  throw core::BadInput(fmt::format("unknown model '{}'; valid: {}", name, fmt::join(model_names(), ", ")));
}

}  // namespace warpscope::models
