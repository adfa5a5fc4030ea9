#pragma once
// The device's side of a training: weights, data, plans and the order of the work on one stream. No threads,
// no policy: the worker decides when to step, test, show and save.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/data/dataset.h"
#include "gpu/engine/data_order.h"
#include "gpu/engine/loss_ring.h"
#include "gpu/engine/scene.h"
#include "gpu/engine/timing_table.h"
#include "gpu/messages/determinism.h"
#include "gpu/messages/evaluation.h"
#include "gpu/messages/feed.h"
#include "gpu/messages/image_exchange.h"
#include "gpu/models/model.h"
#include "gpu/plan/plan.h"
#include "gpu/plan/views.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// `batch` is at least 1, and `test_images` as many as are evaluated at the most.
struct EngineOptions : EngineSettings {
  plan::Selection selection;
  int shown_images = 0;
};

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

/// Everything that training goes on from, in host memory.
struct EngineState {
  std::vector<float> parameters;  ///< models::ParameterLayout
  ops::UpdateRule rule{};
  std::vector<std::vector<float>> states;  ///< ops::states_of(rule) of the same layout
  ops::step::StepControl control;          ///< the device's own part is what counts
  std::uint64_t steps = 0;
  std::uint64_t epochs_done = 0;
  std::uint32_t position = 0;  ///< in the running epoch's order
};

/// How much of a network goes on in the one after it.
struct CarriedOver {
  std::size_t tensors = 0;  ///< of parameters
  std::size_t of = 0;       ///< the new network has
};

/// Where a number first stopped being one.
struct NotFinite {
  std::string tensor;  ///< "conv3", "conv1.weight"; "" if all numbers are finite
  std::string layer;   ///< "" for ops of the whole network
  std::string op;
  std::int64_t count = 0;  ///< elements of the tensor that are not finite
};

class Engine {
 public:
  /// Uploads the data and builds the plans. Throws core::BadInput, core::OutOfMemory, core::Error.
  Engine(EngineOptions options, std::shared_ptr<const data::DataSet> data,
         std::shared_ptr<core::Device> device);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Initial weights again, step 0.
  void reset();

  /// Waits while more than a few milliseconds of work lie ahead, or more than one step beside the running
  /// one. What is changed after it holds from the next step on: so commands are looked at between this and
  /// step().
  void wait_for_room();
  /// wait_for_room(), then enqueues one step at the rate that was set last.
  void step(bool timed);
  /// Steps enqueued since the start or reset.
  std::uint64_t steps() const { return steps_; }
  std::uint64_t epochs_done() const { return order_.epochs_done(); }
  double epoch() const { return order_.epoch(); }
  /// Steps left until `epochs` whole epochs are done, if the batch stays as it is.
  std::uint64_t steps_until(std::uint64_t epochs) const { return order_.steps_until(epochs); }
  /// The next step's time must not count what happened since the last one (a pause, a test).
  void interrupt() { interrupted_ = true; }

  /// Each builds what it needs beside the old and throws core::BadInput or core::OutOfMemory with nothing
  /// changed.
  void set_selection(const plan::Selection& selection);
  void set_batch(int batch);
  /// Takes effect at the next step. Another rule starts with fresh state; the weights stay. A `joint` above 0 brings
  /// a head with first weights from the seed, where there is none; 0 takes it away.
  void set_optimizer(const OptimizerSettings& optimizer);
  /// Takes effect at the next step. All off or any on, and mixup, build the training plan anew.
  void set_augment(const AugmentSettings& augment);
  /// Another network in the place of this one (training::SetNetwork). Step, epoch and the order of the images go on;
  /// what remember() kept is dropped. reset() gives the first weights of the new network, from the seed; a file of
  /// initial weights is left aside. Waits.
  CarriedOver set_network(const models::Model& network);
  /// The rate of the next steps, which a schedule may set anew for each. Throws core::BadInput.
  void set_learning_rate(float learning_rate);

  /// What training can go on from, bit for bit. Waits.
  EngineState state();
  /// Goes on from there; the settings stay. Throws core::BadInput if it is not of this model or optimizer.
  void restore(const EngineState& state);

  /// Copies weights and optimizer state on the device, beside the copy before. No waiting.
  void remember();
  /// True if there is a copy that was taken after no more than `steps` steps.
  bool remembers(std::uint64_t steps) const;
  /// Brings back the newest copy that was taken after no more than `steps` steps, if there is one; of two, the older
  /// one where the newer was taken within the last 16 of these steps.
  bool recall(std::uint64_t steps);
  /// Updates go on after a loss that was not finite.
  void clear_halt();

