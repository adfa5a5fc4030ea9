#pragma once
// Batch norms as part of the layers before them, for inference, where their statistics stay: a pass over the images
// less for each.
//
//   w'[k, ...] = f[k] w[k, ...]     b'[k] = f[k] (b[k] - running_mean[k]) + beta[k]
//   f[k] = gamma[k] / sqrt(running_variance[k] + 1e-5)

#include <span>
#include <string>
#include <vector>

#include "gpu/models/model.h"

namespace warpscope::inference {

/// A batch norm that has become part of another layer.
struct FoldedNorm {
  std::string norm;
  std::string layer;  ///< the convolution or linear layer right before it
};

/// A network that makes the same output with fewer layers.
struct Folded {
  models::Model model;
  std::vector<float> parameters;  ///< models::ParameterLayout of `model`
  std::vector<FoldedNorm> norms;
};

/// Folds each batch norm whose input is read by nothing else and made by a layer that multiplies. A norm stays where a
/// weight would be greater than `most` in magnitude, which its precision may not hold, or not finite. `parameters`:
/// models::ParameterLayout of `model`. Computed in FP64.
Folded fold_norms(const models::Model& model, std::span<const float> parameters, double most);

}  // namespace warpscope::inference
