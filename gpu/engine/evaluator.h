#pragma once
// Looking at held-out images for figures, batch by batch, so that commands wait for one batch at most. An evaluation of
// several views of each image (gpu/plan/views.h) makes one pass a view and takes the mean of their logits.

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/device_data.h"
#include "gpu/engine/network_state.h"
#include "gpu/engine/step_loop.h"
#include "gpu/messages/evaluation.h"
#include "gpu/plan/plan.h"
#include "gpu/plan/views.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// The plan of evaluations and, where they look at several views, the host's room for logits: those of the images of a
/// split, in as many equal parts.
struct EvaluationPlan {
  std::unique_ptr<plan::Plan> plan;
  core::HostBuffer logits;
};

class Evaluator {
 public:
  /// Holds references to all but the settings. Evaluates with the plan that it adopts.
  Evaluator(const EngineSettings& settings, const DeviceData& data, const NetworkState& network,
            StepLoop& loop, std::shared_ptr<core::Device> device, core::Stream& stream);

  /// A plan for `model` beside the one in use. Throws core::BadInput, core::OutOfMemory.
  EvaluationPlan build(const models::Model& model, const plan::Selection& selection,
                       const ops::Context& context, int batch, const plan::Bindings& held_out) const;
  /// Returns the plan before, whose last launch may still run. A running evaluation goes on, unless its logits are
  /// lost: then it begins anew.
  EvaluationPlan adopt(EvaluationPlan next);
  /// A running evaluation begins anew, for its losses are kept by batch, or another network has made them.
  void begin_anew() { enqueued_ = 0; }
  void stop() { running_ = false; }

  /// An evaluation goes on batch by batch: start it, enqueue until it says true, then collect until a result comes.
  /// `split` validation stands for test where there are no validation images.
  void start(Split split);
  bool running() const { return running_; }
  bool enqueue_batch();
  std::shared_ptr<const Evaluation> collect();
  /// How many images an evaluation of `split` takes.
  std::int64_t images(Split split) const;

  /// The held-out images, and a control block of evaluations.
  void bind(plan::Bindings& bindings) const;

 private:
  std::int64_t most_images() const;
  std::int64_t room() const;
  int batch_of_plan(int batch) const;
  void launch(std::int64_t slot, const plan::View& view);
  void enqueue_plain();
  void enqueue_views();
  void judge_views(const std::vector<std::uint8_t>& labels);

  const DeviceData& data_;
  const NetworkState& network_;
  StepLoop& loop_;
  std::shared_ptr<core::Device> device_;
  core::Stream& stream_;
  std::int64_t wanted_images_;
  std::vector<plan::View> views_;  ///< of each image
  EvaluationPlan plan_;
  core::Buffer control_;
  core::HostBuffer losses_, predicted_, head_losses_;  ///< one an image
  core::HostBuffer controls_;                          ///< one a pass
  std::unique_ptr<core::Event> done_;                  ///< of the last batch enqueued

  bool running_ = false;
  std::int64_t enqueued_ = 0;  ///< images of the running evaluation
  Split split_ = Split::test;
  std::uint64_t step_ = 0;
  double epoch_ = 0;
};

}  // namespace warpscope::training
