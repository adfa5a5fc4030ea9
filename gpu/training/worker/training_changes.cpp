#include "gpu/training/worker/training_changes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/messages/running.h"
#include "gpu/models/model_file.h"
#include "gpu/plan/presets.h"
#include "gpu/settings/setting.h"
#include "gpu/training/engine_change.h"
#include "gpu/training/worker/course.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

/// As a run folder will hold it. Throws core::BadInput if it cannot be held.
models::Model as_written(const models::Model& network) {
  models::Model named = models::with_name_of_its_own(models::with_head(network, 0));
  models::check_model(named);
  models::Model read = models::model_of(models::text_of(named));
  if (read != named) {
    throw core::BadInput(
        fmt::format("network {} has settings that no file of a network can hold", named.name));
  }
  return named;
}

/// Throws core::BadInput for what changes what a training that has ended has learned.
void refuse_after_end(const Configuration& change) {
  for (const Setting& row : settings()) {
    if (!row.shapes_weights || !change.has(row.name)) continue;
    throw core::BadInput(fmt::format(
        "the training has ended: {} can change once it goes on, as with more epochs, steps or time",
        label_of(row)));
  }
}

}  // namespace

void TrainingChanges::select(const plan::Selection& selection) {
  const std::string change =
      plan::describe_change(training_.view.selection, selection, machine_of(training_.view));
  if (change.empty()) return;
  const std::string preset =
      plan::chosen_preset(training_.view.selection, selection, machine_of(training_.view));
  plan::check_precision(machine_of(training_.view), selection.precision);
  choose(selection, training_.view.variants, preset.empty() ? change : fmt::format("preset {}", preset));
  const std::string covered = with_covered(change, training_.engine->timings().timings());
  if (preset.empty()) {
    training_.mark(covered);
  } else {
    training_.publishing.mark(training_.engine->steps(), fmt::format("preset {}; {}", preset, covered),
                              fmt::format("preset {}", preset));
  }
  clip_by_default();
  training_.keeper->note_settings();
  training_.reporter.publish(true);
}

/// From the next step on; `kernel`: another version of a user's kernel, by name.
void TrainingChanges::choose(const plan::Selection& selection, const ops::Variants& variants,
                             const std::string& what, const std::string& kernel) {
  training_.collector.drain();  // the speeds of the steps under way belong to the selection before
  training_.moments.keep_before_change();
  training_.engine->set_selection(selection, variants);
  training_.evaluating.forget();
  training_.variant_history.note(training_.view.settings, training_.view.variants);
  if (variants != training_.view.variants) take_table(variants);
  note_selection(selection);
  training_.variant_history.note(training_.view.settings, training_.view.variants);
  training_.ladder.change_kernel(kernel);
  note_choice();
  training_.moments.note_change(what);
  training_.kernels.note_those_that_run();
  training_.view.plan_bytes = training_.engine->plan_bytes();
  training_.speeds.clear();
  show_anew();
}

void TrainingChanges::clip_by_default() {
  if (training_.around.clip_chosen) return;
  const float norm = standard_clip_norm(training_.view.selection.precision);
  Configuration clips;
  clips.put(setting("clip_norm"), static_cast<double>(norm));
  training_.reporter.attempt([&] { change(clips); });
  training_.around.clip_chosen = false;
}

void TrainingChanges::change(const Configuration& change) {
  const std::shared_ptr<const TrainingSettings> before = training_.view.settings;
  const TrainingSettings after = changed(*before, change);
  const Configuration different = difference(*before, after);
  if (different.empty()) return;
  const bool ended = training_.view.state == TrainerState::finished;
  if (ended) refuse_after_end(different);
  if (needs_length(after.schedule.kind)) check_length(after.schedule, planned_epochs(training_, after));
  const bool other_steps = !same_steps(*before, after);
  if (other_steps)
    training_.collector.drain();  // the speeds of the steps under way belong to the settings before
  training_.moments.keep_before_change();
  training::change(*training_.engine, *before, after);
  training_.view.settings = std::make_shared<const TrainingSettings>(after);
  const std::string what = describe_change(values_of(*before, different), different);
  training_.moments.note_change(what);
  training_.mark(what);
  if (other_steps) training_.speeds.clear();
  follow_change(*before);
  training_.keeper->note_settings();
  if (ended) go_on_after_end(*before);
  training_.reporter.publish(true);
}

/// Where the limits are others, and none of them is reached.
void TrainingChanges::go_on_after_end(const TrainingSettings& before) {
  const TrainingSettings& now = training_.settings();
  if (now.epochs == before.epochs && now.steps == before.steps && now.stop == before.stop) return;
  training_.steering.judge_before(now, training_.view.seconds, to_string(steering_split(training_)));
  if (limit_reached(training_)) return;
  training_.keeper->go_on();
  training_.view.state = TrainerState::paused;
}

/// What the owners remember of the training follows its new settings, which the engine has.
void TrainingChanges::follow_change(const TrainingSettings& before) {
  const OptimizerSettings &was = before.optimizer, &now = training_.settings().optimizer;
  training_.around.clip_chosen = training_.around.clip_chosen || now.clip_norm != was.clip_norm;
  training_.steering.follow(before, training_.settings());
  if (!(training_.settings().augment == before.augment)) training_.watching->look_anew();
  training_.reporter.note_sizes();
  plan_steps(training_);
  if (training_.settings().batch != before.batch) note_choice();
  const bool other_state = now.rule != was.rule || (now.joint > 0) != (was.joint > 0) ||
                           now.accumulate != was.accumulate || now.per_sample != was.per_sample;
  if (other_state) training_.trainings.remember();  // state of another optimizer cannot come back
}

