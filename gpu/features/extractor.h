#pragma once
// Runs images through the first layers of a network and leaves features of them in device memory.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/classifiers/features.h"
#include "gpu/core/device.h"
#include "gpu/data/dataset.h"
#include "gpu/features/feature_layers.h"
#include "gpu/ops/step/step.h"
#include "gpu/plan/plan.h"

namespace warpscope::features {

/// A set's images in device memory, in their order.
class DeviceImages {
 public:
  /// Throws core::OutOfMemory. Waits for the copy.
  DeviceImages(const data::ImageSet& set, const classifiers::Place& place);
  const std::uint8_t* pixels() const { return pixels_.as<const std::uint8_t>(); }
  const std::uint32_t* order() const { return order_.as<const std::uint32_t>(); }
  std::int64_t count() const { return count_; }

 private:
  std::int64_t count_ = 0;
  core::Buffer pixels_, order_;
};

class Extractor {
 public:
  /// `parameters` are in device memory, in models::ParameterLayout of `model`, and outlive the extractor, as the
  /// images do. Throws core::BadInput and core::OutOfMemory as plan::Plan does.
  Extractor(const models::Model& model, FeatureLayers layers, const plan::Selection& selection,
            const DeviceImages& images, const float* parameters, const classifiers::Place& place);

  /// The features of all images; waits for them. `rows` is (count, columns_of(layers)), FP32, in device memory. A
  /// layer's columns are in PyTorch's order, (C, H, W). Looks at `watch` between batches and throws
  /// classifiers::Cancelled.
  void extract(float* rows, const classifiers::Watch& watch = {});

  std::int64_t rows() const { return images_.count(); }
  int columns() const { return columns_of(layers_); }

 private:
  /// The plan of the layers that end at one place.
  struct Encoder {
    std::size_t end = 0;
    std::unique_ptr<plan::Plan> plan;
  };
  void collect_layer(const plan::Plan& plan, const FeatureLayer& layer, std::int64_t first,
                     std::int64_t first_column, float* rows) const;

  FeatureLayers layers_;
  const DeviceImages& images_;
  classifiers::Place place_;
  core::Buffer control_;
  core::HostBuffer controls_;  ///< one a batch
  std::vector<Encoder> encoders_;
};

/// All of the above in one: the features of a set, (count, columns_of(layers)), by a network whose parameters are in
/// host memory.
core::Buffer features_of(const data::ImageSet& set, const models::Model& model,
                         std::span<const float> parameters, const FeatureLayers& layers,
                         const plan::Selection& selection, const classifiers::Place& place,
                         const classifiers::Watch& watch = {});

}  // namespace warpscope::features
