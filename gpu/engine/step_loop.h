#pragma once
// The steps of a training, one after the other on one stream: what each reads of the control block, the order of the
// images, how far the host may run ahead of the device, and the records that come back. It launches the plan that it is
// given and knows nothing of networks.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/data_order.h"
#include "gpu/engine/engine_state.h"
#include "gpu/engine/loss_ring.h"
#include "gpu/engine/scene.h"
#include "gpu/plan/plan.h"
#include "gpu/settings/division.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// A step whose record has arrived.
struct StepResult {
  std::uint64_t step = 0;  ///< from 1
  double epoch = 0;
  float loss = 0;
  float learning_rate = 0;
  int batch = 0;            ///< images of the step
  double step_seconds = 0;  ///< since the end of the step before; 0 if something else ran in between
  float loss_scale = 1;     ///< that its gradients were multiplied by
  bool skipped = false;     ///< gradients overflowed: the weights stayed
  bool timed = false;       ///< ran with an event after each kernel
  float accuracy = 0;       ///< share of its images classified right, with labels
  float gradient_norm = 0;  ///< before clipping
  float update_ratio = 0;   ///< norm of the update over norm of the parameters
  bool head = false;        ///< the network had a head, whose accuracy is the one above
  float head_loss = 0;      ///< cross-entropy of the head
};

/// Memory from which a plan makes a step that has been made.
struct StepAgain {
  core::Buffer order, control, ring;

  void bind(plan::Bindings& bindings) const;
};

class StepLoop {
 public:
  /// `images`: of the training set, of which the settings' batch and micro-batches take no more than there are.
  StepLoop(std::shared_ptr<core::Device> device, core::Stream& stream, std::int64_t images,
           const EngineSettings& settings, const Division& part);

  // What is set holds from the next step on.
  /// All that a step reads of these but the rate.
  void use(const OptimizerSettings& optimizer, const AugmentSettings& augment, const Division& part);
  /// Which a schedule may set anew for each step. Throws core::BadInput.
  void set_learning_rate(float learning_rate);
  float learning_rate() const { return learning_rate_; }
  /// Dynamic loss scaling begins again, in FP16; gradients of other precisions are not scaled.
  void begin_loss_scale(core::Precision precision);
  /// The optimizer's state is fresh, and updates go on after a loss that was not finite.
  void clear_updates();
  void clear_halt();
  /// The optimizer's state is that of `kept`, a copy of control().
  void recall_updates(const core::Buffer& kept);
  /// Another network: steps made with the one before cannot be made again.
  void forget_steps() {
    repeatable_from_ = steps_;
    has_gradients_ = false;
  }

  /// Step 0. The loss scale is to be begun.
  void reset();
  /// Fills its part of a state. Waits.
  void save(EngineState& state) const;
  /// Goes on from there. Waits. Throws core::BadInput if the position is none of these data.
  void restore(const EngineState& state);

  /// Waits while more than a few milliseconds of work lie ahead, or more than one step beside the running one.
  void wait_for_room();
  /// The step that it would wait for; 0: none.
  std::uint64_t awaited_step() const;
  /// wait_for_room(), then enqueues one step.
  void step(plan::Plan& plan, bool timed, bool head);
  /// The next step's time must not count what happened since the last one (a pause, a test).
  void interrupt() { interrupted_ = true; }
  /// The control block and the order become those of the next step without making it.
  void prepare();
  /// What the next step takes, whose order is on its way to the device.
  ComingBatch coming_batch();

  /// Steps that have arrived since the last call. `flush` asks the device for those that are not under way yet.
  std::vector<StepResult> collect(bool flush);

  /// Steps enqueued since the start or reset.
  std::uint64_t steps() const { return steps_; }
  /// The buffers hold the gradients of the last step: no state was restored, nor another network begun, since.
  bool has_gradients() const { return has_gradients_; }
  /// What they hold stands for those of the last step.
  void keep_gradients() { has_gradients_ = true; }
  /// The last one that was timed, from 1; 0 before the first.
  std::uint64_t timed_step() const { return timed_step_; }
  const DataOrder& order() const { return order_; }
  /// All ranks together.
  int images_of_step() const { return part_.images_of_step; }
  int images_of_rank() const { return part_.images; }
  /// The base rate of the last step, before a schedule.
  float trained_rate() const { return trained_rate_; }

  /// What makes the step of index `step` again, with the control block as it is now but for its place; its ring is not
  /// to be read. Waits. Nothing for steps of another network, or that lie more than 256 back.
  std::optional<StepAgain> again(std::uint64_t step) const;

  void bind(plan::Bindings& bindings) const;
  const core::Buffer& control() const { return control_; }

 private:
  static constexpr std::size_t kRepeatable = 256;  ///< more than can be under way
  struct Pending {
    double epoch = 0;
    int batch = 0;
    bool interrupted = false;
    bool timed = false;
    bool head = false;
    std::uint64_t epochs_done = 0;  ///< and the place in the order at which it began
    std::uint32_t position = 0;
  };
  void begin_epoch_if_due();
  ops::step::StepControl host_control() const;
  ops::step::StepControl& next_staging();
  void upload_device_control(std::size_t begin, std::size_t end, const ops::step::StepControl& values);
  void start_at(std::uint64_t steps);

  std::shared_ptr<core::Device> device_;
  core::Stream& stream_;
  std::uint64_t seed_;
  bool shuffle_;
  LossRing ring_;
  DataOrder order_;
  core::Buffer order_buffer_, control_;

  ops::step::StepControl settings_;  ///< of all that is set, but the rate
  Division part_;
  float learning_rate_;  ///< of the next step
  float base_rate_ = 0;  ///< as set, before a schedule
  float trained_rate_ = 0;
  bool control_stale_ = true;

  // Staging memory that copies still under way may read.
  core::HostBuffer order_staging_[2];
  std::unique_ptr<core::Event> order_copied_[2];
  int next_order_staging_ = 0;
  core::HostBuffer control_staging_;
  std::size_t next_control_staging_ = 0;

  std::uint64_t steps_ = 0;
  std::uint64_t timed_step_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t repeatable_from_ = 0;
  std::deque<Pending> pending_;    ///< one a step enqueued and not arrived
  Pending enqueued_[kRepeatable];  ///< of step i at i mod kRepeatable
  bool interrupted_ = true, has_gradients_ = false;
  std::uint64_t last_nanoseconds_ = 0;
  double step_seconds_ = 0;                         ///< of a typical recent step, for throttling
  std::vector<std::unique_ptr<core::Event>> pace_;  ///< recorded after each step, in turn
};

}  // namespace warpscope::training
