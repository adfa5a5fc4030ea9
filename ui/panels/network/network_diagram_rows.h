#pragma once
// A network as a diagram: a row a layer with what it costs in a training step, and which layers others add. No drawing
// here.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gpu/messages/snapshot.h"
#include "gpu/models/model.h"
#include "ui/panels/kernels/memory_panel.h"

namespace warpscope::ui {

/// The time that a step spends in a layer. A call that covers ops of several layers counts to that of its own op.
struct LayerTime {
  double microseconds = 0;       ///< of all of its calls; 0 as long as one of them has no time
  bool covered = false;          ///< all of its ops lie in calls of other layers: it has no time of its own
  std::vector<std::string> ops;  ///< of its own calls, in launch order
  std::vector<std::string> inside;  ///< other layers some of whose ops its calls cover
  std::vector<std::string> within;  ///< other layers whose calls cover some of its ops
};

/// The times of a step by layer.
struct StepTimes {
  std::vector<LayerTime> layers;  ///< one a layer of the model
  LayerTime head;                 ///< of a head on the latents
  LayerTime rest;                 ///< of what belongs to no layer: images, loss, update
  double microseconds = 0;        ///< of the whole step; 0 as long as one call has no time
};
StepTimes step_times(const models::Model& model, const std::vector<training::OpTiming>& timings);

/// What a row of the diagram stands for.
enum class DiagramPart : unsigned char { input, layer, head, rest, total };

/// What does not change from step to step. Nothing where a figure is not known.
struct DiagramRow {
  DiagramPart part = DiagramPart::layer;
  std::string name;
  std::string kind;                      ///< "conv2d"; "" of what is no layer
  std::size_t output = 0;                ///< of the input and of layers: counts in Cursor::output
  std::optional<models::Extent> extent;  ///< of its output
  std::optional<std::size_t> parameters;
  std::optional<double> flops;       ///< floating-point operations of a training step, forward and backward
  std::optional<std::size_t> kept;   ///< bytes of what its forward pass writes and its backward pass reads
  std::vector<std::string> tensors;  ///< behind `kept`: "conv1", "conv1, relu1" of those that share memory
  std::string
      shares;  ///< the earlier layer in whose memory its output lies, where that counts; "" if it has its own
};

/// A layer whose output a later one adds: the two rows, and the lane of the line between them, 0 beside the layers.
struct DiagramLink {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t lane = 0;
};

struct Diagram {
  std::vector<DiagramRow>
      rows;  ///< input, layers, head if there is one, what belongs to no layer, the whole step
  std::vector<DiagramLink> links;
  std::size_t lanes = 0;
};

/// `scene`: of the training step; a batch of 0 stands for one that is not known yet.
Diagram diagram_of(const models::Model& model, const core::DeviceInfo& device, const MemoryScene& scene);

/// The time of a row of the diagram; nullptr of the input and of the whole step.
const LayerTime* time_of(const StepTimes& times, const DiagramRow& row);

/// What stands in place of a number, or behind it, about a layer's time: what covers it and what it covers.
std::string time_tip(const LayerTime& time);

/// The bytes of a row of the diagram, of which tensors they are, and whether more than one layer has used them.
std::string kept_tip(const DiagramRow& row);

}  // namespace warpscope::ui
