#include "gpu/training/trainer.h"

#include <utility>

#include "gpu/jobs/desks.h"
#include "gpu/training/worker/worker.h"

namespace warpscope::training {
namespace {

bool ended(const Snapshot& now) {
  return now.state == TrainerState::finished || now.state == TrainerState::failed;
}

}  // namespace

Trainer::Trainer(TrainerOptions options)
    : shared_(options.shared), worker_(std::make_unique<Worker>(std::move(options))) {}
Trainer::~Trainer() = default;

void Trainer::queue(Command command, std::uint64_t number) {
  worker_->inbox().send({std::move(command), number});
}
std::shared_ptr<const Snapshot> Trainer::snapshot() const {
  return worker_->publishing().snapshot();
}
std::shared_ptr<Feed> Trainer::subscribe() {
  return worker_->publishing().subscribe();
}
std::shared_ptr<ImageExchange> Trainer::images() const {
  return worker_->publishing().images();
}
std::shared_ptr<const ImageHistory> Trainer::history() const {
  return worker_->history();
}
Observations Trainer::observations() const {
  return worker_->publishing().observations();
}
jobs::Jobs* Trainer::jobs() {
  std::call_once(jobs_begun_, [this] { jobs_ = std::make_unique<jobs::Desks>(*this, "", shared_); });
  return jobs_.get();
}
Ending Trainer::ending() const {
  return worker_->publishing().ending();
}
std::vector<NumberedCommand> Trainer::take_unread() {
  std::vector<NumberedCommand> unread;
  if (ending().hand_over == nullptr) return unread;
  while (auto next = worker_->inbox().take()) unread.push_back(std::move(*next));
  return unread;
}

bool Trainer::wait_until(const std::function<bool(const Snapshot&)>& condition, double seconds) const {
  return worker_->publishing().wait_until(condition, seconds);
}
bool Trainer::wait(double seconds) const {
  return wait_until(ended, seconds);
}
bool Trainer::wait_for_parameters(double seconds) const {
  return wait_until([this](const Snapshot& now) { return ending().parameters || ended(now); }, seconds);
}

}  // namespace warpscope::training
