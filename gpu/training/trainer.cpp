#include "gpu/training/trainer.h"

#include <utility>

#include "gpu/jobs/desks.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

bool ended(const Snapshot& now) {
  return now.state == TrainerState::finished || now.state == TrainerState::failed;
}

}  // namespace

Trainer::Trainer(TrainerOptions options) : worker_(std::make_unique<Worker>(std::move(options))) {}
Trainer::~Trainer() = default;

void Trainer::send(Command command) {
  worker_->send(std::move(command));
}
std::shared_ptr<const Snapshot> Trainer::snapshot() const {
  return worker_->snapshot();
}
std::shared_ptr<Feed> Trainer::subscribe() {
  return worker_->subscribe();
}
std::shared_ptr<ImageExchange> Trainer::images() const {
  return worker_->images();
}
std::shared_ptr<const ImageHistory> Trainer::history() const {
  return worker_->history();
}
Observations Trainer::observations() const {
  return worker_->observations();
}
jobs::Jobs* Trainer::jobs() {
  std::call_once(jobs_begun_, [this] { jobs_ = std::make_unique<jobs::Desks>(*this); });
  return jobs_.get();
}
std::vector<float> Trainer::final_parameters() const {
  return worker_->final_parameters();
}
std::vector<core::PhaseTime> Trainer::phase_times() const {
  return worker_->phase_times();
}

bool Trainer::wait_until(const std::function<bool(const Snapshot&)>& condition, double seconds) const {
  return worker_->wait_until(condition, seconds);
}
bool Trainer::wait(double seconds) const {
  return worker_->wait_until(ended, seconds);
}
bool Trainer::wait_for_parameters(double seconds) const {
  return worker_->wait_until(
      [this](const Snapshot& now) { return worker_->has_final_parameters() || ended(now); }, seconds);
}

}  // namespace warpscope::training
