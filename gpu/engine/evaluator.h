#pragma once
// Looking at held-out images for figures, batch by batch, so that commands wait for one batch at most. An evaluation of
// several views of each image (gpu/plan/views.h) makes one pass a view and takes the mean of their logits.
//
// Where there are several ranks, each takes a run of the batches, and all get the losses and classes of all images. So
// the figures are taken over the images in their order, of batches as one rank has them: they do not depend on the
// number of ranks.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/calls.h"
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
  /// All ranks of `line` evaluate together from now on, as rank 0 does; a running evaluation begins anew. nullptr: this
  /// one does.
  void join(std::shared_ptr<calls::Line> line);
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
  /// What other ranks than 0 do where that one collects. Waits for all.
  void give_part();
  /// How many images an evaluation of `split` takes.
  std::int64_t images(Split split) const;

  /// The held-out images, and a control block of evaluations.
  void bind(plan::Bindings& bindings) const;

 private:
  /// Images [begin, end) of the running evaluation.
  struct Part {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t size() const { return end - begin; }
  };
  Part part_of(ranks::Place place) const;
  Part part() const;
  bool leads() const { return line_ && line_->place().leads(); }
  template <class T>
  void gather(T* values) const;
  void gather_all();

  std::int64_t most_images() const;
  std::int64_t room() const;
  int batch_of_plan(int batch) const;
  void launch(std::int64_t slot, std::int64_t image, const plan::View& view);
  void enqueue_plain(std::int64_t image);
  void enqueue_views(std::int64_t image);
  void judge_views();

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
  std::shared_ptr<calls::Line> line_;                  ///< nullptr: there is one rank

  bool running_ = false;
  std::int64_t enqueued_ = 0;  ///< images of this rank's part
  Split split_ = Split::test;
  std::uint64_t step_ = 0;
  double epoch_ = 0;
};

}  // namespace warpscope::training
