#pragma once
// Looks into networks with random weights, computed in double precision.

#include <cstdint>
#include <vector>

#include "gpu/core/random.h"
#include "gpu/messages/inspection.h"
#include "tests/support/double_network.h"

namespace warpscope::tests {

/// Random weights, biases, gradients and image; the outputs that follow from them.
inline training::Inspection inspection_of(const models::Model& model, std::uint64_t seed) {
  const models::ParameterLayout layout = models::parameter_layout(model);
  training::Inspection made;
  made.number = seed;
  std::uint64_t drawn = 0;
  const auto draw = [&] { return static_cast<float>(core::random_unit(seed, drawn++) - 0.4); };
  for (std::size_t i = 0; i < layout.elements; ++i) made.parameters.push_back(draw());
  for (std::size_t i = 0; i < layout.elements; ++i) made.gradients.push_back(draw());
  std::vector<double> image;
  for (int i = 0; i < model.height * model.width * model.channels; ++i)
    image.push_back(static_cast<double>(draw()));
  const std::vector<double> parameters(made.parameters.begin(), made.parameters.end());
  const auto outputs = DoubleNetwork(model).outputs(parameters, image);
  models::Extent extent{model.height, model.width, model.channels};
  made.outputs.push_back(
      {"input", extent.height, extent.width, extent.channels, {image.begin(), image.end()}});
  for (std::size_t n = 0; n < model.layers.size(); ++n) {
    const models::Layer& layer = model.layers[n];
    extent.pass(layer);
    made.outputs.push_back(
        {layer.name, extent.height, extent.width, extent.channels, {outputs[n].begin(), outputs[n].end()}});
  }
  return made;
}

}  // namespace warpscope::tests
