#include "gpu/training/worker/stepping.h"

#include "gpu/messages/running.h"
#include "gpu/training/worker/course.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {

bool Stepping::works() const {
  return training_.view.state == TrainerState::running || steps_to_run_ > 0 ||
         training_.engine->evaluator().running() || rate_search_ || training_.rewinder.running();
}

void Stepping::advance() {
  if (rate_search_) {
    if (!rate_search_->advance()) end_rate_search(false);
    return;
  }
  if (training_.rewinder.running()) return training_.rewinder.advance();
  if (training_.engine->evaluator().running()) {
    return training_.evaluating.advance();
  }
  if (training_.keeper->checkpoint_due() && !training_.steering.diverged()) write_checkpoint(false);
  if (limit_reached(training_)) return finish();
  step();
}

void Stepping::step() {
  training_.engine->set_learning_rate(static_cast<float>(rate_of_next_step(training_)));
  in_step_ = true;
  training_.engine->step(training_.collector.timing_due());
  in_step_ = false;
  if (training_.steering.epoch_ended(training_.settings(), training_.engine->epochs_done()))
    training_.keeper->note_epoch(training_.engine->epochs_done());
  if (steps_to_run_ > 0) {
    --steps_to_run_;
    training_.collector.collect(true);
  }
  const bool evaluates =
      training_.steering.needs_evaluation() || training_.engine->steps() >= next_evaluation(training_);
  if (training_.view.state == TrainerState::running && evaluates && !limit_reached(training_)) {
    training_.collector.collect(true);  // the records of the steps before arrive before the evaluation's
    training_.evaluating.start(Split::validation);
  }
}

void Stepping::write_checkpoint(bool is_best) {
  const core::InnerPhase phase(training_.phases, "checkpoints");
  training_.collector.drain();
  if (training_.steering.pending()) return;  // these weights are not worth keeping
  training_.reporter.publish(true);          // the points up to here reach the recorder
  training_.keeper->write_checkpoint(training_.steering, is_best);
}

void Stepping::finish() {
  steps_to_run_ = 0;
  const bool told = training_.steering.diverged();
  training_.collector.drain();
  training_.collector.handle_divergence();
  if (training_.steering.diverged() && !told) return;  // a window first sees what happened
  if (!training_.steering.stop_reason().empty()) training_.mark(training_.steering.stop_reason());
  if (!training_.steering.diverged()) training_.moments.take_last();
  training_.evaluating.evaluate_all();
  training_.phases.begin("ending");
  training_.showing.show_end(*training_.engine, training_.keeper->recorder());
  training_.engine->synchronize();
  training_.showing.hand_over(*training_.engine, training_.keeper->recorder(), training_.view.generation);
  training_.publishing.end_with(training_.engine->parameters());
  training_.recorded->finish(training_.watching->seen());
  training_.reporter.publish(true);
  training_.keeper->note_confusion();
  if (!training_.settings().save_file.empty()) training_.keeper->save_weights(training_.settings().save_file);
  if (training_.keeper->writes_checkpoints() && !training_.steering.diverged()) {
    if (!training_.keeper->is_written(training_.engine->steps())) write_checkpoint(false);
    training_.keeper->flush();
    training_.reporter.publish(true);  // what the recorder writes last tells of the last checkpoint
    training_.keeper->require_written();
  }
  training_.keeper->finish();
  training_.publishing.end_with(training_.phases.end());
  training_.phases.begin("training");  // somebody may go on
  training_.reporter.set_state(TrainerState::finished);
}

void Stepping::pause() {
  if (training_.view.state != TrainerState::running) return;
  training_.collector.drain();
  training_.reporter.set_state(TrainerState::paused);
}

void Stepping::resume() {
  if (training_.view.state != TrainerState::paused || training_.steering.pending())
    return;  // first it is told what was found
  if (training_.steering.diverged()) {
    training_.steering.clear_divergence();
    training_.steering.restart_statistics();
    training_.engine->clear_halt();
    training_.moments.break_off();
  }
  training_.engine->interrupt();
  training_.reporter.set_state(TrainerState::running);
}

void Stepping::start_rate_search(const RateFinderOptions& options) {
  if (training_.view.state != TrainerState::running && training_.view.state != TrainerState::paused) return;
  check(options);
  training_.collector.drain();
  rate_search_.emplace(*training_.engine, training_.publishing, options);
  training_.reporter.publish(true);
}

EngineState Stepping::give_up_rate_search() {
  EngineState before = rate_search_->give_up();
  rate_search_.reset();
  return before;
}

void Stepping::end_rate_search(bool cancelled) {
  rate_search_->end(cancelled);
  rate_search_.reset();
  training_.trainings.remember();
  training_.engine->interrupt();
  training_.reporter.publish(true);
}

}  // namespace warpscope::training
