#pragma once
// The shown images, or a person's own, as several networks reconstruct them: the same weights by other variants
// or in another precision, and other weights.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/types.h"
#include "gpu/data/own_images.h"
#include "gpu/messages/image_exchange.h"
#include "gpu/plan/selection.h"

namespace warpscope::training {

/// A network that reconstructs images. What is not said is as the training has it.
struct Reconstructor {
  std::optional<plan::Selection> selection;  ///< variants and precision
  std::optional<core::Precision> precision;  ///< of the training's selection; counts where there is no other
  std::string weights_file;                  ///< safetensors, a checkpoint for example

  bool operator==(const Reconstructor&) const = default;
};

struct ComparisonRequest {
  static constexpr std::size_t kMost = 4;      ///< reconstructors at once
  std::vector<Reconstructor> reconstructors;   ///< those beyond kMost are left out
  int count = 0;                               ///< the first so many test images
  std::shared_ptr<const data::OwnImages> own;  ///< are reconstructed instead, if there are any

  bool operator==(const ComparisonRequest&) const = default;
};

/// What one of them made of the images.
struct Reconstruction {
  std::string failure;        ///< why there are no pictures, in one sentence; "" if there are
  std::vector<float> values;  ///< (count, height, width, channels)
  std::vector<float> errors;  ///< mean squared error of each image
};

struct Comparison {
  ComparisonRequest request;
  std::uint64_t step = 0;        ///< steps done when they were made
  std::uint64_t generation = 0;  ///< Snapshot::generation
  std::uint64_t number = 0;      ///< 1 for the first, then 2, ...
  ImageShape shape;
  std::vector<float> original;                  ///< empty if nobody has made pictures
  std::vector<Reconstruction> reconstructions;  ///< one a reconstructor, in the order of the request
};

}  // namespace warpscope::training
