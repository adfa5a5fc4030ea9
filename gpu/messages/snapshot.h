#pragma once
// What the trainer publishes. Snapshots are complete and immutable; the newest replaces the one before.
// Points, markers and log lines are not to be lost, so they travel through feeds (feed.h).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/messages/data_view.h"
#include "gpu/messages/determinism.h"
#include "gpu/messages/evaluation.h"
#include "gpu/messages/feed.h"
#include "gpu/messages/measured.h"
#include "gpu/messages/rank_figures.h"
#include "gpu/messages/run_figures.h"
#include "gpu/messages/user_kernels.h"
#include "gpu/models/model.h"
#include "gpu/ops/op.h"
#include "gpu/plan/selection.h"
#include "gpu/settings/rate_finder.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// Every state the trainer can be in.
enum class TrainerState : std::uint8_t {
  preparing,  ///< opening the device, loading data, building the first plan
  paused,     ///< ready, no step running
  running,
  finished,  ///< all steps or epochs done, results written; takes no more commands but Reset, ReturnTo, Leave and Save
  failed,       ///< an error that ends the run: Snapshot::notice says it
  interrupted,  ///< seen only in a run folder: its process ended without finishing it
};

std::string_view to_string(TrainerState state);

/// One op instance of the training step, by name.
struct OpPlace {
  ops::Op op{};
  std::string layer;  ///< "conv1"; "" for ops of the whole network

  bool operator==(const OpPlace&) const = default;
};

/// Time of one op instance of the training step on the device.
struct OpTiming {
  ops::Op op{};
  std::string layer;        ///< "conv1"; "" for ops of the whole network
  std::string variant;      ///< "" where the call of another op's variant covers this one
  ops::OpShape shape;       ///< OpShape::covered: what the call covers beside its op
  double microseconds = 0;  ///< median of the sampled steps with this variant; 0 before the first sample
  /// `microseconds` before the last switch of this op; 0 if it was never switched.
  double previous_microseconds = 0;
  std::string previous_variant;  ///< "in conv2d.forward" where the call of that op covered this one
  int samples = 0;               ///< sampled steps behind `microseconds`
  double flops = 0;  ///< floating-point operations of one call, by the formulas; 0 of covered ones
  double bytes = 0;  ///< fewest bytes it moves through memory; 0 of covered ones
  /// The op whose call covers this one, which then has no time of its own.
  std::optional<OpPlace> covered_by;
  std::vector<OpPlace> covers;  ///< what its own call covers, in launch order
  std::string reason;           ///< why it does not run as one would expect; "" if it does
  double spread = 0;  ///< of the samples behind `microseconds`, from the first quartile to the third
  double previous_spread = 0;
  int previous_samples = 0;
  Control control;  ///< of the present time to the one before the last switch

  Measured now() const { return {microseconds, spread, static_cast<std::uint64_t>(samples)}; }
  Measured before() const {
    return {previous_microseconds, previous_spread, static_cast<std::uint64_t>(previous_samples)};
  }
};

/// One selection that this run has tried, at one batch size.
struct LadderEntry {
  plan::Selection selection;
  std::string name;  ///< of the preset ("tensor cores"), or what differs from the entry before
  int batch = 0;
  std::uint64_t first_step = 0;  ///< the step after which it was chosen
  std::uint64_t steps = 0;       ///< with it, so far
  double images_per_second = 0;  ///< median over its steps; 0 before the first
  std::size_t plan_bytes = 0;    ///< Snapshot::plan_bytes; 0 if it is not known
  double joules_per_image = 0;   ///< of the whole GPU while it trained with it; 0 if it is not known
  double spread = 0;             ///< of images_per_second, from the first quartile to the third
  std::uint64_t timed = 0;       ///< the steps behind images_per_second
  bool other_network = false;    ///< than that of the entry before
  Control over_first;            ///< of its speed to that of the first entry
  Control over_before;           ///< of its speed to that of the entry before

  Measured speed() const { return {images_per_second, spread, timed}; }
};

/// The learning-rate range test: a sweep from weights that come back afterwards.
struct RateSearch {
  bool running = false;
  double progress = 0;  ///< 0 to 1
  RateFinderResult result;
};

/// The last thing that went wrong in the numbers: a loss that is not finite, a leap or a spike.
struct Divergence {
  std::uint64_t id = 0;  ///< grows with each
  std::uint64_t step = 0;
  std::string text;             ///< what happened and where, in one sentence
  bool can_roll_back = false;   ///< RollBack has weights from before
  std::uint64_t back_step = 0;  ///< that these were trained for
  /// The learning rate that RollBack sets: that of the last step behind these weights, or half of it if it is the
  /// one that diverged.
  float back_rate = 0;
};

