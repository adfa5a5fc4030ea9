#pragma once
// What a network is made of, in figures: sizes, parameters and floating-point operations of each layer, and the memory
// of a training step, all known without running it.

#include <cstddef>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/models/model.h"
#include "gpu/plan/selection.h"

namespace warpscope::plan {

/// One layer.
struct LayerFigures {
  models::Extent input, output;
  std::size_t parameters = 0;
  double forward_flops = 0;  ///< of one image, as the formulas of its ops say
  double step_flops = 0;     ///< of one image of a training step: forward and backward
};

struct ModelFigures {
  std::vector<LayerFigures> layers;  ///< one a layer of the model
  std::size_t parameters = 0;
  double forward_flops = 0;  ///< of one image, the loss included
  double step_flops = 0;     ///< of one image of a training step, the update not included
};

/// Figures of `model`, which check_model() has passed. A head is not counted.
ModelFigures figures_of(const models::Model& model);

/// Bytes that a training step of `batch` images takes on `machine` beside weights and optimizer: what plan::Plan of the
/// same arguments holds, with the variants that are chosen by themselves. Throws core::BadInput if nothing on the
/// device can train the model.
std::size_t training_bytes(const models::Model& model, const Machine& machine, core::Precision precision,
                           int batch);

/// 64 images on a GPU. On a CPU as many as its cores train in about 50 ms, but 8 to 64, in powers of two: more images
/// a second by far for a small network (an update takes as long for 8 images as for 64), and still some 20 updates a
/// second for a large one. Measurements: docs/measurements/cpu_batches.csv.
int standard_batch(const core::DeviceInfo& device, const models::Model& model);

}  // namespace warpscope::plan
