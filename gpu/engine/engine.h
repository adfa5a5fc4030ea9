#pragma once
// The device's side of a training: it holds those who own a part of it each, and the plan of its steps, and brings
// changes to all of them. No threads, no policy: the worker decides when to step, test, show and save.
//
// All of them enqueue work on one stream, in the order of the calls.

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/data/dataset.h"
#include "gpu/engine/calls.h"
#include "gpu/engine/device_data.h"
#include "gpu/engine/diagnosis.h"
#include "gpu/engine/evaluator.h"
#include "gpu/engine/network_state.h"
#include "gpu/engine/pictures.h"
#include "gpu/engine/rank_watch.h"
#include "gpu/engine/rollback.h"
#include "gpu/engine/scene.h"
#include "gpu/engine/shared_devices.h"
#include "gpu/engine/state_copier.h"
#include "gpu/engine/step_loop.h"
#include "gpu/engine/timing_table.h"
#include "gpu/messages/determinism.h"
#include "gpu/models/model.h"
#include "gpu/plan/plan.h"
#include "gpu/ranks/links.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// `batch` is at least 1, and `test_images` as many as are evaluated at the most.
struct EngineOptions : EngineSettings {
  plan::Selection selection;
  /// Choices of steps, where the selection leaves the choice; with `deterministic` the rules hold.
  plan::MeasuredChoices measured;
  int shown_images = 0;
  ops::Variants variants = ops::built_in_variants();  ///< to choose from
  std::shared_ptr<SharedDevices> shared;              ///< with trainings beside it; nullptr: nothing is
  std::shared_ptr<const DeviceData> device_data;      ///< of this very set; nullptr: it is uploaded
  std::shared_ptr<ranks::Sums> sums;  ///< over the ranks of the training; nullptr: there is one
};

class Engine {
 public:
  /// Uploads the data and builds the plans. Throws core::BadInput, core::OutOfMemory, core::Error.
  Engine(EngineOptions options, std::shared_ptr<const data::DataSet> data,
         std::shared_ptr<core::Device> device);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// All ranks of `line` do from now on what rank 0 does, from its state on.
  void join(std::shared_ptr<calls::Line> line);

  /// From the next step on the ranks of `sums` make the steps, which join(line) has led to a beginning; nullptr: this
  /// one makes them. Those from before get no more calls, and copies to roll back to are dropped. Throws with nothing
  /// changed.
  void set_ranks(std::shared_ptr<ranks::Sums> sums, std::shared_ptr<calls::Line> line);

  /// First weights again, step 0.
  void reset();

  /// What is changed after it holds from the next step on: so commands are looked at between this and step().
  /// Throws what a sum over ranks has met.
  void wait_for_room();
  /// wait_for_room(), then enqueues one step at the rate that was set last.
  void step(bool timed);
  std::uint64_t steps() const { return loop_.steps(); }
  std::uint64_t epochs_done() const { return loop_.order().epochs_done(); }
  double epoch() const { return loop_.order().epoch(); }
  /// Steps left until `epochs` whole epochs are done, if the batch stays as it is.
  std::uint64_t steps_until(std::uint64_t epochs) const { return loop_.order().steps_until(epochs); }
  int images_of_step() const { return loop_.images_of_step(); }
  /// Those that this rank takes.
  int images_of_rank() const { return loop_.images_of_rank(); }
  void interrupt() { loop_.interrupt(); }
  std::vector<StepResult> collect_steps(bool flush);
  /// Waits for everything enqueued.
  void synchronize() { stream_->synchronize(); }

  /// Each builds what it needs beside the old and throws core::BadInput or core::OutOfMemory with nothing
  /// changed.
  void set_selection(const plan::Selection& selection) { set_selection(selection, options_.variants); }
  /// The same from another table; there are no other ranks, which would not have it.
  void set_selection(const plan::Selection& selection, ops::Variants variants);
  /// What plans are built from after this; in the plans that there are, every variant stays as it is.
  void set_variants(ops::Variants variants) { options_.variants = std::move(variants); }
  void set_batch(int batch);
  /// Takes effect at the next step. Another rule starts with fresh state; the weights stay. A `joint` above 0 brings
  /// a head with first weights from the seed, where there is none; 0 takes it away.
  void set_optimizer(const OptimizerSettings& optimizer);
  /// Takes effect at the next step. All off or any on, and mixup, build the training plan anew.
  void set_augment(const AugmentSettings& augment);
  /// Another network in the place of this one (training::SetNetwork). Step, epoch and the order of the images go on;
  /// copies to roll back to are dropped. reset() gives the first weights of the new network, from the seed; a file of
  /// initial weights is left aside. Waits.
  CarriedOver set_network(const models::Model& network);
  /// Throws core::BadInput for batch, optimizer and augmentation that cannot be set, whatever they are now.
  void check_settings(const EngineSettings& settings) const;
  void set_learning_rate(float learning_rate) { loop_.set_learning_rate(learning_rate); }
  float learning_rate() const { return loop_.learning_rate(); }
  /// Updates go on after a loss that was not finite.
  void clear_halt();

