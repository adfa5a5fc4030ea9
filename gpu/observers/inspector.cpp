// Shows what is inside the network for one test image.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/messages/inspection.h"
#include "gpu/observers/held_out_batches.h"
#include "gpu/observers/host_copies.h"
#include "gpu/observers/look.h"
#include "gpu/observers/observer_table.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;

/// Runs one test image through a plan that keeps every layer's output, and brings all of it to the host.
class InspectionPass {
 public:
  /// What is asked for.
  struct Asked {
    std::int64_t image = 0;
    std::size_t parameters_of = 0;  ///< ObservationRequest::inspected_parameters
    bool operator==(const Asked&) const = default;
  };
  explicit InspectionPass(const Scene& scene)
      : plan_(scene, scene.model, plan::Purpose::inspection, 1, 1),
        layout_(models::parameter_layout(scene.model)),
        control_(scene.device, sizeof(StepControl)) {
    const models::Model& model = scene.model;
    models::Extent extent{model.height, model.width, model.channels};
    add(plan_.plan().input(), {"input", extent.height, extent.width, extent.channels, {}});
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      extent.pass(model.layers[i]);
      add(plan_.plan().output(i), {model.layers[i].name, extent.height, extent.width, extent.channels, {}});
    }
    outputs_ = core::HostBuffer(scene.device, bytes_);
    std::size_t most = 0;
    for (std::size_t i = 1; i <= model.layers.size(); ++i) most = std::max(most, parameters_of(i).count);
    parameters_ = core::HostBuffer(scene.device, most * sizeof(float));
    gradients_ = core::HostBuffer(scene.device, most * sizeof(float));
  }

  bool fits(const Scene& scene) const { return plan_.selection() == scene.selection; }
  /// All outputs of the image, and the parameters of the layer that makes one of them. Throws core::BadInput if there
  /// is no such test image.
  void enqueue(const Scene& scene, const Asked& asked) {
    const std::int64_t image = asked.image;
    if (image < 0 || image >= scene.data.test.count) {
      throw core::BadInput(
          fmt::format("there is no test image {}; there are {}, from 0", image, scene.data.test.count));
    }
    plan_.launch(scene.stream, 0, static_cast<std::size_t>(image));
    for (const Piece& piece : pieces_) {
      scene.stream.copy(outputs_.as<std::byte>() + piece.offset, piece.tensor.data, piece.tensor.bytes());
    }
    of_layer_ = parameters_of(asked.parameters_of);
    if (const std::size_t bytes = of_layer_.count * sizeof(float); bytes > 0) {
      scene.stream.copy(parameters_.data(), scene.parameters.as<const float>() + of_layer_.first, bytes);
      scene.stream.copy(gradients_.data(), scene.gradients.as<const float>() + of_layer_.first, bytes);
    }
    what_ = Inspection{};
    what_.first = of_layer_.first;
    scene.stream.copy(control_.data(), scene.control, sizeof(StepControl));
    what_.step = scene.step;
    what_.generation = scene.generation;
    what_.image = image;
    what_.precision = scene.selection.precision;
    has_gradients_ = scene.has_gradients;
  }

  Inspection made() const {
    Inspection result = what_;
    for (const Piece& piece : pieces_) {
      const std::byte* const from = outputs_.as<const std::byte>() + piece.offset;
      result.outputs.push_back(piece.shape);
      result.outputs.back().values = widened({from, piece.tensor.bytes()}, piece.tensor.type);
    }
    const auto* const parameters = parameters_.as<const float>();
    result.parameters.assign(parameters, parameters + of_layer_.count);
    if (!has_gradients_) return result;
    const auto* const gradients = gradients_.as<const float>();
    result.gradients.assign(gradients, gradients + of_layer_.count);
    const float scale = control_.as<const StepControl>()->gradient_scale;
    if (scale != 1.0f) {
      for (float& gradient : result.gradients) gradient /= scale;
    }
    return result;
  }

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
  };
  void add(const plan::WrittenTensor& tensor, const LayerOutput& shape) {
    pieces_.push_back({tensor, shape, bytes_});
    bytes_ += core::aligned(pieces_.back().tensor.bytes());
  }
  /// A part of models::ParameterLayout.
  struct Range {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  /// The tensors of the layer that makes that output, which lie side by side but for what no optimizer may touch.
  Range parameters_of(std::size_t output) const {
    std::size_t begin = layout_.elements, end = 0;
    for (const models::Parameter& tensor : layout_.parameters) {
      if (tensor.layer + 1 != output || !tensor.learned) continue;
      begin = std::min(begin, tensor.offset);
      end = std::max(end, tensor.offset + tensor.elements);
    }
    begin = std::min(begin, end);
    return {begin, end - begin};
  }

  HeldOutPlan plan_;
  std::vector<Piece> pieces_;  ///< what is copied for each inspection, one after the other in `outputs_`
  std::size_t bytes_ = 0;
  models::ParameterLayout layout_;
  core::HostBuffer outputs_, control_;
  core::HostBuffer parameters_, gradients_;  ///< with room for those of any one layer
  Range of_layer_;                           ///< what is in them
  Inspection what_;                          ///< without values
  bool has_gradients_ = false;               ///< they are those of its step
};

/// Observations::inspection of ObservationRequest::inspected_image.
using Inspector = AskedObserver<&Observations::inspection, InspectionPass>;

}  // namespace

std::unique_ptr<Observer> make_inspector() {
  return std::make_unique<Inspector>();
}

}  // namespace warpscope::training
