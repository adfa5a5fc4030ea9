#pragma once
// What an observer may read of an engine between two steps.

#include <cstdint>
#include <memory>
#include <span>

#include "gpu/core/device.h"
#include "gpu/data/dataset.h"
#include "gpu/models/model.h"
#include "gpu/ops/step/step.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

/// The batch of the next training step, on the host.
struct ComingBatch {
  std::int64_t images = 0;               ///< of the (micro-)batch
  std::span<const std::uint32_t> order;  ///< the places of its images in the training set, and what follows
  ops::step::StepControl control;        ///< only the host's part of it counts
};

/// Buffers are in device memory and hold, on `stream`, the state after `step` steps. Holds for the call that
/// it is passed to; the buffers themselves live as long as the engine, those of parameters until it gets another
/// network (Observer::restart).
struct Scene {
  const models::Model& model;  ///< without its head, whose parameters lie behind the others
  const plan::Selection& selection;
  const data::DataSet& data;
  std::shared_ptr<core::Device> device;
  ops::Variants variants;  ///< to choose from
  core::Stream& stream;
  /// For an inference plan over the held-out images, validation images first. The control block, which says where a
  /// pass begins, is the engine's own: an observer puts one of its own there.
  plan::Bindings held_out;
  std::int64_t first_test = 0;  ///< place of test image 0 among the held-out images
  const core::Buffer& parameters;
  const core::Buffer& gradients;  ///< of the last step, before clipping, times `control`'s gradient_scale
  const ops::step::StepControl* control = nullptr;
  std::uint64_t step = 0;
  std::uint64_t generation = 0;  ///< Snapshot::generation
  ComingBatch coming = {};
  bool has_gradients = false;  ///< else those are of another step, or of none
};

}  // namespace warpscope::training
