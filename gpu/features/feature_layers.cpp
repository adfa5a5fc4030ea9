#include "gpu/features/feature_layers.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/models/latent.h"

namespace warpscope::features {
namespace {

/// The layer named so, with its extent.
FeatureLayer find_layer(std::string_view name, const models::Model& model) {
  FeatureLayer found;
  found.extent = {model.height, model.width, model.channels};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    found.extent.pass(model.layers[i]);
    names.push_back(model.layers[i].name);
    if (names.back() != name) continue;
    found.layer = names.back();
    found.end = i + 1;
    return found;
  }
  throw core::BadInput(fmt::format("features: model {} has no layer '{}'; its layers: {}", model.name, name,
                                   fmt::join(names, ", ")));
}

std::vector<int> sides_of(const models::Extent& extent) {
  std::vector<int> sides;
  for (int side = 1; side <= std::min(extent.height, extent.width); ++side) {
    if (extent.height % side == 0 && extent.width % side == 0) sides.push_back(side);
  }
  return sides;
}

/// "max=4" or "mean=4".
void read_pooling(std::string_view text, FeatureLayer& layer) {
  const std::size_t equals = text.find('=');
  const std::string_view kind = text.substr(0, equals);
  const std::string_view digits = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  const std::vector<int> sides = sides_of(layer.extent);
  layer.side = files::number_in<int>(digits).value_or(0);
  if ((kind != "max" && kind != "mean") || std::ranges::find(sides, layer.side) == sides.end()) {
    throw core::BadInput(fmt::format(
        "features: '{}' does not pool {}, which is {} x {}; valid: max=S and mean=S with S one of {}", text,
        layer.layer, layer.extent.height, layer.extent.width, fmt::join(sides, ", ")));
  }
  layer.pooling = kind == "max" ? Pooling::max : Pooling::mean;
}

}  // namespace

int columns_of(const FeatureLayers& layers) {
  int columns = 0;
  for (const FeatureLayer& layer : layers) columns += layer.columns();
  return columns;
}

FeatureLayers parse_feature_layers(std::string_view text, const models::Model& model) {
  if (text.empty()) return {find_layer(models::latent_of(model).layer, model)};
  FeatureLayers layers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t colon = part.find(':');
    layers.push_back(find_layer(part.substr(0, colon), model));
    if (colon != std::string_view::npos) read_pooling(part.substr(colon + 1), layers.back());
    const std::string added = to_string({layers.back()});
    if (std::ranges::any_of(layers.begin(), layers.end() - 1,
                            [&](const FeatureLayer& before) { return to_string({before}) == added; }))
      throw core::BadInput(fmt::format("features: {} is named twice; give it once", added));
    begin = end + 1;
  }
  return layers;
}

std::string to_string(const FeatureLayers& layers) {
  std::vector<std::string> parts;
  for (const FeatureLayer& layer : layers) {
    const char* const kind = layer.pooling == Pooling::max ? "max" : "mean";
    parts.push_back(layer.pooling == Pooling::none ? layer.layer
                                                   : fmt::format("{}:{}={}", layer.layer, kind, layer.side));
  }
  return fmt::format("{}", fmt::join(parts, "+"));
}

}  // namespace warpscope::features
