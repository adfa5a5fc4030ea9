#pragma once
// A network and a data set small enough for tests that train.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "gpu/core/random.h"
#include "gpu/data/dataset.h"
#include "gpu/models/model.h"

namespace warpscope::tests {

/// Every kind of layer in one small chain: 8x8x3, conv 3-4, pool, conv 4-5, up, conv 5-3; 435 parameters.
inline models::Model tiny_model() {
  using enum models::LayerKind;
  return {"tiny",
          8,
          8,
          3,
          {{conv2d, "conv1", 3, 4, 3},
           {relu, "relu1"},
           {maxpool2d, "pool1", 0, 0, 2},
           {conv2d, "conv2", 4, 5, 3},
           {relu, "relu2"},
           {upsample2d, "up2"},
           {conv2d, "conv3", 5, 3, 3}}};
}

/// Smooth waves of random direction, phase and colour.
inline data::ImageSet smooth_images(std::int64_t count, std::uint64_t seed) {
  data::ImageSet set{8, 8, 3, count, {}, {}};
  std::uint64_t drawn = 0;
  const auto unit = [&] { return core::random_unit(seed, drawn++); };
  for (std::int64_t i = 0; i < count; ++i) {
    const double down = unit() - 0.5;
    const double right = unit() - 0.5;
    const double phase = 2.0 * std::numbers::pi * unit();
    const double colour[3] = {unit(), unit(), unit()};
    for (int y = 0; y < set.height; ++y) {
      for (int x = 0; x < set.width; ++x) {
        const double wave = 0.5 + 0.5 * std::sin(phase + down * y + right * x);
        for (const double share : colour)
          set.pixels.push_back(static_cast<std::uint8_t>(255.0 * share * wave));
      }
    }
    set.labels.push_back(0);
  }
  return set;
}

inline data::DataSet tiny_data(std::int64_t train = 40, std::int64_t test = 12) {
  return {"tiny waves", "built in", {"wave"}, smooth_images(train, 7), {}, smooth_images(test, 8)};
}

}  // namespace warpscope::tests
