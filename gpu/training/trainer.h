#pragma once
// The trainer: a worker thread that owns the stream, the weights and the optimizer state, takes commands at
// step boundaries, and publishes snapshots, feeds and image batches. No call here waits for the device.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/core/phases.h"
#include "gpu/data/dataset.h"
#include "gpu/data/known_data.h"
#include "gpu/messages/source.h"
#include "gpu/ranks/group.h"
#include "gpu/runs/run_kernels.h"
#include "gpu/settings/configuration.h"
#include "gpu/settings/training_settings.h"
#include "gpu/user_kernels/workshop.h"

namespace warpscope::training {

class RunFolder;
class SharedDevices;
struct AsideStart;
struct HandOver;

/// Ranks beside this one, which is rank 0.
struct StartedMeeting {
  std::shared_ptr<ranks::Meeting> meeting;
  std::shared_ptr<void> processes;  ///< which end with it
};

/// Where a training gets other ranks than those that it began with.
struct RankSupply {
  /// Starts ranks, this one counted: from 2 up. Throws core::Error. nullptr: the ranks stay as they are.
  std::function<StartedMeeting(int ranks)> start;
  /// The devices that ranks can have, `own` first: as many as there can be ranks.
  std::function<std::vector<std::string>(const core::DeviceInfo& own)> devices;
  std::string why_not = "the number of ranks cannot change here";  ///< where they stay as they are
};

/// What surrounds a training, as long as it lasts, and another process can be told.
struct PlainSurroundings {
  /// `optimizer.clip_norm` is somebody's choice; else it is 1 in fp16 and 0 otherwise.
  bool clip_chosen = false;
  std::string settings_file;  ///< TOML file that SaveSettings replaces; "" for none
  std::string measured_dir;   ///< where measured choices of variants are kept; "": none are measured
  std::string unsaved_dir;    ///< where Leave keeps a training that nobody records; "" for nowhere
  /// Where a window records by itself and for training::Record, and whose full disk or lost permission ends recording
  /// only, not the training; "" for neither.
  std::string record_dir;
  bool keeps_moments = true;  ///< somebody may go back to them
  /// Seconds of training that are worth keeping: what is shorter is begun again sooner than found.
  double unsaved_seconds = 2;
  int shown_images = 32;          ///< held-out images reconstructed for the reader; 0 for none
  double image_seconds = 0.1;     ///< between two reconstructions, at the least
  double recorded_share = 0.005;  ///< of the time, for looks that only the run folder keeps
  /// Another process goes on with it if its device fails: Ending::hand_over (gpu/remote/lasting_training.h).
  bool goes_on_elsewhere = false;
};

/// What surrounds a training, as long as it lasts.
struct Surroundings : PlainSurroundings {
  ops::Variants variants = ops::built_in_variants();  ///< to choose from
  std::vector<runs::KernelFile> kernels;              ///< of those that people wrote: the run keeps them
  user_kernels::LiveKernels live_kernels;             ///< watched while it trains
  std::shared_ptr<const data::DataSet> data_set;      ///< used instead of `data` if set
  data::KnownData
      known_data;  ///< what the run that is gone on with, or whose settings these are, tells of its data
  Configuration
      given;  ///< by a person: what ranks with a command line of their own are given must agree with it
  std::string resume_dir;              ///< run folder to go on with, from its newest checkpoint; "" for none
  std::shared_ptr<RunFolder> resumed;  ///< that one, if it is held already; the trainer takes it
  /// Run folder whose checkpoints are looked at: the training stands still at one of them, which LookAt chooses, and
  /// nothing is written. Where this device lacks the precision or a variant of the run, its own takes that place. ""
  /// for none.
  std::string viewed_run;
  std::shared_ptr<const HandOver> handed_over;  ///< by a process that could not go on; nullptr: by none
  /// A past step of another training, whose data are `data_set` and at which this one stands still once it is made
  /// again; nothing is written, and what keeps it from that fails this training. nullptr: of none.
  std::shared_ptr<const AsideStart> aside;
  bool start_paused = false;
  std::shared_ptr<SharedDevices> shared;  ///< with trainings beside it; nullptr: nothing is
  std::shared_ptr<ranks::Meeting>
      ranks;  ///< that make the steps with this one, which is rank 0; nullptr: there are none
  std::vector<std::string>
      devices;  ///< of all ranks, as core::open_device takes them; empty: that of this one
  std::shared_ptr<void> rank_processes;  ///< StartedMeeting::processes of `ranks`
  RankSupply rank_supply;
};

/// What a training leaves when it has finished.
struct Ending {
  /// The weights, in models::ParameterLayout; nullptr before. They are there a moment before the state is `finished`:
  /// last files are written then.
  std::shared_ptr<const std::vector<float>> parameters;
  /// Where its time went, by the clock of its thread: device, data, network, training, evaluation, checkpoints, ending.
  /// What the device does while the thread waits counts where it waits.
  std::vector<core::PhaseTime> phases;
  /// What another process goes on with, once the device has failed; nullptr before. The state is `preparing` from then
  /// on.
  std::shared_ptr<const HandOver> hand_over;
};

/// What a training is made of. Names are checked when the trainer prepares; a bad one makes it `failed` by input.
struct TrainerOptions : TrainingSettings, Surroundings {};

class Trainer : public Source {
 public:
  /// Starts the worker. Errors appear as state `failed`, never as exceptions.
  explicit Trainer(TrainerOptions options);
  /// Finishes the running step and stops; writes nothing that Finish has not written.
  ~Trainer() override;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  std::shared_ptr<const Snapshot> snapshot() const override;
  /// The first subscriber gets all that came since the beginning, unless that is more than 100,000 items.
  std::shared_ptr<Feed> subscribe() override;
  std::shared_ptr<ImageExchange> images() const override;
  std::shared_ptr<const ImageHistory> history() const override;
  Observations observations() const override;
  jobs::Jobs* jobs() override;
  Ending ending() const;
  /// Commands that came behind Ending::hand_over, once: who goes on carries them out.
  std::vector<NumberedCommand> take_unread();
  /// Waits until a published snapshot fulfils `condition`, or `seconds` have passed. True if one did. The
  /// condition is asked of the newest snapshot and then of each newer one, by the calling thread.
  bool wait_until(const std::function<bool(const Snapshot&)>& condition, double seconds) const;
  /// Waits until the state is `finished` or `failed`, or `seconds` have passed. True if it ended.
  bool wait(double seconds) const;
  /// The same, or until the weights of ending() are there.
  bool wait_for_parameters(double seconds) const;

 private:
  class Worker;
  void queue(Command command, std::uint64_t number) override;

  const std::shared_ptr<SharedDevices> shared_;
  std::unique_ptr<Worker> worker_;
  std::once_flag jobs_begun_;
  std::unique_ptr<jobs::Jobs> jobs_;  ///< ends before the worker does
};

}  // namespace warpscope::training