  /// Runs the step of index `step` again (the one whose loss was not finite: the weights have not changed
  /// since), node by node, until a tensor has a number that is not finite. Waits. Steps that lie more than
  /// 256 back, and those of another network, give nothing. Throws core::OutOfMemory if a second plan does not fit.
  NotFinite find_not_finite(std::uint64_t step);

  /// Runs the next step twice side by side, from copies of the weights, and compares what each op wrote, bit
  /// by bit. Waits.
  /// Throws core::OutOfMemory that says what is needed if the two plans do not fit beside the one in use.
  DeterminismReport check_determinism();

  /// An evaluation goes on batch by batch: start it, enqueue until it says true, then collect until a result
  /// comes. `split` validation stands for test where there are no validation images.
  void start_evaluation(Split split);
  bool evaluation_running() const { return evaluation_running_; }
  bool enqueue_evaluation_batch();
  std::shared_ptr<const Evaluation> collect_evaluation();
  /// How many images an evaluation of `split` takes.
  std::int64_t evaluated_images(Split split) const;

  /// Reconstructs the shown images and publishes them. Does nothing and returns false while the pictures
  /// before are still under way, or if none are shown: `exchange()` is then nullptr. With `keep` they are
  /// copied to the host too.
  bool publish_images(bool keep = false);
  /// What was kept last, once it has arrived; the generation is the caller's to fill in.
  std::optional<ShownImages> take_kept_images();
  const std::shared_ptr<ImageExchange>& exchange() const { return exchange_; }
  /// Device time of the last publish_images() that finished, in seconds.
  double publish_seconds();

  /// What observers may read between this step and the next; the generation is the caller's to fill in.
  Scene scene();

  /// Steps that have arrived since the last call. `flush` asks the device for those that are not under way
  /// yet.
  std::vector<StepResult> collect_steps(bool flush);
  /// Waits for everything enqueued.
  void synchronize();

  /// The weights, downloaded (waits), in models::ParameterLayout.
  std::vector<float> parameters();
  std::vector<float> gradients();

  const EngineOptions& options() const { return options_; }
  float learning_rate() const { return learning_rate_; }
  /// With its head, if it has one now.
  const models::Model& model() const { return options_.model; }
  /// The parameters that a file of initial weights which is taken in part left to the seed.
  const std::vector<std::string>& seeded_parameters() const { return seeded_; }
  /// What people should know of how that file was read, in one sentence, else "".
  const std::string& init_notice() const { return init_notice_; }
  int images_of_step() const { return options_.batch * options_.optimizer.accumulate; }
  const TimingTable& timings() const { return timings_; }
  std::size_t plan_bytes() const;
  core::Device& device() const { return *device_; }

 private:
  static constexpr std::size_t kTracedSteps = 256;  ///< more than can be under way
  static constexpr int kLargestEvaluationBatch = 256;
  struct Plans {
    std::unique_ptr<plan::Plan> training;
    std::unique_ptr<plan::Plan> testing;
    std::unique_ptr<plan::Plan> showing;
    /// Where evaluations look at several views: logits of the images of a split, in as many equal parts.
    core::HostBuffer logits;
  };
  struct Pending {
    double epoch = 0;
    int batch = 0;
    bool interrupted = false;
    bool timed = false;
    bool head = false;
    std::uint64_t epochs_done = 0;  ///< and the place in the order at which it began
    std::uint32_t position = 0;
  };
  plan::Bindings training_bindings() const;
  plan::Bindings held_out_bindings() const;
  std::unique_ptr<plan::Plan> build_training(const plan::Selection& selection, int batch,
                                             const OptimizerSettings& optimizer,
                                             const plan::Bindings& bindings);
  Plans build(const plan::Selection& selection, int batch);
  void check_images(const models::Model& model) const;
  std::size_t most_evaluated() const;
  std::size_t evaluation_room() const;
  plan::WrittenTensor logits_of(const plan::Plan& testing) const;
  void make_views(Plans& plans, const plan::Selection& selection, int batch, const plan::Bindings& bindings);
  void launch_testing(std::int64_t slot, const plan::View& view);
  void enqueue_plain_batch();
  void enqueue_views();
  void judge_views(std::span<const std::uint8_t> labels);
  static void check_augmented(const models::Model& model, const AugmentSettings& augment);
  static void check_mixup(const AugmentSettings& augment, int batch);
  struct Network;
  void check_network(const models::Model& model) const;
  void check_memory(const models::Model& model) const;
  Network make_network(const models::Model& model, CarriedOver& carried);
  void exchange(Network& other);
  std::size_t room(const models::Model& model) const;
  std::vector<float> first_parameters();
  void set_head(bool wanted);
  void clear_head_room();
  bool needs_labels() const { return needs_labels(options_.model); }
  static bool needs_labels(const models::Model& model);
  void upload_data();
  void upload_labels();
  void make_staging();
  void make_states(ops::UpdateRule rule);
  std::vector<float> download(const core::Buffer& buffer);
  void put_back(const EngineState& state);
  void install(Plans plans);
  void free_retired();
  void upload_order();
  ops::step::StepControl host_control() const;
  ComingBatch coming_batch();
  void upload_control();
  void upload_loss_scale();
  void upload_device_control(std::size_t begin, std::size_t end, const ops::step::StepControl& values);
  void refresh_order();
  std::int64_t first_of(Split split) const;
  int evaluation_batch(int batch) const;
  void upload(core::Buffer& buffer, const void* source, std::size_t bytes);
  void upload_both(core::Buffer& buffer, std::span<const std::uint8_t> first,
                   std::span<const std::uint8_t> second);

