#include "gpu/models/model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "gpu/core/parallel.h"
#include "gpu/core/random.h"
#include "gpu/files/utf8.h"
#include "gpu/models/latent.h"

namespace warpscope::models {
namespace {

constexpr std::size_t kAlignment = 64;

constexpr int kMostExtent = 4096;
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;

int characters_of(const Model& model) {
  return static_cast<int>(files::decode_utf8(model.alphabet).size());
}

/// Throws core::BadInput unless the alphabet of a network that takes texts can be one.
void check_text(const Model& model) {
  constexpr std::size_t kMostCharacters = 255;
  const std::vector<char32_t> points = files::decode_utf8(model.alphabet);
  const auto refuse = [&](const std::string& why) {
    throw core::BadInput(fmt::format("model {}: {}", model.name, why));
  };
  if (std::ranges::find(points, files::kBroken) != points.end()) refuse("the alphabet is not valid UTF-8");
  if (points.size() > kMostCharacters) {
    refuse(fmt::format("the alphabet has {} characters, {} are the most", points.size(), kMostCharacters));
  }
  for (auto point = points.begin(); point != points.end(); ++point) {
    if (std::find(points.begin(), point, *point) == point) continue;
    refuse(fmt::format("the alphabet has '{}' twice", files::encode_utf8(*point)));
  }
  if (model.height != 1 || model.channels != 1) refuse("texts are 1 x length x 1");
  if (model.loss != Loss::cross_entropy)
    refuse("a network that takes texts classifies; the loss is cross_entropy");
}

/// Images are not larger than fit.
bool is_possible(const Extent& extent) {
  return extent.height <= kMostExtent && extent.width <= kMostExtent && extent.elements() <= kMostElements;
}

/// Why an addition cannot stand at layer `at`, whose input is of `input`, or "".
std::string objection_to_addition(const Model& model, std::size_t at, const Extent& input) {
  const Layer& layer = model.layers[at];
  const std::size_t from = index_of(model, layer.from);
  if (from >= at) return fmt::format("adds the output of '{}', which is no earlier layer", layer.from);
  Extent added{model.height, model.width, model.channels};
  for (std::size_t i = 0; i <= from; ++i) added.pass(model.layers[i]);
  if (added == input) return "";
  return fmt::format("adds the output of '{}', which is {}, to {}", layer.from, to_string(added),
                     to_string(input));
}

/// Why layer `at` cannot follow what makes images of `input`, or "".
std::string objection(const Model& model, std::size_t at, const Extent& input) {
  const Layer& layer = model.layers[at];
  if (layer.kind == LayerKind::add) return objection_to_addition(model, at, input);
  if (layer.reads_symbols()) {
    if (at > 0) return "reads the characters of the input, so that it must be the first layer";
    const int characters = characters_of(model);
    if (layer.symbols < characters) {
      return fmt::format("tells {} character{} apart, but the alphabet has {}", layer.symbols,
                         layer.symbols == 1 ? "" : "s", characters);
    }
  }
  const LayerRow& row = row_of(layer.kind);
  const std::string why = row.objection == nullptr ? "" : row.objection(layer, input);
  if (!why.empty()) return why;
  Extent output = input;
  output.pass(layer);
  if (is_possible(output)) return "";
  return fmt::format("makes images of {}, more than fit", to_string(output));
}

/// Why a layer cannot be called so, or "".
std::string objection_to_name(const std::string& name) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  if (name.empty() || name.size() > 64 || !plain) return std::string(kLayerNames);
  if (name == kHead || name == "input" || name.starts_with("optimizer."))
    return "that name has a meaning already";
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

const Parameter& ParameterLayout::find(std::string_view name) const {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return parameter;
  }
  throw std::logic_error(fmt::format("no parameter is named {}", name));
}

ParameterLayout parameter_layout(const Model& model) {
  ParameterLayout layout;
  const auto add = [&](const std::string& owner, const LayerParameter& parameter, std::size_t layer) {
    std::size_t elements = 1;
    for (const int extent : parameter.shape) elements *= static_cast<std::size_t>(extent);
    layout.parameters.push_back({fmt::format("{}.{}", owner, parameter.name), parameter.shape,
                                 layout.elements, elements, layer, parameter.form, parameter.initial,
                                 parameter.learned});
    if (parameter.learned) layout.count += elements;
    layout.elements += (elements + kAlignment - 1) / kAlignment * kAlignment;
  };
  for (const bool learned : {false, true}) {
    Extent extent{model.height, model.width, model.channels};
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const Layer& layer = model.layers[i];
      if (has_parameters(layer)) {
        for (const LayerParameter& each : row_of(layer.kind).parameters(layer, extent)) {
          if (each.learned == learned) add(layer.name, each, i);
        }
      }
      extent.pass(layer);
    }
    if (!learned) layout.kept = layout.elements;
  }
  if (model.head_classes > 0) {
    const Extent latent = latent_of(model).extent;
    add(kHead,
        {.name = "weight",
         .shape = {model.head_classes, latent.height, latent.width, latent.channels},
         .form = ParameterForm::linear,
         .initial = Initial::he},
        model.layers.size());
    add(kHead, {.name = "bias", .shape = {model.head_classes}}, model.layers.size());
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

void fit_layers(Model& model) {
  Extent extent{model.height, model.width, model.channels};
  for (Layer& layer : model.layers) {
    if (layer.reads_symbols() && layer.symbols == 0) layer.symbols = characters_of(model);
    if (const LayerRow& row = row_of(layer.kind); row.fit != nullptr) row.fit(layer, extent);
    extent.pass(layer);
    if (!is_possible(extent)) return;  // check_model() refuses the layer; the next ones could overflow
  }
}

std::size_t index_of(const Model& model, std::string_view layer) {
  const auto found =
      std::ranges::find_if(model.layers, [&](const Layer& each) { return each.name == layer; });
  return static_cast<std::size_t>(found - model.layers.begin());
}

BadLayer::BadLayer(const Model& model, std::size_t at, const std::string& reason)
    : core::BadInput(fmt::format("model {}, layer {}: {}", model.name, model.layers[at].name, reason)),
      layer(at),
      why(reason) {}

void check_model(const Model& model) {
  Extent extent{model.height, model.width, model.channels};
  const bool fits = extent.height >= 1 && extent.width >= 1 && extent.channels >= 1 &&
                    extent.height <= kMostExtent && extent.width <= kMostExtent &&
                    extent.channels <= kMostExtent && extent.elements() <= kMostElements;
  if (!fits) throw core::BadInput(fmt::format("model {} takes images of {}", model.name, to_string(extent)));
  if (model.reads_text()) check_text(model);
  if (std::ranges::none_of(model.layers, has_parameters)) {
    throw core::BadInput(fmt::format("model {} has no layer to train", model.name));
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    std::string why = objection_to_name(layer.name);
    if (why.empty() && !names.insert(layer.name).second) why = "an earlier layer has its name";
    if (why.empty()) why = objection(model, i, extent);
    if (!why.empty()) throw BadLayer(model, i, why);
    extent.pass(layer);
  }
  check_output(model, extent);
  check_head(model);
}

std::vector<float> initial_parameters(const Model& model, std::uint64_t seed) {
  const ParameterLayout layout = parameter_layout(model);
  std::vector<float> values(layout.elements, 0.0f);
  for (const Parameter& parameter : layout.parameters) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(parameter.offset);
    if (parameter.initial == Initial::ones) {
      std::fill(begin, begin + static_cast<std::ptrdiff_t>(parameter.elements), 1.0f);
    }
    const bool he = parameter.initial == Initial::he;
    if (!he && parameter.initial != Initial::normal) continue;
    const int fan_in = he ? parameter.shape[1] * parameter.shape[2] * parameter.shape[3] : 0;
    const double deviation = he ? std::sqrt(2.0 / fan_in) : 1.0;
    const auto draw = [&](std::int64_t first, std::int64_t last) {
      for (std::size_t i = parameter.offset + first; i < parameter.offset + last; ++i) {
        const double radius = std::sqrt(-2.0 * std::log(core::random_unit(seed, 2 * i)));
        const double angle = 2.0 * std::numbers::pi * core::random_unit(seed, 2 * i + 1);
        values[i] = static_cast<float>(deviation * radius * std::cos(angle));
      }
    };
    core::parallel_for(static_cast<std::int64_t>(parameter.elements), 1 << 16, 0, draw);
  }
  return values;
}

}  // namespace warpscope::models
