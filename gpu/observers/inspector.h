#pragma once
// Shows what is inside the network for one test image.

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/messages/inspection.h"
#include "gpu/observers/held_out_batches.h"
#include "gpu/observers/look.h"

namespace warpscope::training {

/// Runs one test image through a plan that keeps every layer's output, and brings all of it to the host.
class InspectionPass {
 public:
  /// What is asked for.
  struct Asked {
    std::int64_t image = 0;
    std::size_t parameters_of = 0;  ///< ObservationRequest::inspected_parameters
    bool operator==(const Asked&) const = default;
  };
  explicit InspectionPass(const Scene& scene);

  bool fits(const Scene& scene) const { return plan_.selection() == scene.selection; }
  /// All outputs of the image, and the parameters of the layer that makes one of them. Throws core::BadInput if there
  /// is no such test image.
  void enqueue(const Scene& scene, const Asked& asked);
  Inspection made() const;

  static constexpr double kShare = 1.0 / 60;
  static std::optional<Asked> asked(const ObservationRequest& request) {
    if (!request.inspected_image) return std::nullopt;
    return Asked{*request.inspected_image, request.inspected_parameters};
  }
  static bool shows(const Asked& before, const Asked& now) { return before.image == now.image; }

 private:
  struct Piece {
    plan::WrittenTensor tensor;
    LayerOutput shape;  ///< without values
    std::size_t offset = 0;
    std::size_t bytes() const {
      return static_cast<std::size_t>(tensor.elements) * core::size_of(tensor.type);
    }
  };
  void add(const plan::WrittenTensor& tensor, const LayerOutput& shape);
  /// A part of models::ParameterLayout.
  struct Range {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  /// The tensors of the layer that makes that output, which lie side by side but for what no optimizer may touch.
  Range parameters_of(std::size_t output) const;

  HeldOutPlan plan_;
  std::vector<Piece> pieces_;  ///< what is copied for each inspection, one after the other in `outputs_`
  std::size_t bytes_ = 0;
  models::ParameterLayout layout_;
  core::HostBuffer outputs_, control_;
  core::HostBuffer parameters_, gradients_;  ///< with room for those of any one layer
  Range of_layer_;                           ///< what is in them
  Inspection what_;                          ///< without values
};

/// Observations::inspection of ObservationRequest::inspected_image.
using Inspector = AskedObserver<&Observations::inspection, InspectionPass>;

}  // namespace warpscope::training