void TrainingChanges::note_selection(const plan::Selection& selection) {
  training_.view.selection = selection;
  training_.publishing.edit_settings([&](TrainingSettings& s) {
    s.precision = selection.precision;
    s.select = plan::selection_text(selection);
  });
}

void TrainingChanges::note_choice() {
  training_.energy->interrupt();
  training_.ladder.choose(training_.view.selection, training_.settings().batch, training_.engine->steps(),
                          machine_of(training_.view), training_.engine->timings().timings(),
                          training_.engine->plan_bytes());
}

void TrainingChanges::check_determinism() {
  training_.collector.drain();
  auto report = std::make_shared<DeterminismReport>(training_.engine->check_determinism());
  report->id = training_.view.determinism ? training_.view.determinism->id + 1 : 1;
  const auto differ = std::count_if(report->tensors.begin(), report->tensors.end(),
                                    [](const TensorDifference& tensor) { return tensor.different > 0; });
  training_.publishing.log(
      LogLevel::info,
      differ == 0 ? "the same step twice: all bits equal in " +
                        files::counted(static_cast<std::int64_t>(report->tensors.size()), "tensor")
                  : fmt::format("the same step twice: bits differ in {} of {}", differ,
                                files::counted(static_cast<std::int64_t>(report->tensors.size()), "tensor")));
  training_.view.determinism = std::move(report);
  training_.reporter.publish(true);
}

void TrainingChanges::reset() {
  training_.trainings.keep(training_.trainings.left_now());
  if (training_.keeper->writes_checkpoints() && training_.engine->steps() > 0 &&
      !training_.keeper->is_written(training_.engine->steps()) && !training_.steering.diverged()) {
    training_.stepping.write_checkpoint(false);
    training_.keeper->flush();
  }
  training_.reporter.publish(true);  // the points of the old curve leave before the restart
  training_.engine->reset();
  training_.steering = {};
  training_.speeds.clear();
  training_.collector.restart();
  training_.stepping.forget_single_steps();
  training_.showing.restart();
  training_.keeper->begin_training();
  training_.trainings.tree().begin(training_.view.trainings);
  training_.trainings.begin_training();
  training_.trainings.list_left();
  training_.watching->look_anew();
  static_cast<Progress&>(training_.view) = {};
  training_.view.divergence = Divergence{.id = training_.view.divergence.id, .text = ""};
  ++training_.view.generation;
  plan_steps(training_);
  training_.trainings.remember();
  training_.publishing.emit(Restart{training_.view.generation});
  training_.moments.begin();
  training_.publishing.log(LogLevel::info,
                           "reset: first weights, step 0; undo brings the earlier training back");
  if (training_.view.state == TrainerState::finished) {
    training_.keeper->go_on();
    training_.view.state = TrainerState::paused;
  }
  training_.reporter.publish(true);
}

void TrainingChanges::set_network(const models::Model& network) {
  const models::Model named = as_written(network);
  if (named == training_.settings().model) return;
  training_.collector.drain();  // the speeds of the steps under way belong to the network before
  if (training_.steering.pending()) {
    throw core::BadInput("the training has just diverged: the network can be changed once it is told where");
  }
  LeftState before = training_.trainings.left_now();
  training_.moments.keep_before_change();
  const CarriedOver carried = training_.engine->set_network(named);
  training_.trainings.tree().begin_behind(training_.view.trainings, training_.view.training,
                                          training_.engine->steps());
  training_.trainings.tree().note(
      training_.view.trainings, training_.engine->steps(),
      fmt::format("network: {} -> {}", training_.settings().model.name, named.name), training_.command);
  training_.trainings.keep(std::move(before));
  training_.trainings.begin_training();
  training_.trainings.list_left();
  training_.publishing.edit_settings([&](TrainingSettings& s) {
    s.model = named;
    s.init_file.clear();
    s.init_partly = false;
  });
  follow_network();
  training_.trainings.remember();
  training_.moments.break_off();
  training_.mark(fmt::format("network changed: {} of {} carried over", carried.tensors,
                             files::counted(carried.of, "tensor")));
  if (training_.keeper->writes_checkpoints()) {
    // run.json names the new network only once there is a checkpoint of it to go on from.
    training_.keeper->follow(named);
    training_.stepping.write_checkpoint(false);
    training_.keeper->flush();
  }
  training_.keeper->note_settings();
  training_.reporter.publish(true);
}

void TrainingChanges::follow_network() {
  training_.moments.forget_first_weights();
  training_.view.network = std::make_shared<const models::Model>(training_.settings().model);
  ++training_.view.network_number;
  training_.view.evaluation = nullptr;
  training_.view.last_test = {};
  training_.view.model = training_.settings().model.name;
  training_.reporter.note_sizes();
  training_.view.divergence.can_roll_back = false;
  training_.ladder.change_network();
  note_choice();
  training_.speeds.clear();
  show_anew();
  training_.steering.restart_statistics();
  training_.steering.forget_evaluations();
  training_.watching->follow_network();
  training_.recorded->follow_network();
}

void TrainingChanges::show_anew() {
  training_.showing.show_anew();
  training_.watching->forget_costs();
}

void TrainingChanges::take_table(ops::Variants variants) {
  training_.engine->set_variants(variants);
  training_.view.variants = std::move(variants);
  training_.variant_history.note(training_.view.generation, training_.engine->steps(),
                                 training_.view.variants);
}

}  // namespace warpscope::training
