#pragma once
// The held-out images that observers look at, and plans over them.

#include <cstdint>
#include <memory>

#include "gpu/engine/scene.h"
#include "gpu/models/model.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

/// Up to 1,024 on a GPU and 96 on a CPU, where a pass over them takes as long as a step or two.
std::int64_t mapped_images(const Scene& scene);

/// Test images at once through a plan of Purpose::inspection, which keeps every layer's output: as many as make up 2^22
/// activations on a CPU and 2^25 on a GPU, but at least 4 and at most 64, if there are so many.
int inspected_at_once(const Scene& scene);

/// An inference plan of some kind over held-out images, with a control block of its own, of which a look makes several
/// passes.
class HeldOutPlan {
 public:
  /// `passes`: of a look, at most. Throws core::BadInput and core::OutOfMemory as plan::Plan does.
  HeldOutPlan(const Scene& scene, const models::Model& model, plan::Purpose purpose, int batch,
              std::size_t passes);

  /// Enqueues pass `pass` of a look, whose first image is test image `image`. The look before has arrived.
  void launch(core::Stream& stream, std::size_t pass, std::size_t image);

  const plan::Plan& plan() const { return *plan_; }
  std::size_t batch() const { return static_cast<std::size_t>(plan_->batch()); }
  const plan::Selection& selection() const { return selection_; }

 private:
  plan::Selection selection_;
  std::size_t first_test_;
  core::Buffer control_;
  core::HostBuffer controls_;  ///< one a pass
  std::unique_ptr<plan::Plan> plan_;
};

}  // namespace warpscope::training
