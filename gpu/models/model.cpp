#include "gpu/models/model.h"

#include <cmath>
#include <numbers>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"

namespace warpscope::models {
namespace {

Layer conv(const char* name, int in_channels, int out_channels) {
  return {LayerKind::conv2d, name, in_channels, out_channels, 3};
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
          {conv("conv1", 3, 256), plain(relu, "relu1"), plain(maxpool2d, "pool1"),    //
           conv("conv2", 256, 128), plain(relu, "relu2"), plain(maxpool2d, "pool2"),  //
           conv("conv3", 128, 128), plain(relu, "relu3"), plain(upsample2d, "up3"),   //
           conv("conv4", 128, 256), plain(relu, "relu4"), plain(upsample2d, "up4"),   //
           conv("conv5", 256, 3)}};
}

constexpr std::size_t kAlignment = 64;

}  // namespace

const Parameter& ParameterLayout::find(std::string_view name) const {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return parameter;
  }
  throw std::logic_error(fmt::format("no parameter is named {}", name));
}

ParameterLayout parameter_layout(const Model& model) {
  ParameterLayout layout;
  const auto add = [&](std::string name, std::vector<int> shape, std::size_t layer) {
    std::size_t elements = 1;
    for (const int extent : shape) elements *= static_cast<std::size_t>(extent);
    layout.parameters.push_back({std::move(name), std::move(shape), layout.elements, elements, layer});
    layout.count += elements;
    layout.elements += (elements + kAlignment - 1) / kAlignment * kAlignment;
  };
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    if (layer.kind != LayerKind::conv2d) continue;
    add(layer.name + ".weight", {layer.out_channels, layer.kernel, layer.kernel, layer.in_channels}, i);
    add(layer.name + ".bias", {layer.out_channels}, i);
  }
  return layout;
}

std::vector<std::string> model_names() {
  return {"autoencoder"};
}

Model find_model(std::string_view name) {
  if (name == "autoencoder") return autoencoder();
  throw core::BadInput(fmt::format("unknown model '{}'; valid: {}", name, fmt::join(model_names(), ", ")));
}

void check_model(const Model& model) {
  int height = model.height;
  int width = model.width;
  int channels = model.channels;
  if (height < 1 || width < 1 || channels < 1) {
    throw core::BadInput(
        fmt::format("model {} takes images of {}x{}x{}", model.name, height, width, channels));
  }
  if (parameter_layout(model).parameters.empty()) {
    throw core::BadInput(fmt::format("model {} has no convolution to train", model.name));
  }
  std::set<std::string_view> names;
  const auto fail = [&](const Layer& layer, const std::string& why) {
    throw core::BadInput(fmt::format("model {}, layer {}: {}", model.name, layer.name, why));
  };
  for (const Layer& layer : model.layers) {
    if (!names.insert(layer.name).second) fail(layer, "an earlier layer has its name");
    switch (layer.kind) {
      case LayerKind::conv2d:
        if (layer.in_channels != channels) {
          fail(layer, fmt::format("takes {} channels, gets {}", layer.in_channels, channels));
        }
        if (layer.kernel < 1 || layer.kernel % 2 == 0) fail(layer, "the kernel must be odd");
        if (layer.out_channels < 1) fail(layer, "has no output channels");
        channels = layer.out_channels;
        break;
      case LayerKind::maxpool2d:
        height /= 2;
        width /= 2;
        if (height < 1 || width < 1) fail(layer, "its input is too small to pool");
        break;
      case LayerKind::upsample2d:
        height *= 2;
        width *= 2;
        break;
      case LayerKind::relu:
        break;
    }
  }
  if (height != model.height || width != model.width || channels != model.channels) {
    throw core::BadInput(fmt::format("model {}: the output is {}x{}x{}, the input it reconstructs {}x{}x{}",
                                     model.name, height, width, channels, model.height, model.width,
                                     model.channels));
  }
}

std::vector<float> initial_parameters(const Model& model, std::uint64_t seed) {
  const ParameterLayout layout = parameter_layout(model);
  std::vector<float> values(layout.elements, 0.0f);
  for (const Parameter& parameter : layout.parameters) {
    if (parameter.shape.size() != 4) continue;
    const int fan_in = parameter.shape[1] * parameter.shape[2] * parameter.shape[3];
    const double deviation = std::sqrt(2.0 / fan_in);
    for (std::size_t i = 0; i < parameter.elements; ++i) {
      const std::uint64_t counter = 2 * (parameter.offset + i);
      const double radius = std::sqrt(-2.0 * std::log(core::random_unit(seed, counter)));
      const double angle = 2.0 * std::numbers::pi * core::random_unit(seed, counter + 1);
      values[parameter.offset + i] = static_cast<float>(deviation * radius * std::cos(angle));
    }
  }
  return values;
}

}  // namespace warpscope::models
