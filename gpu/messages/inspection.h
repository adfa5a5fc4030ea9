#pragma once
// What is inside the network for one image: every layer's output, one layer's weights and their gradients.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/core/types.h"
#include "gpu/models/model.h"

namespace warpscope::training {

/// What one layer made of the image: (height, width, channels) values, row by row, as they are in the
/// precision of the training, widened to FP32. Linear layers have a height and a width of 1.
struct LayerOutput {
  std::string layer;  ///< "conv1", "relu1"; "input" of the image itself
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<float> values;

  float at(int y, int x, int channel) const {
    const auto row =
        static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
    return values[row * static_cast<std::size_t>(channels) + static_cast<std::size_t>(channel)];
  }
};

/// One image's way through the network after a step.
struct Inspection {
  std::uint64_t step = 0;
  std::uint64_t generation = 0;  ///< Snapshot::generation
  std::uint64_t number = 0;      ///< 1 for the first, then 2, ...
  std::int64_t image = 0;        ///< of the test images
  core::Precision precision = core::Precision::fp32;
  std::vector<LayerOutput> outputs;  ///< the input, then one a layer of the model
  /// Parameters of the layer that was asked for, from the place `first` of models::ParameterLayout on.
  std::size_t first = 0;
  std::vector<float> parameters;  ///< master weights
  /// Those of the last step, before clipping and without the loss scale; none where the training came to this step
  /// without making it: by a rewind to a moment, a reset, a resume.
  std::vector<float> gradients;

  bool has(const models::Parameter& tensor) const {
    return tensor.offset >= first && tensor.offset + tensor.elements <= first + parameters.size();
  }
  const float* parameter(const models::Parameter& tensor) const {
    return parameters.data() + (tensor.offset - first);
  }
  bool has_gradients() const { return !gradients.empty(); }
  /// Only with has_gradients().
  const float* gradient(const models::Parameter& tensor) const {
    return gradients.data() + (tensor.offset - first);
  }
};

}  // namespace warpscope::training
