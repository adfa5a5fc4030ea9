#pragma once
// What the owners of a training share, on the trainer's thread: the device, the data, the engine, what is told of it,
// and each other.

#include <cstdint>
#include <memory>
#include <string>

#include "gpu/core/phases.h"
#include "gpu/engine/engine.h"
#include "gpu/runs/step_speeds.h"
#include "gpu/training/energy_use.h"
#include "gpu/training/inbox.h"
#include "gpu/training/ladder.h"
#include "gpu/training/opening.h"
#include "gpu/training/publishing.h"
#include "gpu/training/recorded_looks.h"
#include "gpu/training/run_keeper.h"
#include "gpu/training/showing.h"
#include "gpu/training/steering.h"
#include "gpu/training/trainer.h"
#include "gpu/training/variant_history.h"
#include "gpu/training/watching.h"
#include "gpu/training/worker/aside_keeper.h"
#include "gpu/training/worker/checkpoint_view.h"
#include "gpu/training/worker/collector.h"
#include "gpu/training/worker/evaluating.h"
#include "gpu/training/worker/kernels_in_use.h"
#include "gpu/training/worker/moment_keeper.h"
#include "gpu/training/worker/rank_keeper.h"
#include "gpu/training/worker/reporter.h"
#include "gpu/training/worker/rewinder.h"
#include "gpu/training/worker/stepping.h"
#include "gpu/training/worker/training_changes.h"
#include "gpu/training/worker/training_keeper.h"

namespace warpscope::training {

struct TrainingContext {
  explicit TrainingContext(const TrainerOptions& options);

  const TrainingSettings& settings() const { return publishing.settings(); }
  /// A run of another process is only looked at.
  bool views() const { return !around.viewed_run.empty(); }
  /// Times of steps are not those of a training by itself.
  bool is_disturbed() const { return disturbed || aside.works(); }
  /// A marker of the curve at the step that was made last.
  void mark(const std::string& text, bool anew = false) {
    publishing.mark(engine->steps(), text, text, anew);
  }

  Surroundings around;
  Inbox inbox;
  Publishing publishing;
  Snapshot& view = publishing.view;
  core::Phases phases;
  const Opening opening{publishing, around, inbox, phases};
  std::shared_ptr<core::Device> device;
  std::shared_ptr<const data::DataSet> data;
  std::string data_checksum;  ///< of all data, before any are held out
  std::unique_ptr<Engine> engine;
  std::unique_ptr<EnergyUse> energy;
  std::unique_ptr<Watching> watching;
  std::unique_ptr<RecordedLooks> recorded;
  const std::shared_ptr<ImageHistory> history;  ///< nullptr if no images are shown
  Showing showing;
  std::unique_ptr<RunKeeper> keeper;
  VariantHistory variant_history;
  Steering steering;
  Ladder ladder;
  StepSpeeds speeds;
  std::uint64_t command = 0;  ///< the number of the one that is carried out
  bool disturbed = false;     ///< something is measured beside the training, in another process or by a job

  Reporter reporter{*this};
  Collector collector{*this};
  Evaluating evaluating{*this};
  Stepping stepping{*this};
  TrainingChanges changes{*this};
  TrainingKeeper trainings{*this};
  MomentKeeper moments{*this};
  Rewinder rewinder{*this};
  KernelsInUse kernels{*this};
  RankKeeper ranks{*this};
  CheckpointView viewing{*this};
  AsideKeeper aside{*this};
};

}  // namespace warpscope::training
