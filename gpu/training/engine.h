#pragma once
// The device's side of a training: weights, data, plans and the order of the work on one stream. No threads,
// no policy: the worker decides when to step, test, show and save.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/data/dataset.h"
#include "gpu/models/model.h"
#include "gpu/plan/plan.h"
#include "gpu/training/data_order.h"
#include "gpu/training/determinism.h"
#include "gpu/training/feed.h"
#include "gpu/training/image_exchange.h"
#include "gpu/training/loss_ring.h"
#include "gpu/training/timing_table.h"

namespace warpscope::training {

struct EngineOptions {
  models::Model model;
  plan::Selection selection;
  int batch = 64;
  float learning_rate = 0.005f;
  std::uint64_t seed = 1;
  bool shuffle = true;
  std::string init_file;
  std::int64_t test_images = 0;  ///< 1 .. images of the test set
  int shown_images = 0;
};

/// The mean squared error over the test images, and the mean of their PSNRs in dB.
struct TestResult {
  std::uint64_t step = 0;
  double epoch = 0;
  double loss = 0;
  double psnr = 0;
};

/// A step whose record has arrived.
struct StepResult {
  std::uint64_t step = 0;  ///< from 1
  double epoch = 0;
  float loss = 0;
  float learning_rate = 0;
  int batch = 0;
  double step_seconds = 0;  ///< since the end of the step before; 0 if something else ran in between
  float loss_scale = 1;     ///< that its gradients were multiplied by
  bool skipped = false;     ///< gradients overflowed: the weights stayed
  bool timed = false;       ///< ran with an event after each kernel
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

  /// Enqueues one step. Waits only while more than a few milliseconds of work lie ahead.
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
  void set_learning_rate(float learning_rate);

  /// Runs the next step twice side by side, from copies of the weights, and compares what each op wrote, bit by bit. Waits.
  /// Throws core::OutOfMemory that says what is needed if the two plans do not fit beside the one in use.
  DeterminismReport check_determinism();

  /// A test goes on batch by batch: start it, enqueue until it says true, then collect until a result comes.
  void start_test();
  bool test_running() const { return test_running_; }
  bool enqueue_test_batch();
  std::optional<TestResult> collect_test();

  /// Reconstructs the shown images and publishes them. Does nothing and returns false while the pictures before
  /// are still under way, or if none are shown: `exchange()` is then nullptr.
  bool publish_images();
  const std::shared_ptr<ImageExchange>& exchange() const { return exchange_; }
  /// Device time of the last publish_images() that finished, in seconds.
  double publish_seconds();

  /// Steps that have arrived since the last call. `flush` asks the device for those that are not under way
  /// yet.
  std::vector<StepResult> collect_steps(bool flush);
  /// Waits for everything enqueued.
  void synchronize();

  /// The weights, downloaded (waits), in models::ParameterLayout.
  std::vector<float> parameters();
  std::vector<float> gradients();

  const EngineOptions& options() const { return options_; }
  const TimingTable& timings() const { return timings_; }
  std::size_t plan_bytes() const;
  core::Device& device() const { return *device_; }

 private:
  struct Plans {
    std::unique_ptr<plan::Plan> training;
    std::unique_ptr<plan::Plan> testing;
    std::unique_ptr<plan::Plan> showing;
  };
  struct Pending {
    double epoch = 0;
    int batch = 0;
    bool interrupted = false;
    bool timed = false;
  };
  plan::Bindings training_bindings() const;
  Plans build(const plan::Selection& selection, int batch);
  void install(Plans plans);
  void free_retired();
  void upload_order();
  void upload_control();
  void upload_loss_scale();
  void throttle();
  int test_batch(int batch) const;
  void upload(core::Buffer& buffer, const void* source, std::size_t bytes);

  EngineOptions options_;
  std::shared_ptr<const data::DataSet> data_;
  std::shared_ptr<core::Device> device_;
  std::unique_ptr<core::Stream> stream_;
  models::ParameterLayout layout_;
  std::vector<float> initial_;

  core::Buffer parameters_, gradients_, train_images_, test_images_, order_buffer_, test_order_, control_,
      test_control_;
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

  std::uint64_t steps_ = 0;
  std::deque<Pending> pending_;  ///< one a step enqueued and not arrived
  std::uint64_t arrived_ = 0;
  std::uint64_t last_nanoseconds_ = 0;
  bool interrupted_ = true;
  double step_seconds_ = 0;                         ///< of a typical recent step, for throttling
  std::vector<std::unique_ptr<core::Event>> pace_;  ///< recorded after each step, in turn

  core::HostBuffer test_errors_, test_controls_;
  std::unique_ptr<core::Event> test_done_;
  std::int64_t test_enqueued_ = 0;
  bool test_running_ = false;
  std::uint64_t test_step_ = 0;
  double test_epoch_ = 0;

  std::shared_ptr<ImageExchange> exchange_;
  std::unique_ptr<core::Event> publish_start_, publish_end_, publish_done_;
  bool publish_pending_ = false;
  double publish_seconds_ = 0;
};

}  // namespace warpscope::training