  EngineOptions options_;
  std::shared_ptr<const data::DataSet> data_;
  std::shared_ptr<core::Device> device_;
  std::unique_ptr<core::Stream> stream_;
  models::Model bare_model_;  ///< without its head: of those who look at pictures and layers
  models::ParameterLayout layout_;
  std::vector<plan::View> views_;  ///< of each image, in evaluations
  std::vector<float> initial_;
  std::vector<std::string> seeded_;
  std::string init_notice_;

  /// Of ParameterLayout, with room behind it for a head that may come later.
  core::Buffer parameters_, gradients_, states_[2];
  core::Buffer train_images_, train_labels_, order_buffer_, control_;
  core::Buffer held_out_images_, held_out_labels_, held_out_order_;  ///< validation, then test
  core::Buffer evaluation_control_;
  LossRing ring_;
  DataOrder order_;
  Plans plans_;
  struct Retired {
    Plans plans;
    std::unique_ptr<core::Event> done;
  };
  std::deque<Retired> retired_;  ///< plans replaced while their last launch may still run
  TimingTable timings_;

  // Staging memory that copies still under way may read.
  core::HostBuffer order_staging_[2];
  std::unique_ptr<core::Event> order_copied_[2];
  int next_order_staging_ = 0;
  core::HostBuffer control_staging_;
  std::size_t next_control_staging_ = 0;
  bool control_stale_ = true;
  float learning_rate_ = 0;  ///< of the next step

  std::uint64_t steps_ = 0;
  std::uint64_t network_since_ = 0;  ///< steps done when the network became the one that it is
  std::deque<Pending> pending_;      ///< one a step enqueued and not arrived
  std::uint64_t arrived_ = 0;
  std::uint64_t last_nanoseconds_ = 0;
  bool interrupted_ = true;
  double step_seconds_ = 0;                         ///< of a typical recent step, for throttling
  std::vector<std::unique_ptr<core::Event>> pace_;  ///< recorded after each step, in turn

  /// What remember() kept.
  struct Remembered {
    core::Buffer parameters, states[2], control;
    std::uint64_t steps = 0;
    bool valid = false;
  };
  const Remembered* newest_remembered(std::uint64_t steps) const;
  void forget();
  Remembered remembered_[2];             ///< the newest may hold what is found to be bad a moment later
  Pending last_enqueued_[kTracedSteps];  ///< of step i at i mod kTracedSteps

  core::HostBuffer evaluation_losses_, evaluation_predicted_, evaluation_controls_, evaluation_head_losses_;
  std::unique_ptr<core::Event> evaluation_done_;
  std::int64_t evaluation_enqueued_ = 0;
  bool evaluation_running_ = false;
  Split evaluation_split_ = Split::test;
  std::uint64_t evaluation_step_ = 0;
  double evaluation_epoch_ = 0;

  std::shared_ptr<ImageExchange> exchange_;
  std::unique_ptr<core::Event> publish_start_, publish_end_, publish_done_;
  bool publish_pending_ = false;
  void keep_images();
  core::HostBuffer kept_original_, kept_reconstruction_, kept_errors_;
  std::uint64_t kept_step_ = 0;
  bool kept_pending_ = false;
  double publish_seconds_ = 0;
};

}  // namespace warpscope::training
