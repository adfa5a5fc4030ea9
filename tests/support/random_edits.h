#pragma once
// Edits of a network at random, as a person makes them in a window: most of them can be, some cannot.

#include <cstddef>
#include <string>

#include "tests/support/random_model.h"

namespace warpscope::tests {

/// One layer of `model` is made larger or smaller, gets another kernel, goes, or has a new one before it. Names that no
/// layer had before carry `number`. The numbers that follow from the layers before are filled in; whether the result
/// can be is another question.
inline models::Model random_edit(Dice& dice, models::Model model, int number) {
  using enum models::LayerKind;
  const auto at = static_cast<std::size_t>(throw_dice(dice, 0, static_cast<int>(model.layers.size()) - 1));
  models::Layer& layer = model.layers[at];
  const int what = throw_dice(dice, 0, 3);
  if (what == 0) {
    const auto rows = models::layer_rows();
    const auto row = static_cast<std::size_t>(throw_dice(dice, 0, static_cast<int>(rows.size()) - 1));
    models::Model before = model;
    before.layers.resize(at);
    models::Layer added = random_layer(dice, rows[row], before);
    added.name += "_" + std::to_string(number);
    model.layers.insert(model.layers.begin() + static_cast<std::ptrdiff_t>(at), std::move(added));
  } else if (what == 1) {
    model.layers.erase(model.layers.begin() + static_cast<std::ptrdiff_t>(at));
  } else {
    for (const models::LayerField& field : models::row_of(layer.kind).fields) {
      if (field.number == nullptr || throw_dice(dice, 0, 1) == 0) continue;
      const int value = layer.*field.number + (field.odd ? 2 : 1) * throw_dice(dice, -2, 3);
      layer.*field.number = std::clamp(value, static_cast<int>(field.least), static_cast<int>(field.most));
    }
  }
  models::fit_layers(model);
  return model;
}

}  // namespace warpscope::tests
