#include "gpu/models/model.h"

#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/models/latent.h"

namespace warpscope::models {
namespace {

Layer conv(const char* name, int in_channels, int out_channels) {
  return {LayerKind::conv2d, name, in_channels, out_channels, 3};
}
Layer dense(const char* name, int in_features, int out_features) {
  return {LayerKind::linear, name, in_features, out_features};
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

/// The autoencoder's encoder, linear 8192-128, ReLU, linear 128-10. 1,352,202 parameters.
Model classifier() {
  using enum LayerKind;
  return {"classifier",
          32,
          32,
          3,
          {conv("conv1", 3, 256), plain(relu, "relu1"), plain(maxpool2d, "pool1"),    //
           conv("conv2", 256, 128), plain(relu, "relu2"), plain(maxpool2d, "pool2"),  //
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

constexpr std::size_t kAlignment = 64;

/// Why `layer` cannot follow what makes images of this size, or "".
std::string objection(const Layer& layer, const Extent& input) {
  const bool trained = layer.kind == LayerKind::conv2d || layer.kind == LayerKind::linear;
  if (trained && layer.out_channels < 1) return "has no output channels";
  if (layer.kind == LayerKind::conv2d) {
    if (layer.in_channels != input.channels) {
      return fmt::format("takes {} channels, gets {}", layer.in_channels, input.channels);
    }
    if (layer.kernel < 1 || layer.kernel % 2 == 0) return "the kernel must be odd";
  }
  const int features = input.height * input.width * input.channels;
  if (layer.kind == LayerKind::linear && layer.in_channels != features) {
    return fmt::format("takes {} features, gets {}", layer.in_channels, features);
  }
  if (layer.kind == LayerKind::maxpool2d && (input.height < 2 || input.width < 2)) {
    return "its input is too small to pool";
  }
  return "";
}

void check_output(const Model& model, const Extent& output) {
  if (model.loss == Loss::cross_entropy) {
    if (model.classes >= 1 && model.classes <= 256 && output.height == 1 && output.width == 1 &&
        output.channels == model.classes) {
      return;
    }
    throw core::BadInput(fmt::format("model {}: the output is {}x{}x{}; {} classes (1 to 256) take 1x1x{}",
                                     model.name, output.height, output.width, output.channels, model.classes,
                                     model.classes));
  }
  if (output.height == model.height && output.width == model.width && output.channels == model.channels) {
    return;
  }
  throw core::BadInput(fmt::format("model {}: the output is {}x{}x{}, the input it reconstructs {}x{}x{}",
                                   model.name, output.height, output.width, output.channels, model.height,
                                   model.width, model.channels));
}

void check_head(const Model& model) {
  if (model.head_classes == 0) return;
  if (model.loss != Loss::mse) {
    throw core::BadInput(
        fmt::format("model {} classifies already: a joint objective takes a network that reconstructs; leave "
                    "joint at 0",
                    model.name));
  }
  if (model.head_classes >= 1 && model.head_classes <= 256) return;
  throw core::BadInput(
      fmt::format("model {}: a head tells 1 to 256 classes apart, not {}", model.name, model.head_classes));
}

}  // namespace

void Extent::pass(const Layer& layer) {
  switch (layer.kind) {
    case LayerKind::conv2d:
      channels = layer.out_channels;
      break;
    case LayerKind::linear:
      *this = {1, 1, layer.out_channels};
      break;
    case LayerKind::maxpool2d:
      height /= 2;
      width /= 2;
      break;
    case LayerKind::upsample2d:
      height *= 2;
      width *= 2;
      break;
    case LayerKind::relu:
      break;
  }
}

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
  Extent extent{model.height, model.width, model.channels};
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    if (layer.kind == LayerKind::conv2d) {
      add(layer.name + ".weight", {layer.out_channels, layer.kernel, layer.kernel, layer.in_channels}, i);
      add(layer.name + ".bias", {layer.out_channels}, i);
    } else if (layer.kind == LayerKind::linear) {
      add(layer.name + ".weight", {layer.out_channels, extent.height, extent.width, extent.channels}, i);
      layout.parameters.back().linear = true;
      add(layer.name + ".bias", {layer.out_channels}, i);
    }
    extent.pass(layer);
  }
  if (model.head_classes > 0) {
    const Extent latent = latent_of(model).extent;
    add(fmt::format("{}.weight", kHead), {model.head_classes, latent.height, latent.width, latent.channels},
        model.layers.size());
    layout.parameters.back().linear = true;
    add(fmt::format("{}.bias", kHead), {model.head_classes}, model.layers.size());
  }
  return layout;
}

std::string layer_of(const Model& model, const Parameter& parameter) {
  return parameter.layer < model.layers.size() ? model.layers[parameter.layer].name : std::string(kHead);
}

Model with_head(Model model, int classes) {
  model.head_classes = classes;
  return model;
}

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

void check_model(const Model& model) {
  Extent extent{model.height, model.width, model.channels};
  if (extent.height < 1 || extent.width < 1 || extent.channels < 1) {
    throw core::BadInput(fmt::format("model {} takes images of {}x{}x{}", model.name, model.height,
                                     model.width, model.channels));
  }
  if (parameter_layout(model).parameters.empty()) {
    throw core::BadInput(fmt::format("model {} has no layer to train", model.name));
  }
  std::set<std::string_view> names;
  for (const Layer& layer : model.layers) {
    const std::string why =
        names.insert(layer.name).second ? objection(layer, extent) : "an earlier layer has its name";
    if (!why.empty()) {
      throw core::BadInput(fmt::format("model {}, layer {}: {}", model.name, layer.name, why));
    }
    extent.pass(layer);
  }
  check_output(model, extent);
  check_head(model);
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
