#pragma once
// A classifier and labelled images small enough for tests that train.

#include <cstdint>
#include <vector>

#include "tests/support/tiny.h"

namespace warpscope::tests {

/// 8x8x3, conv 3-4, ReLU, pool, linear 64-6, ReLU, linear 6-3; three classes.
inline models::Model tiny_classifier() {
  using enum models::LayerKind;
  return {"tiny classifier",
          8,
          8,
          3,
          {{conv2d, "conv1", 3, 4, 3},
           {relu, "relu1"},
           {maxpool2d, "pool1", 0, 0, 2},
           {linear, "fc1", 64, 6},
           {relu, "relu2"},
           {linear, "fc2", 6, 3}},
          models::Loss::cross_entropy,
          3};
}

/// Noise with a bright patch whose row tells the class.
inline data::ImageSet labelled_images(std::int64_t count, std::uint64_t seed) {
  data::ImageSet set{8, 8, 3, count, {}, {}};
  std::uint64_t drawn = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::uint8_t>(core::random_bits(seed, drawn++) % 3);
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8 * 3; ++x) {
        const auto noise = core::random_bits(seed, drawn++) % 100;
        const bool bright = y >= 2 * label && y < 2 * label + 3;
        set.pixels.push_back(static_cast<std::uint8_t>(noise + (bright ? 120 : 0)));
      }
    }
    set.labels.push_back(label);
  }
  return set;
}

inline data::DataSet labelled_data(std::int64_t train, std::int64_t test) {
  data::DataSet data;
  data.name = "tiny patches";
  data.source = "built in";
  data.classes = {"top", "middle", "bottom"};
  data.train = labelled_images(train, 17);
  data.test = labelled_images(test, 18);
  return data;
}

}  // namespace warpscope::tests
