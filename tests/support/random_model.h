#pragma once
// Networks at random, of every kind of layer in the table: what general code must take.

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gpu/core/error.h"
#include "gpu/models/model.h"

namespace warpscope::tests {

using Dice = std::mt19937_64;

inline int throw_dice(Dice& dice, int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(dice);
}

/// A layer of `row` with small numbers in its fields; an addition adds the output of some layer of `model`.
inline models::Layer random_layer(Dice& dice, const models::LayerRow& row, const models::Model& model) {
  constexpr int kLargest = 5;
  models::Layer layer;
  layer.kind = row.kind;
  layer.name = std::string(row.prefix) + std::to_string(model.layers.size() + 1);
  for (const models::LayerField& field : row.fields) {
    if (field.number != nullptr) {
      int value =
          throw_dice(dice, static_cast<int>(field.least), std::min(static_cast<int>(field.most), kLargest));
      if (field.odd && value % 2 == 0) --value;
      layer.*field.number = value;
    }
    if (field.real != nullptr) layer.*field.real = static_cast<float>(throw_dice(dice, 0, 9)) / 10;
    if (field.flag != nullptr) layer.*field.flag = throw_dice(dice, 0, 1) == 1;
    if (field.text != nullptr && !model.layers.empty()) {
      const int from = throw_dice(dice, 0, static_cast<int>(model.layers.size()) - 1);
      layer.*field.text = model.layers[static_cast<std::size_t>(from)].name;
    }
  }
  // As many as bytes, so that some are told apart.
  if (layer.reads_symbols()) layer.symbols = throw_dice(dice, 100, 255);
  return layer;
}

inline bool fits(const models::Model& model) {
  try {
    models::check_model(model);
    return true;
  } catch (const core::BadInput&) {
    return false;
  }
}

/// A classifier of three classes that ends with a linear layer, on images of at most 9 x 9.
inline models::Model random_model(std::uint64_t seed) {
  Dice dice(seed);
  models::Model model;
  model.name = "random" + std::to_string(seed);
  model.height = throw_dice(dice, 0, 2) == 0 ? 1 : throw_dice(dice, 2, 9);  // one dimension too
  model.width = throw_dice(dice, 1, 9);
  model.channels = throw_dice(dice, 1, 4);
  model.loss = models::Loss::cross_entropy;
  model.classes = 3;
  const auto ended = [](models::Model beginning) {
    beginning.layers.push_back({models::LayerKind::linear, "last", 0, beginning.classes});
    models::fit_layers(beginning);
    return beginning;
  };
  if (throw_dice(dice, 0, 3) == 0) {  // the first layer reads bytes
    model.channels = 1;
    const auto* const row = models::find_layer_row(throw_dice(dice, 0, 1) == 0 ? "one_hot" : "embedding");
    model.layers.push_back(random_layer(dice, *row, model));
  }
  const int layers = throw_dice(dice, 1, 7);
  for (int tried = 0; tried < 100 && static_cast<int>(model.layers.size()) < layers; ++tried) {
    const auto rows = models::layer_rows();
    const auto chosen = static_cast<std::size_t>(throw_dice(dice, 0, static_cast<int>(rows.size()) - 1));
    models::Model longer = model;
    longer.layers.push_back(random_layer(dice, rows[chosen], model));
    if (fits(ended(longer))) model = std::move(longer);
  }
  return ended(std::move(model));
}

/// Seeds of random networks: 1 to `count`, and further ones for kinds of layers that those lack.
inline std::vector<std::uint64_t> random_seeds(std::uint64_t count) {
  constexpr std::uint64_t kLast = 2000;  // a kind that is in none by then fits nowhere
  std::set<models::LayerKind> kinds;
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= kLast && (seed <= count || kinds.size() < models::layer_rows().size());
       ++seed) {
    const std::size_t before = kinds.size();
    for (const models::Layer& layer : random_model(seed).layers) kinds.insert(layer.kind);
    if (seed <= count || kinds.size() > before) seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace warpscope::tests
