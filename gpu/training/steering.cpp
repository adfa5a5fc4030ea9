#include "gpu/training/steering.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

namespace warpscope::training {

double Steering::rate(const TrainingSettings& settings, double epoch, double total_epochs) const {
  const auto base = static_cast<double>(settings.optimizer.learning_rate);
  if (settings.schedule.kind == ScheduleKind::plateau) return rate_at(settings.schedule, now_.plateau, base);
  return rate_at(settings.schedule, base, epoch, total_epochs);
}

bool Steering::epoch_ended(const TrainingSettings& settings, std::uint64_t epochs_done) {
  if (epochs_done <= now_.epochs_seen) return false;
  now_.epochs_seen = epochs_done;
  now_.plateau_due = settings.schedule.kind == ScheduleKind::plateau;
  return true;
}

std::optional<Verdict> Steering::judge(const TrainingSettings& settings, const StepResult& step,
                                       double seconds) {
  if (now_.stop_reason.empty()) now_.stop_reason = stop_after_time(settings.stop, seconds);
  if (now_.diverged) return std::nullopt;
  const Verdict verdict = observe(settings.spikes, now_.spikes, step.loss, step.skipped);
  if (verdict.stability == Stability::fine) return std::nullopt;
  now_.diverged = now_.pending = true;
  now_.loss_was_finite = verdict.stability != Stability::not_finite;
  return verdict;
}

std::string Steering::judge(const TrainingSettings& settings, const Evaluation& evaluation) {
  std::string change;
  if (std::exchange(now_.plateau_due, false) && settings.schedule.kind == ScheduleKind::plateau) {
    const auto base = static_cast<double>(settings.optimizer.learning_rate);
    const double before = rate_at(settings.schedule, now_.plateau, base);
    now_.plateau = observe(settings.schedule, now_.plateau, base, evaluation.loss);
    const double after = rate_at(settings.schedule, now_.plateau, base);
    if (after != before) change = fmt::format("plateau: learning rate {:g} -> {:g}", before, after);
  }
  if (now_.stop_reason.empty()) {
    now_.stops.accuracy = evaluation.accuracy;
    now_.stop_reason =
        stop_after_evaluation(settings.stop, now_.stops, evaluation.loss, to_string(evaluation.split));
  }
  return change;
}

void Steering::judge_before(const TrainingSettings& settings, double seconds, std::string_view which) {
  now_.stop_reason = stop_after_evaluations(settings.stop, now_.stops, which);
  if (now_.stop_reason.empty()) now_.stop_reason = stop_after_time(settings.stop, seconds);
}

bool Steering::is_best(const Evaluation& evaluation) const {
  return std::isfinite(evaluation.loss) && (!now_.best_loss || evaluation.loss < *now_.best_loss);
}

bool Steering::take_pending() {
  return std::exchange(now_.pending, false);
}

void Steering::take_losses_of(const Steering& later) {
  now_.spikes = later.now_.spikes;
  now_.stop_reason = later.now_.stop_reason;
  now_.diverged = later.now_.diverged;
  now_.pending = later.now_.pending;
  now_.loss_was_finite = later.now_.loss_was_finite;
}

void Steering::follow(const TrainingSettings& before, const TrainingSettings& now) {
  const bool other_schedule = !(now.schedule == before.schedule);
  if (other_schedule) now_.plateau = {};
  if (!(now.augment == before.augment)) restart_statistics();  // other images have other losses
  if (other_schedule || !(now.optimizer == before.optimizer)) watch_for_forgetting(now_.spikes);
}

void Steering::forget_evaluations() {
  now_.best_loss.reset();
  now_.stops = {};
  now_.plateau.best.reset();
  now_.plateau.bad_epochs = 0;
}

nlohmann::json Steering::written() const {
  return {{"evaluation_step", now_.evaluation_step},
          {"plateau", now_.plateau},
          {"spikes", now_.spikes},
          {"stops", now_.stops},
          {"best_loss", now_.best_loss ? nlohmann::json(*now_.best_loss) : nlohmann::json()}};
}

void Steering::read(const nlohmann::json& json, std::uint64_t epochs_done) {
  now_.evaluation_step = json.value("evaluation_step", std::uint64_t{0});
  if (json.contains("plateau")) json["plateau"].get_to(now_.plateau);
  if (json.contains("spikes")) json["spikes"].get_to(now_.spikes);
  if (json.contains("stops")) json["stops"].get_to(now_.stops);
  if (json.contains("best_loss") && json["best_loss"].is_number()) now_.best_loss = json["best_loss"];
  now_.epochs_seen = epochs_done;
}

}  // namespace warpscope::training
