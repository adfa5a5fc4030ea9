#pragma once
// The trainer: a worker thread that owns the stream, the weights and the optimizer state, takes commands at
// step boundaries, and publishes snapshots, feeds and image batches. No call here waits for the device.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "gpu/core/device.h"
#include "gpu/data/dataset.h"
#include "gpu/models/model.h"
#include "gpu/plan/selection.h"
#include "gpu/training/feed.h"
#include "gpu/training/image_exchange.h"
#include "gpu/training/optimizer_settings.h"
#include "gpu/training/rate_finder.h"
#include "gpu/training/schedule.h"
#include "gpu/training/snapshot.h"
#include "gpu/training/stability.h"

namespace warpscope::training {

/// What a training is made of. Names are checked when the trainer prepares; a bad one makes it `failed` by
/// input.
struct TrainerOptions {
  models::Model model;
  std::string data;  ///< "", "builtin", "cifar10" or a folder, as data::load takes it
  std::shared_ptr<const data::DataSet> data_set;  ///< used instead of `data` if set
  std::string device = "auto";                    ///< as core::open_device takes it
  core::Precision precision = core::Precision::fp32;
  std::string select;  ///< as plan::apply takes it, on top of the device's default
  OptimizerSettings optimizer;
  bool clip_chosen =
      false;  ///< optimizer.clip_norm is somebody's choice; else it is 1 in fp16 and 0 otherwise
  Schedule schedule;
  StopRules stop;        ///< beside epochs and steps
  SpikeSettings spikes;  ///< of the loss, which pause
  int batch = 64;
  double validation = 0;     ///< share of the training images that is kept back to steer by
  std::uint64_t epochs = 0;  ///< 0: no limit
  std::uint64_t steps = 0;   ///< 0: no limit; the smaller limit wins
  std::uint64_t seed = 1;
  bool shuffle = true;
  std::string init_file;         ///< safetensors with the initial weights; "" for He-normal from the seed
  std::string save_file;         ///< safetensors written at the end; "" for none
  std::string run_dir;           ///< run folder; "" writes no run
  std::string resume_dir;        ///< run folder to go on with, from its newest checkpoint; "" for none
  int checkpoint_epochs = 1;     ///< a checkpoint every so many epochs; 0: at the end alone
  int keep_checkpoints = 3;      ///< beside the best one
  int shown_images = 32;         ///< held-out images reconstructed for the reader; 0 for none
  std::int64_t test_images = 0;  ///< test images per test; 0: all on CUDA, 256 on the CPU
  bool start_paused = false;
  bool pause_on_divergence =
      false;  ///< a loss that is no number, or a spike, pauses (a window) instead of failing (headless)
};

// Commands.
struct Pause {};
struct Resume {};
struct StepOnce {};
struct Reset {};  ///< new weights from the same seed or file, step 0, a new generation
struct Select {
  plan::Selection selection;
};
/// The base rate of the schedule.
struct SetLearningRate {
  float learning_rate = 0;
};
/// Another rule starts with fresh state; the weights go on.
struct SetOptimizer {
  OptimizerSettings optimizer;
};
struct SetSchedule {
  Schedule schedule;
};
/// A learning-rate range test, from the weights as they are and back to them: Snapshot::rate_search.
struct FindRate {
  RateFinderOptions settings;
};
struct CancelFindRate {};
/// Back to the last weights from before the trouble, at `factor` times the rate, and on.
struct RollBack {
  float factor = 0.5f;
};
struct SaveCheckpoint {};  ///< in the run folder
struct SetBatch {
  int batch = 0;
};
struct Save {
  std::string file;
};
/// Runs the next step twice side by side and compares bits: Snapshot::determinism. The weights stay as they are.
struct CheckDeterminism {};
struct Finish {};  ///< after the running step: save, write the results, state `finished`
using Command =
    std::variant<Pause, Resume, StepOnce, Reset, Select, SetLearningRate, SetOptimizer, SetSchedule, SetBatch,
                 FindRate, CancelFindRate, RollBack, Save, SaveCheckpoint, CheckDeterminism, Finish>;

class Trainer {
 public:
  /// Starts the worker. Errors appear as state `failed`, never as exceptions.
  explicit Trainer(TrainerOptions options);
  /// Finishes the running step and stops; writes nothing that Finish has not written.
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Queues a command; it takes effect at the next step boundary.
  void send(Command command);
  /// The newest complete snapshot; never nullptr.
  std::shared_ptr<const Snapshot> snapshot() const;
  /// A queue of everything from now on (from the start if called before the first step).
  std::shared_ptr<Feed> subscribe();
  /// The image batches; nullptr while preparing and if shown_images is 0.
  std::shared_ptr<ImageExchange> images() const;
  /// Waits until the state is `finished` or `failed`, or `seconds` have passed. True if it ended.
  bool wait(double seconds);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace warpscope::training
