#pragma once
// Which numbers of a network count as features of an image: outputs of its layers, whole or pooled.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/models/model.h"

namespace warpscope::features {

enum class Pooling : std::uint8_t { none, mean, max };

/// The output of layer `layer`, (H, W, C), or one number of each of side x side windows of equal size that cover it,
/// (side, side, C).
struct FeatureLayer {
  std::string layer;
  std::size_t end = 0;    ///< how many layers make it
  models::Extent extent;  ///< before pooling
  Pooling pooling = Pooling::none;
  int side = 0;  ///< with pooling

  int height() const { return pooling == Pooling::none ? extent.height : side; }
  int width() const { return pooling == Pooling::none ? extent.width : side; }
  int columns() const { return height() * width() * extent.channels; }
};

/// Side by side, in this order.
using FeatureLayers = std::vector<FeatureLayer>;

int columns_of(const FeatureLayers& layers);

/// Reads "pool2", "pool1:max=4" (max over each of 4 x 4 windows), "conv1:mean=4+pool2" (both); "" is the latent
/// (models::latent_of()). Throws core::BadInput that lists the layers, or the sides that divide a layer's height and
/// width, or names what is listed twice.
FeatureLayers parse_feature_layers(std::string_view text, const models::Model& model);

/// As it is read.
std::string to_string(const FeatureLayers& layers);

}  // namespace warpscope::features
