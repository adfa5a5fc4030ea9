#include "gpu/training/steering.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

namespace warpscope::training {

double Steering::rate(const TrainingSettings& settings, double epoch, double total_epochs) const {
  const auto base = static_cast<double>(settings.optimizer.learning_rate);
  if (settings.schedule.kind == ScheduleKind::plateau) return rate_at(settings.schedule, plateau_, base);
  return rate_at(settings.schedule, base, epoch, total_epochs);
}

bool Steering::epoch_ended(const TrainingSettings& settings, std::uint64_t epochs_done) {
  if (epochs_done <= epochs_seen_) return false;
  epochs_seen_ = epochs_done;
  plateau_due_ = settings.schedule.kind == ScheduleKind::plateau;
  return true;
}

std::optional<Verdict> Steering::judge(const TrainingSettings& settings, const StepResult& step,
                                       double seconds) {
  if (stop_reason_.empty()) stop_reason_ = stop_after_time(settings.stop, seconds);
  if (diverged_) return std::nullopt;
  const Verdict verdict = observe(settings.spikes, spikes_, step.loss, step.skipped);
  if (verdict.stability == Stability::fine) return std::nullopt;
  diverged_ = pending_ = true;
  loss_was_finite_ = verdict.stability != Stability::not_finite;
  return verdict;
}

std::string Steering::judge(const TrainingSettings& settings, const Evaluation& evaluation) {
  std::string change;
  if (std::exchange(plateau_due_, false) && settings.schedule.kind == ScheduleKind::plateau) {
    const auto base = static_cast<double>(settings.optimizer.learning_rate);
    const double before = rate_at(settings.schedule, plateau_, base);
    plateau_ = observe(settings.schedule, plateau_, base, evaluation.loss);
    const double after = rate_at(settings.schedule, plateau_, base);
    if (after != before) change = fmt::format("plateau: learning rate {:g} -> {:g}", before, after);
  }
  if (stop_reason_.empty()) {
    stops_.accuracy = evaluation.accuracy;
    stop_reason_ = stop_after_evaluation(settings.stop, stops_, evaluation.loss, to_string(evaluation.split));
  }
  return change;
}

void Steering::judge_before(const TrainingSettings& settings, double seconds, std::string_view which) {
  stop_reason_ = stop_after_evaluations(settings.stop, stops_, which);
  if (stop_reason_.empty()) stop_reason_ = stop_after_time(settings.stop, seconds);
}

bool Steering::is_best(const Evaluation& evaluation) const {
  return std::isfinite(evaluation.loss) && (!best_loss_ || evaluation.loss < *best_loss_);
}

bool Steering::take_pending() {
  return std::exchange(pending_, false);
}

void Steering::take_losses_of(const Steering& later) {
  spikes_ = later.spikes_;
  stop_reason_ = later.stop_reason_;
  diverged_ = later.diverged_;
  pending_ = later.pending_;
  loss_was_finite_ = later.loss_was_finite_;
}

void Steering::follow(const TrainingSettings& before, const TrainingSettings& now) {
  const bool other_schedule = !(now.schedule == before.schedule);
  if (other_schedule) plateau_ = {};
  if (!(now.augment == before.augment)) restart_statistics();  // other images have other losses
  if (other_schedule || !(now.optimizer == before.optimizer)) watch_for_forgetting(spikes_);
}

void Steering::forget_evaluations() {
  best_loss_.reset();
  stops_ = {};
  plateau_.best.reset();
  plateau_.bad_epochs = 0;
}

nlohmann::json Steering::written() const {
  return {{"evaluation_step", evaluation_step_},
          {"plateau", plateau_},
          {"spikes", spikes_},
          {"stops", stops_},
          {"best_loss", best_loss_ ? nlohmann::json(*best_loss_) : nlohmann::json()}};
}

void Steering::read(const nlohmann::json& json, std::uint64_t epochs_done) {
  evaluation_step_ = json.value("evaluation_step", std::uint64_t{0});
  if (json.contains("plateau")) json["plateau"].get_to(plateau_);
  if (json.contains("spikes")) json["spikes"].get_to(spikes_);
  if (json.contains("stops")) json["stops"].get_to(stops_);
  if (json.contains("best_loss") && json["best_loss"].is_number()) best_loss_ = json["best_loss"];
  epochs_seen_ = epochs_done;
}

}  // namespace warpscope::training
