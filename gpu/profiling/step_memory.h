#pragma once
// Memory for training steps that are only timed: what outlives plans, made up from what the operands of the step's
// program ask for.

#include <array>
#include <cstddef>
#include <memory>

#include "gpu/core/device.h"
#include "gpu/models/model.h"
#include "gpu/plan/plan.h"
#include "gpu/settings/augment_settings.h"
#include "gpu/settings/division.h"
#include "gpu/settings/optimizer_settings.h"

namespace warpscope::profiling {

inline constexpr std::size_t kStorages = static_cast<std::size_t>(plan::Storage::score_rows) + 1;

/// What a step does beside the network's layers, as in a training.
struct StepSetup {
  int batch = 1;  ///< as set: images of a micro-batch if there are several
  training::OptimizerSettings optimizer = {};
  training::AugmentSettings augment = {};

  /// That of one rank, which makes the whole step.
  training::Division part() const { return training::divide(optimizer, batch, false, {}); }
  bool operator==(const StepSetup&) const = default;
};

/// Images of a step.
int images_of_step(const StepSetup& setup);

/// Random images and labels in random order, fresh weights, and states of zeros. Each buffer is as large as the largest
/// operand that lies in it. Steps learn at a tiny rate, so that no number overflows however many there are.
class StepMemory {
 public:
  /// Throws core::OutOfMemory.
  StepMemory(const std::shared_ptr<core::Device>& device, core::Stream& stream, const models::Model& model,
             const StepSetup& setup, core::Precision precision);

  plan::Bindings bindings() const;
  const plan::Recipe& recipe() const { return recipe_; }

 private:
  core::Buffer& buffer(plan::Storage storage) { return buffers_[static_cast<std::size_t>(storage)]; }
  template <class T>
  T* address(plan::Storage storage) const {
    return buffers_[static_cast<std::size_t>(storage)].as<T>();
  }

  plan::Recipe recipe_;
  std::array<core::Buffer, kStorages> buffers_;  ///< one a plan::Storage; empty if no operand lies there
  std::int64_t image_count_ = 0;
};

/// The plan of a training step over `memory`. Throws as plan::Plan.
std::unique_ptr<plan::Plan> make_step(const ops::Context& context, core::Stream& stream,
                                      const models::Model& model, const StepSetup& setup,
                                      const plan::Selection& selection, const StepMemory& memory,
                                      const plan::MeasuredChoices& measured = {});

}  // namespace warpscope::profiling
