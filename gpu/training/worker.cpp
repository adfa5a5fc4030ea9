#include "gpu/training/worker.h"

#include <utility>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/messages/step_calls.h"

namespace warpscope::training {
namespace {

using std::chrono::milliseconds;

constexpr auto kFlushInterval = milliseconds(10);
constexpr auto kMemoryInterval = milliseconds(500);  ///< asking the driver costs up to 0.1 ms
constexpr auto kLadderInterval = milliseconds(250);

}  // namespace

Trainer::Worker::Worker(TrainerOptions options)
    : around_(options),
      history_(options.shown_images > 0 && options.model.loss == models::Loss::mse
                   ? std::make_shared<ImageHistory>()
                   : nullptr),
      showing_(history_, options.image_seconds) {
  view_.started = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  view_.model = options.model.name;
  view_.network = std::make_shared<const models::Model>(options.model);
  view_.classifies = options.model.loss == models::Loss::cross_entropy;
  view_.run_dir = options.run_dir;
  view_.parameters = models::parameter_layout(options.model).count;
  view_.settings = std::make_shared<const TrainingSettings>(std::move(options));
  publishing_.publish(Clock::time_point());
  thread_ = std::thread([this] { run(); });
}

Trainer::Worker::~Worker() {
  inbox_.stop();
  thread_.join();
}

void Trainer::Worker::run() {
  try {
    prepare();
  } catch (const core::BadInput& error) {
    return fail(error.what(), true);
  } catch (const std::exception& error) {
    return fail(core::sentence_of(error), false);
  }
  try {
    loop();
  } catch (const std::exception& error) {
    fail(core::sentence_of(error), false);
  }
}

void Trainer::Worker::loop() {
  phases_.begin("training");
  bool goes_on = true;
  std::optional<WayBack> back;
  while (goes_on) {
    try {
      if (const auto way = std::exchange(back, std::nullopt)) go_back_again(*way);
      goes_on = turn();
    } catch (const ranks::RankMissing& missing) {
      if (rewinding_) back = way_of(*rewinding_);
      go_on_without(missing);
    }
  }
  if (rate_search_) end_rate_search(true);
  if (rewinding_) cancel_rewind("");
  drain();
  if (inbox_.holds<Leave>()) handle_leave();  // the window was closed while this thread was in a long step
  publish(true);
}

bool Trainer::Worker::works() const {
  return view_.state == TrainerState::running || steps_to_run_ > 0 || engine_->evaluator().running() ||
         rate_search_ || rewinding_;
}

/// From one step to the next; false where it is to end.
bool Trainer::Worker::turn() {
  const bool waits = !works();
  if (!waits) engine_->wait_for_room();
  if (!inbox_.wait(milliseconds(waits ? 20 : 0))) return false;
  handle_commands();
  follow_kernels();
  look_at_ranks();
  if (works()) advance();
  const bool trains = !rate_search_ && !rewinding_;
  if (trains) collect(Clock::now() - last_flush_ > kFlushInterval);
  handle_divergence();
  remember_if_due();
  take_moment_if_due();
  if (view_.state != TrainerState::finished && !rewinding_) {
    showing_.show_if_due(*engine_, *watching_, keeper_->recorder());
  }
  showing_.hand_over(*engine_, keeper_->recorder(), view_.generation);
  watching_->look_if_due(trains);
  recorded_->turn(watching_->seen(), trains && view_.state == TrainerState::running && !disturbed_ &&
                                         !engine_->evaluator().running());
  keeper_->watch();
  publish(false);
  return true;
}

void Trainer::Worker::advance() {
  if (rate_search_) {
    if (!rate_search_->advance()) end_rate_search(false);
    return;
  }
  if (rewinding_) return advance_rewind();
  if (engine_->evaluator().running()) {
    const core::InnerPhase phase(phases_, "evaluation");
    engine_->evaluator().enqueue_batch();
    const auto evaluation = engine_->evaluator().collect();
    if (!evaluation) return;
    if (!only_shows_) return note_evaluation(evaluation);
    view_.evaluation = evaluation;
    return publish(true);
  }
  if (keeper_->checkpoint_due() && !steering_.diverged()) write_checkpoint(false);
  if (limit_reached()) return finish();
  step();
}

void Trainer::Worker::step() {
  engine_->set_learning_rate(static_cast<float>(rate_of_next_step()));
  in_step_ = true;
  engine_->step(timing_due());
  in_step_ = false;
  if (steering_.epoch_ended(settings(), engine_->epochs_done())) keeper_->note_epoch(engine_->epochs_done());
  if (steps_to_run_ > 0) {
    --steps_to_run_;
    collect(true);
  }
  const bool evaluates = steering_.needs_evaluation() || engine_->steps() >= next_evaluation();
  if (view_.state == TrainerState::running && evaluates && !limit_reached()) {
    collect(true);  // the records of the steps before arrive before the evaluation's
    start_evaluation(Split::validation);
  }
}

/// One that `only_shows` is for who looks on: nothing is recorded or judged by it.
void Trainer::Worker::start_evaluation(Split split, bool only_shows) {
  only_shows_ = only_shows;
  engine_->evaluator().start(split);
}

double Trainer::Worker::rate_of_next_step() const {
  return steering_.rate(settings(), engine_->epoch(), view_.total_epochs);
}

void Trainer::Worker::write_checkpoint(bool is_best) {
  const core::InnerPhase phase(phases_, "checkpoints");
  drain();
  if (steering_.pending()) return;  // these weights are not worth keeping
  publish(true);                    // the points up to here reach the recorder
  keeper_->write_checkpoint(steering_, is_best);
}

void Trainer::Worker::finish() {
  steps_to_run_ = 0;
  const bool told = steering_.diverged();
  drain();
  handle_divergence();
  if (steering_.diverged() && !told) return;  // a window first sees what happened
  if (!steering_.stop_reason().empty()) mark(steering_.stop_reason());
  evaluate_all();
  phases_.begin("ending");
  showing_.show_end(*engine_, keeper_->recorder());
  engine_->synchronize();
  showing_.hand_over(*engine_, keeper_->recorder(), view_.generation);
  publishing_.end_with(engine_->parameters());
  recorded_->finish(watching_->seen());
  publish(true);
  keeper_->note_confusion();
  if (!settings().save_file.empty()) keeper_->save_weights(settings().save_file);
  if (keeper_->writes_checkpoints() && !steering_.diverged()) {
    if (!keeper_->is_written(engine_->steps())) write_checkpoint(false);
    keeper_->flush();
    publish(true);  // what the recorder writes last tells of the last checkpoint
    keeper_->require_written();
  }
  keeper_->finish();
  publishing_.end_with(phases_.end());
  phases_.begin("training");  // somebody may go on
  set_state(TrainerState::finished);
}

/// What is known at the end: the held-out images that steered, and then the test set.
void Trainer::Worker::evaluate_all() {
  const core::InnerPhase phase(phases_, "evaluation");
  for (const Split split : {Split::validation, Split::test}) {
    if (split == Split::validation && data_->validation.count == 0) continue;
    if (!engine_->evaluator().running() || only_shows_ || split == Split::test) start_evaluation(split);
    while (!engine_->evaluator().enqueue_batch()) {
    }
    engine_->synchronize();
    if (const auto evaluation = engine_->evaluator().collect()) note_evaluation(evaluation);
  }
}

void Trainer::Worker::fail(const std::string& why, bool by_input) {
  view_.failed_by_input = by_input;
  publishing_.tell(why, LogLevel::error);
  publish(true);  // the last points reach the recorder before it closes
  if (keeper_) keeper_->fail(why);
  while (const auto waiting = inbox_.take()) view_.answers.note(waiting->number, false);
  set_state(TrainerState::failed);
}

void Trainer::Worker::set_state(TrainerState state) {
  view_.state = state;
  publish(true);
}

void Trainer::Worker::publish(bool force) {
  const auto now = Clock::now();
  if (!force && !publishing_.due(now)) return;
  if (device_ && (force || now - last_memory_ > kMemoryInterval)) {
    last_memory_ = now;
    view_.memory = device_->memory();
  }
  if (engine_) {
    if (force || now - last_ladder_ > kLadderInterval) {
      last_ladder_ = now;
      measure_energy();
      view_.ladder = ladder_.entries();
      view_.images_per_second = speeds_.median().value_or(view_.images_per_second);
    }
    view_.next_evaluation = next_evaluation();
    view_.timings = engine_->timings().timings();
    view_.step_microseconds = 0;
    if (all_timed(view_.timings)) {
      for (const OpTiming& timing : view_.timings) view_.step_microseconds += timing.microseconds;
    }
  }
  publishing_.publish(now);
}

/// What a stretch of undisturbed training took goes to the ladder's last entry.
void Trainer::Worker::measure_energy() {
  if (view_.state != TrainerState::running || rate_search_) return energy_->rest();
  if (disturbed_) return energy_->interrupt();
  const auto stretch = energy_->measure(view_.step);
  if (!stretch) return;
  // The joules are those of this rank's device.
  const auto images = static_cast<double>(stretch->steps) * engine_->images_of_rank();
  ladder_.add_energy(stretch->joules, images, stretch->seconds);
}

}  // namespace warpscope::training
