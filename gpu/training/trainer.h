#pragma once
// The trainer: a worker thread that owns the stream, the weights and the optimizer state, takes commands at
// step boundaries, and publishes snapshots, feeds and image batches. No call here waits for the device.

#include <cstdint>
#include <memory>
#include <string>

#include "gpu/core/device.h"
#include "gpu/data/dataset.h"
#include "gpu/messages/source.h"
#include "gpu/models/model.h"
#include "gpu/plan/selection.h"
#include "gpu/settings/optimizer_settings.h"
#include "gpu/settings/schedule.h"
#include "gpu/settings/stability.h"

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
  std::string settings_file;     ///< TOML file that SaveSettings replaces; "" for none
  std::string init_file;         ///< safetensors with the initial weights; "" for He-normal from the seed
  std::string save_file;         ///< safetensors written at the end; "" for none
  std::string run_dir;           ///< run folder; "" writes no run
  std::string resume_dir;        ///< run folder to go on with, from its newest checkpoint; "" for none
  int checkpoint_epochs = 1;     ///< a checkpoint every so many epochs; 0: at the end alone
  int keep_checkpoints = 3;      ///< beside the best one
  int shown_images = 32;         ///< held-out images reconstructed for the reader; 0 for none
  double image_seconds = 0.1;    ///< between two reconstructions, at the least
  std::int64_t test_images = 0;  ///< test images per test; 0: all on CUDA, 256 on the CPU
  bool start_paused = false;
  bool pause_on_divergence =
      false;  ///< a loss that is no number, or a spike, pauses (a window) instead of failing (headless)
};

class Trainer : public Source {
 public:
  /// Starts the worker. Errors appear as state `failed`, never as exceptions.
  explicit Trainer(TrainerOptions options);
  /// Finishes the running step and stops; writes nothing that Finish has not written.
  ~Trainer() override;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  void send(Command command) override;
  std::shared_ptr<const Snapshot> snapshot() const override;
  std::shared_ptr<Feed> subscribe() override;
  std::shared_ptr<ImageExchange> images() const override;
  std::shared_ptr<core::Device> device() const override;
  /// Waits until the state is `finished` or `failed`, or `seconds` have passed. True if it ended.
  bool wait(double seconds);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace warpscope::training
