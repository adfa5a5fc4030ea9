#include "gpu/models/latent.h"

#include <algorithm>

#include <fmt/format.h>

namespace warpscope::models {
namespace {

/// Layers before the cut, and why it is there.
struct Cut {
  std::size_t end = 0;
  const char* reason = "";
};

/// Counted in layers from the front; 0 if there is none.
template <class Is>
std::size_t last_of(const Model& model, Is is) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (is(model.layers[i])) found = i + 1;
  }
  return found;
}

Cut cut(const Model& model) {
  if (model.loss == Loss::cross_entropy) {
    const std::size_t last =
        last_of(model, [](const Layer& layer) { return layer.kind == LayerKind::linear; });
    if (last > 1) return {last - 1, "the input of the last linear layer, which tells the classes apart"};
  } else if (const std::size_t pooled = last_of(model, [](const Layer& layer) { return layer.pools(); });
             pooled > 0) {
    return {pooled, "the output of the last pooling: the encoder ends there"};
  }
  return {std::max<std::size_t>(1, model.layers.size() / 2), "the output of the middle layer"};
}

/// A layer from `end` on adds the output of one before it, so that the latent by itself does not make a picture.
bool reaches_back(const Model& model, std::size_t end) {
  return std::any_of(
      model.layers.begin() + static_cast<std::ptrdiff_t>(end), model.layers.end(),
      [&](const Layer& layer) { return !layer.from.empty() && index_of(model, layer.from) < end; });
}

}  // namespace

Latent latent_of(const Model& model) {
  const Cut where = cut(model);
  Latent latent;
  latent.end = where.end;
  latent.extent = {model.height, model.width, model.channels};
  for (std::size_t i = 0; i < where.end; ++i) latent.extent.pass(model.layers[i]);
  latent.decodes =
      model.loss == Loss::mse && where.end < model.layers.size() && !reaches_back(model, where.end);
  latent.layer = model.layers[where.end - 1].name;
  latent.reason = fmt::format("{}: {}", latent.layer, where.reason);
  return latent;
}

Model first_layers(Model model, std::size_t end) {
  model.layers.resize(std::min(end, model.layers.size()));
  model.head_classes = 0;
  return model;
}

}  // namespace warpscope::models