/// A training that ReturnTo can go on with.
struct LeftTraining {
  std::uint64_t number = 0;  ///< Snapshot::training
  std::uint64_t step = 0;    ///< at which it was left
  std::optional<std::uint64_t> from =
      {};  ///< the last step that it shares with the training of the snapshot; nothing: none
  std::string changed = {};  ///< in it, right there: "learning rate: 0.01 -> 0.1"
};

/// A change that TakeBack takes back.
struct ChangeMade {
  std::uint64_t command = 0;  ///< the number of the command that made it
  std::uint64_t step = 0;     ///< after which it was made
  bool operator==(const ChangeMade&) const = default;
};

/// Steps that are made again from a moment, to go back to a step that was not kept (RewindTo).
struct Rewind {
  bool running = false;
  std::uint64_t from = 0;  ///< the moment's step
  std::uint64_t to = 0;
  std::uint64_t at = 0;  ///< the last one made again
  bool operator==(const Rewind&) const = default;
};

/// A past step that is computed beside the training (LookAside).
struct Aside {
  std::uint64_t step = 0;  ///< that is wanted; 0: none
  std::uint64_t from = 0;  ///< the moment's step
  std::uint64_t at = 0;    ///< the last one made again
  bool ready = false;      ///< it is there, and is looked into
  std::string problem;     ///< why it cannot be computed, in a sentence; "" if it can, as far as is known
  bool operator==(const Aside&) const = default;
};

/// How far a training has come. A reset begins with a new one.
struct Progress {
  std::uint64_t step = 0;           ///< steps whose loss has arrived
  double epoch = 0;                 ///< passes over the training images, fractional
  double seconds = 0;               ///< of training, pauses not counted
  double images_per_second = 0;     ///< median over the steps of the last second of training
  MetricValues last;                ///< of the last step
  MetricValues last_test;           ///< of the last evaluation of the images that steer
  std::uint64_t skipped_steps = 0;  ///< steps whose gradients overflowed, since the start or reset
  std::shared_ptr<const Evaluation> evaluation;  ///< the last one; nullptr before the first
  std::uint64_t next_evaluation = 0;  ///< the step after which the next one begins; 0 if that is not known
  RunFigures figures;                 ///< as at the end of run.json, so far
};

/// A checkpoint that cannot be looked at.
struct RefusedCheckpoint {
  std::uint64_t step = 0;
  std::string why;  ///< "it is of an earlier network, mlp"
  bool operator==(const RefusedCheckpoint&) const = default;
};

/// The inside of a run that is only looked at: what Observe shows is computed here, from a checkpoint of the run, once
/// somebody asks.
struct Revival {
  std::vector<std::uint64_t> steps;        ///< of the checkpoints, rising
  std::vector<RefusedCheckpoint> refused;  ///< those of them that LookAt cannot choose
  std::uint64_t chosen = 0;                ///< LookAt::step
  std::uint64_t step = 0;                  ///< of the checkpoint that is looked at, once it is `ready`
  bool asked = false;  ///< somebody has asked, so that it is ready soon, or there is a problem
  bool ready = false;
  std::string problem;  ///< why nothing can be looked into, in a sentence; "" if it can, as far as is known

  bool operator==(const Revival&) const = default;
};

/// What a window may ask of the source of a snapshot.
struct Capabilities {
  bool steer = true;        ///< commands change the training
  bool save = true;         ///< checkpoints and settings are written when asked for
  bool look_inside = true;  ///< Observe shows something
  bool files = true;        ///< paths in the snapshot and in commands are of the window's machine too
  /// What the training is where some of that is missing: "running in another process". "" where nothing is.
  std::string why_not = {};

  bool operator==(const Capabilities&) const = default;
};

/// What became of commands that were sent with a number. One sender numbers its commands.
struct Answers {
  static constexpr std::size_t kMost = 64;
  std::uint64_t last = 0;              ///< the last one that was carried out or refused
  std::vector<std::uint64_t> refused;  ///< the newest kMost that were refused

  void note(std::uint64_t number, bool taken) {
    last = std::max(last, number);
    if (taken || number == 0) return;
    if (refused.size() == kMost) refused.erase(refused.begin());
    refused.push_back(number);
  }
  bool is_refused(std::uint64_t number) const {
    return std::find(refused.begin(), refused.end(), number) != refused.end();
  }
};