  /// As those of rollback().
  std::size_t remember();
  void forget();
  bool recall(std::uint64_t steps);

  /// What training can go on from, bit for bit. Waits.
  EngineState state();
  /// Goes on from there; the settings stay. Throws core::BadInput if it is not of this model or optimizer.
  void restore(const EngineState& state);
  /// The gradients that there are stand for those of the last step, though a state was restored since.
  void keep_gradients() { loop_.keep_gradients(); }

  /// Runs the step of index `step` again (the one whose loss was not finite: the weights have not changed
  /// since), node by node, until a tensor has a number that is not finite. Waits. Steps that lie more than
  /// 256 back, and those of another network, give nothing. Throws core::OutOfMemory if a second plan does not fit.
  NotFinite find_not_finite(std::uint64_t step);
  /// Runs the next step twice side by side, from copies of the weights, and compares what each op wrote, bit
  /// by bit. Waits. Throws core::OutOfMemory that says what is needed if it does not fit.
  DeterminismReport check_determinism();
  /// Whether steps that are made again give the same bits: all variants of the training step are deterministic.
  bool repeats_bits() const;

  /// What observers may read between this step and the next; the generation is the caller's to fill in.
  Scene scene();
  /// EngineOptions::device_data of another engine on this device.
  const std::shared_ptr<const DeviceData>& device_data() const { return device_data_; }

  /// What this rank tells the others of itself.
  calls::RankReport report() const;
  /// Those of all ranks, each of which comes to it; empty where there is one. Waits for them.
  std::vector<RankFigures> rank_figures() const;

  /// Between all ranks, each of which comes to it, over what their sums go over: from GPU to GPU, as far as they reach
  /// each other's memory, else through the host. Waits. There are several ranks.
  ranks::LinkTable measure_links();

  Evaluator& evaluator() { return evaluator_; }
  Pictures& pictures() { return pictures_; }
  const Rollback& rollback() const { return rollback_; }
  StateCopier& copier() { return copier_; }
  NetworkState& network() { return network_; }
  /// With its head, if it has one now.
  const models::Model& model() const { return network_.model(); }
  /// Downloaded (waits), in models::ParameterLayout.
  std::vector<float> parameters() const { return network_.download(network_.buffers().parameters); }
  std::vector<float> gradients() const { return network_.download(network_.buffers().gradients); }

  /// As they are now; the model is model() and not here.
  const EngineOptions& options() const { return options_; }
  const TimingTable& timings() const { return timings_; }
  /// Activations, gradients and workspace of a training step.
  std::size_t plan_bytes() const { return training_->memory_bytes(); }
  core::Device& device() const { return *device_; }

 private:
  struct Plans {
    std::unique_ptr<plan::Plan> training;
    EvaluationPlan testing;
    std::unique_ptr<plan::Plan> showing;
  };
  struct Retired {
    Plans plans;
    std::unique_ptr<core::Event> done;
  };
  plan::Bindings training_bindings(const NetworkBuffers& network) const;
  plan::Bindings held_out_bindings(const NetworkBuffers& network) const;
  /// `apart`: a step of this rank that the others do not make.
  std::unique_ptr<plan::Plan> build_training(const models::Model& model, const EngineOptions& options,
                                             const plan::Bindings& bindings, bool apart = false) const;
  Plans build(const models::Model& model, const NetworkBuffers& network, const EngineOptions& options);
  void install(Plans plans);
  void adopt_training(std::unique_ptr<plan::Plan> plan);
  void free_retired();
  void set_head(bool wanted);
  void check_sums() const;
  const plan::PlanNode* first_sum_on_device() const;
  void note_sums_on_device() const;
  bool leads() const;
  void give_state();
  /// All other ranks do the same, if this one leads them.
  void give(const calls::Call& call) const;
  /// What `work` makes, on all ranks or on none.
  template <class Work>
  auto settled(Work work) const {
    return calls::settled(line_.get(), std::move(work));
  }

  EngineOptions options_;
  std::shared_ptr<const data::DataSet> data_;
  std::shared_ptr<core::Device> device_;
  std::unique_ptr<core::Stream> stream_;
  NetworkState network_;
  std::shared_ptr<const DeviceData> device_data_;
  StepLoop loop_;
  Evaluator evaluator_;
  Pictures pictures_;
  Rollback rollback_;
  StateCopier copier_;
  std::unique_ptr<plan::Plan> training_;
  std::deque<Retired> retired_;  ///< plans replaced while their last launch may still run
  TimingTable timings_;
  std::shared_ptr<calls::Line> line_;  ///< nullptr: there is one rank
  std::unique_ptr<RankWatch> watch_;   ///< with it
};

}  // namespace warpscope::training
