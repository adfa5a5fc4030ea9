#include "gpu/inference/folding.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "gpu/ops/normalization.h"

namespace warpscope::inference {
namespace {

using models::Layer;
using models::Model;

using Factors = std::vector<double>;

/// The parameters of a network by their names.
template <class Number>
class Named {
 public:
  Named(const Model& model, std::span<Number> numbers)
      : layout_(models::parameter_layout(model)), numbers_(numbers) {}

  const models::ParameterLayout& layout() const { return layout_; }
  std::span<Number> operator[](const std::string& name) const {
    const models::Parameter& place = layout_.find(name);
    return numbers_.subspan(place.offset, place.elements);
  }

 private:
  models::ParameterLayout layout_;
  std::span<Number> numbers_;
};

/// f of each output of `layer`; none where the norm has to stay.
std::optional<Factors> factors_of(const Named<const float>& values, const std::string& norm,
                                  const std::string& layer, double most) {
  const auto scale = values[norm + ".weight"], variance = values[norm + ".running_var"],
             weights = values[layer + ".weight"];
  Factors factors(scale.size());
  const std::size_t row = weights.size() / factors.size();
  for (std::size_t k = 0; k < factors.size(); ++k) {
    factors[k] = double{scale[k]} * ops::reciprocal_deviation(double{variance[k]});
    const auto fits = [&](float weight) { return std::abs(factors[k] * double{weight}) <= most; };
    if (!std::ranges::all_of(weights.subspan(k * row, row), fits)) return std::nullopt;
  }
  return factors;
}

/// `layer` of `model` may become part of the last one of `layers`.
bool may_fold(const Model& model, const Layer& layer, const std::vector<Layer>& layers,
              const std::vector<FoldedNorm>& norms) {
  if (layer.kind != models::LayerKind::batch_norm || layers.empty() || !layers.back().multiplies())
    return false;
  const std::string& before = layers.back().name;
  if (!norms.empty() && norms.back().layer == before) return false;
  return std::ranges::none_of(model.layers, [&](const Layer& each) { return each.from == before; });
}

/// The layers that are left, and the factors of each norm of `folded.norms`.
std::vector<Factors> fold_layers(const Model& model, const Named<const float>& values, double most,
                                 Folded& folded) {
  std::vector<Layer>& layers = folded.model.layers;
  std::vector<Factors> factors;
  for (const Layer& layer : model.layers) {
    std::optional<Factors> found;
    if (may_fold(model, layer, layers, folded.norms))
      found = factors_of(values, layer.name, layers.back().name, most);
    if (!found) {
      layers.push_back(layer);
      continue;
    }
    layers.back().bias = true;
    folded.norms.push_back({layer.name, layers.back().name});
    factors.push_back(std::move(*found));
  }
  for (Layer& layer : layers) {
    const auto norm = std::ranges::find(folded.norms, layer.from, &FoldedNorm::norm);
    if (norm != folded.norms.end()) layer.from = norm->layer;
  }
  return factors;
}

}  // namespace

Folded fold_norms(const Model& model, std::span<const float> parameters, double most) {
  const Named<const float> before(model, parameters);
  Folded folded{model, {}, {}};
  folded.model.layers.clear();
  const std::vector<Factors> factors = fold_layers(model, before, most, folded);
  folded.parameters.assign(models::parameter_layout(folded.model).elements, 0.0F);
  const Named<float> after(folded.model, folded.parameters);
  for (const models::Parameter& each : after.layout().parameters) {
    const std::string layer = models::layer_of(folded.model, each);
    if (std::ranges::find(folded.norms, layer, &FoldedNorm::layer) == folded.norms.end())
      std::ranges::copy(before[each.name], after[each.name].begin());
  }
  for (std::size_t i = 0; i < folded.norms.size(); ++i) {
    const auto& [norm, layer] = folded.norms[i];
    const Factors& factor = factors[i];
    const auto weights = before[layer + ".weight"], mean = before[norm + ".running_mean"],
               shift = before[norm + ".bias"];
    const auto scaled = after[layer + ".weight"], shifted = after[layer + ".bias"];
    const bool has_bias = model.layers[models::index_of(model, layer)].bias;
    const std::size_t row = weights.size() / factor.size();
    for (std::size_t e = 0; e < weights.size(); ++e)
      scaled[e] = static_cast<float>(factor[e / row] * double{weights[e]});
    for (std::size_t k = 0; k < factor.size(); ++k) {
      const double bias = has_bias ? before[layer + ".bias"][k] : 0;
      shifted[k] = static_cast<float>(factor[k] * (bias - double{mean[k]}) + double{shift[k]});
    }
  }
  return folded;
}

}  // namespace warpscope::inference