/// A complete view of the trainer at one moment.
struct Snapshot : Progress {
  TrainerState state = TrainerState::preparing;
  std::string notice;            ///< the last refusal or error, in one sentence; "" if none
  std::uint64_t notice_id = 0;   ///< grows with each new notice, so that equal texts can be told apart
  bool failed_by_input = false;  ///< with `failed`: the caller's input is to blame (exit code 2)
  double started = 0;            ///< when this process began the training: seconds since 1970; 0 if not known
  std::uint64_t generation =
      0;  ///< grows with each reset or return: earlier points do not belong to this training
  /// What trains now. A reset, another network and a return to weights from before divergence begin another one,
  /// numbered `trainings`, and so does divergence itself: its number before is that of the weights from before.
  std::uint64_t training = 0;
  std::uint64_t trainings = 1;  ///< numbers given so far
  std::shared_ptr<const std::vector<LeftTraining>> left = std::make_shared<std::vector<LeftTraining>>();
  /// Steps of the moments that RewindTo has at hand, rising; from the first on it reaches each.
  std::shared_ptr<const std::vector<std::uint64_t>> moments = std::make_shared<std::vector<std::uint64_t>>();
  /// The newest changes of its past, in the order in which they were made.
  std::shared_ptr<const std::vector<ChangeMade>> changes = std::make_shared<std::vector<ChangeMade>>();
  Rewind rewind;  ///< the last one whose steps were made again
  Aside aside;
  bool may_close = false;  ///< after Leave: what was to be kept is on the disk, or cannot be
  std::string kept_in;     ///< after Leave: the folder in which the training was kept; "" if it was not
  std::uint64_t steps_planned = 0;  ///< 0 if there is no limit
  /// All settings as they are now; never nullptr. A change makes another value. The network is without a head, and
  /// `precision` and `select` say what `selection` holds.
  std::shared_ptr<const TrainingSettings> settings = standard_settings();
  std::string model;  ///< its name
  /// What is trained, without a head; nullptr where a run that is viewed does not tell.
  std::shared_ptr<const models::Model> network;
  std::uint64_t network_number = 0;  ///< grows with each change of the network while this process looks on
  bool classifies = false;           ///< the model has labels, classes and an accuracy
  double total_epochs = 0;           ///< length of the run; 0 if there is no limit
  std::size_t parameters = 0;        ///< trained parameters
  plan::Selection selection;
  core::DeviceInfo device;
  /// To choose from; this program's own of what a file or another process tells.
  core::NotSent<ops::Variants> variants = ops::built_in_variants();
  core::MemoryUse memory;          ///< of the device
  std::size_t plan_bytes = 0;      ///< activations, gradients and workspace of a training step
  std::vector<OpTiming> timings;   ///< in launch order
  double step_microseconds = 0;    ///< sum of the timings; 0 as long as a call has none
  std::vector<RankFigures> ranks;  ///< that make the steps together; empty where there is one
  int most_ranks = 1;              ///< that SetRanks can have; 1: their number stays as it is
  std::string why_ranks_stay;      ///< where that is 1, and known: "mpirun says how many ranks there are"
  std::string awaited;             ///< which ranks stand still, in one sentence; "" as long as none does
  std::shared_ptr<const std::vector<LadderEntry>> ladder =
      std::make_shared<std::vector<LadderEntry>>();      ///< in the order in which they were tried
  std::shared_ptr<const DeterminismReport> determinism;  ///< of the last check; nullptr before the first
  std::string data_name;                                 ///< "CIFAR-10", "built-in scenes"
  std::string
      data_notice;  ///< why the built-in set is used if nobody asked for it; what else data::load tells
  std::shared_ptr<const DataView> data;           ///< nullptr while preparing
  std::shared_ptr<const RateSearch> rate_search;  ///< the last one; nullptr before the first
  Divergence divergence;                          ///< id 0: none yet
  std::uint64_t checkpoint_step = 0;              ///< of the newest checkpoint written; 0 before the first
  std::int64_t train_images = 0;
  std::int64_t validation_images = 0;
  std::int64_t test_images = 0;  ///< used by each evaluation
  int test_views = 1;            ///< of each image, by whose mean logits evaluations judge (plan/views.h)
  std::string run_dir;           ///< "" if no run is written
  Capabilities can;
  Answers answers;
  std::optional<Revival> revival;  ///< nothing of a training
  /// Never nullptr; a change makes another value.
  std::shared_ptr<const UserKernels> user_kernels = std::make_shared<UserKernels>();
};

/// What selections of this training choose for. A view of the snapshot.
inline plan::Machine machine_of(const Snapshot& snapshot) {
  return {snapshot.device, *snapshot.variants};
}

/// The run folder, where the window's machine has it; "" where it does not, or none is written.
std::string run_folder_here(const Snapshot& snapshot);

/// Why this training cannot have a head on its latents, in one sentence; "" if it can, as far as is known.
std::string why_no_head(const Snapshot& snapshot);

}  // namespace warpscope::training
