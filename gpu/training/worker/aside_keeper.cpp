#include "gpu/training/worker/aside_keeper.h"

#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/file.h"
#include "gpu/files/text.h"
#include "gpu/messages/kept_view.h"
#include "gpu/plan/selection.h"
#include "gpu/training/aside_start.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

std::string past_step(std::uint64_t step) {
  return fmt::format("step {}", files::grouped(step));
}

/// What views show of a past step.
ObservationRequest asked_of_past(const ObservationRequest& all) {
  ObservationRequest asked;
  asked.inspected_image = all.inspected_image;
  asked.inspected_parameters = all.inspected_parameters;
  asked.distributions = all.distributions;
  asked.latents.map = all.latents.map;
  asked.activations_of = all.activations_of;
  asked.typed_text = all.typed_text;
  asked.held_out_texts = all.held_out_texts;
  return asked;
}

}  // namespace

/// Throws core::BadInput for what cannot be asked for now. That a moment is there is found out later.
void AsideKeeper::refuse(std::uint64_t step) const {
  if (training_.around.ranks && !can_be_made_by_one_rank(training_.settings())) {
    throw core::BadInput(
        "one rank computes a past step aside, and these draw or normalize for their own parts of a batch: "
        "deterministic training makes it possible");
  }
  if (training_.rewinder.running() || training_.stepping.searches_rate()) {
    throw core::BadInput(
        fmt::format("{} can be computed aside once the training is back at its own steps", past_step(step)));
  }
  if (step >= training_.engine->steps()) {
    throw core::BadInput(fmt::format("{} is not a past one: the training is at {}", past_step(step),
                                     past_step(training_.engine->steps())));
  }
}

TrainerOptions AsideKeeper::options(std::uint64_t step) const {
  auto start = std::make_shared<AsideStart>();
  start->moment = training_.rewinder.moment_for({.to = step});
  const std::string& network = start->moment.settings->model.name;
  if (start->moment.settings->model != training_.settings().model) {
    throw core::BadInput(fmt::format("{} was made by another network, {}: only a rewind leads there",
                                     past_step(step), files::sayable(network)));
  }
  start->to = step;
  start->generation = training_.view.generation;
  start->notes = training_.moments.kept().notes();
  start->variants = training_.variant_history;
  start->measured = training_.engine->options().measured;
  start->device_data = training_.engine->device_data();
  TrainerOptions made;
  static_cast<TrainingSettings&>(made) = training_.settings();
  made.init_file.clear();
  made.init_partly = false;
  made.save_file.clear();
  made.run_dir.clear();
  made.record = made.probe = false;
  made.clip_chosen = true;
  made.keeps_moments = false;
  made.shown_images = 0;
  made.variants = training_.view.variants;
  made.data_set = training_.data;
  made.shared = training_.around.shared;
  made.start_paused = true;
  made.aside = std::move(start);
  return made;
}

void AsideKeeper::look(std::uint64_t step) {
  if (step == 0) return let_go();
  const bool there = (trainer_ || waiting_) && step == training_.view.aside.step &&
                     generation_ == training_.view.generation && network_ == training_.view.network_number;
  if (there) return;
  refuse(step);
  std::optional<TrainerOptions> made;
  try {
    made = options(step);
  } catch (const std::bad_alloc& error) {
    throw core::OutOfMemory(core::sentence_of(error));
  }
  let_go();
  waiting_ = std::move(made);
  const std::uint64_t from = waiting_->aside->moment.step;
  if (training_.around.ranks && !training_.settings().deterministic) {
    training_.publishing.log(
        LogLevel::info,
        fmt::format("{} is computed aside by one rank, whose bits may differ", past_step(step)));
  }
  training_.view.aside = {.step = step, .from = from, .at = from, .ready = false, .problem = ""};
  generation_ = training_.view.generation;
  network_ = training_.view.network_number;
  begin();
  training_.reporter.publish(true);
}

/// Once there is none of another step any more, so that there are never two beside the training.
void AsideKeeper::begin() {
  if (!waiting_ || ends_) return;
  try {
    trainer_ = std::make_unique<Trainer>(*std::exchange(waiting_, std::nullopt));
    trainer_->send(Observe{asked_of_past(request_)});
  } catch (const std::exception& error) {  // no thread, or no memory
    fail(core::sentence_of(error));
  }
}

void AsideKeeper::observe(const ObservationRequest& request) {
  request_ = request;
  if (trainer_) trainer_->send(Observe{asked_of_past(request_)});
}

bool AsideKeeper::works() const {
  if (ends_ || waiting_) return true;
  return trainer_ && (!training_.view.aside.ready || evaluates_);
}

void AsideKeeper::turn() {
  if (training_.view.aside.step == 0) return;
  if (generation_ != training_.view.generation || network_ != training_.view.network_number) return let_go();
  begin();
  if (!trainer_) return;
  const std::shared_ptr<const Snapshot> inside = trainer_->snapshot();
  if (inside->state == TrainerState::failed) return fail(inside->notice);
  Aside& told = training_.view.aside;
  if (inside->state == TrainerState::paused && inside->rewind.running) told.at = inside->rewind.at;
  const bool was_ready = told.ready;
  told.ready = inside->state == TrainerState::paused && !inside->rewind.running;
  if (!told.ready) return;
  told.at = told.step;
  show(*inside);
  if (!was_ready) training_.reporter.publish(true);
}

/// What has been seen of that step.
void AsideKeeper::show(const Snapshot& inside) {
  const Observations all = trainer_->observations();
  if (all.latents != latents_) {
    latents_ = all.latents;
    places_ = latents_ && latents_->problem.empty() ? places_of(*latents_) : latents_;
  }
  AsideSeen seen{.step = training_.view.aside.step,
                 .generation = generation_,
                 .inspection = all.inspection,
                 .distributions = all.distributions,
                 .latents = places_,
                 .activations = all.activations,
                 .typed_text = all.typed_text,
                 .held_out_texts = all.held_out_texts,
                 .evaluation = nullptr};
  if (inside.evaluation && inside.evaluation->step == seen.step) seen.evaluation = inside.evaluation;
  evaluates_ = inside.classifies && !seen.evaluation && inside.divergence.id == 0;
  if (seen == seen_) return;
  seen_ = std::move(seen);
  training_.watching->show_aside(std::make_shared<const AsideSeen>(seen_));
}

void AsideKeeper::fail(const std::string& why) {
  Aside& told = training_.view.aside;
  told.problem = fmt::format("{} cannot be computed aside: {}", past_step(told.step), why);
  end_trainer();
  training_.publishing.tell(told.problem);
  training_.reporter.publish(true);
}

void AsideKeeper::let_go() {
  if (training_.view.aside == Aside()) return;
  training_.view.aside = {};
  end_trainer();
  training_.reporter.publish(true);
}

/// It may be in the middle of a step.
void AsideKeeper::end_trainer() {
  waiting_.reset();
  seen_ = {};
  latents_ = places_ = nullptr;
  training_.watching->show_aside(nullptr);
  if (!trainer_) return;
  ends_ = true;
  try {
    ending_ = std::jthread([this, trainer = std::move(trainer_)]() mutable {
      trainer.reset();
      ends_ = false;
    });
  } catch (const std::system_error&) {  // no thread: it ended here
    ends_ = false;
  }
}

}  // namespace warpscope::training
