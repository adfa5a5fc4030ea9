#pragma once
// Networks and data of short texts for tests that train.

#include <string>

#include "gpu/data/set_kinds.h"
#include "gpu/models/model.h"

namespace warpscope::tests {

/// 40 characters of 27, one-hot or as rows of 6 numbers; conv 5 wide, ReLU, pooling in threes, mean, linear; 4 classes.
inline models::Model tiny_text_model(models::LayerKind first = models::LayerKind::one_hot) {
  using enum models::LayerKind;
  models::Layer convolution{conv1d, "conv1", 0, 24, 5};
  convolution.valid = true;
  models::Model model{"tiny text",
                      1,
                      40,
                      1,
                      {{first, "first"},
                       convolution,
                       {relu, "relu1"},
                       {maxpool1d, "pool1", 0, 0, 3},
                       {conv1d, "conv2", 0, 16, 3},
                       {relu, "relu2"},
                       {global_average_pool, "average1"},
                       {linear, "fc1", 0, 4}},
                      models::Loss::cross_entropy,
                      4,
                      0,
                      "abcdefghijklmnopqrstuvwxyz "};
  if (first == embedding) model.layers.front().out_channels = 6;
  models::fit_layers(model);
  return model;
}

inline data::DataSet tiny_text_data(std::int64_t train = 800, std::int64_t test = 200) {
  const models::Model model = tiny_text_model();
  return data::make_sentences({{1, model.width, 1}, model.classes, model.name, model.alphabet}, train, test);
}

}  // namespace warpscope::tests
