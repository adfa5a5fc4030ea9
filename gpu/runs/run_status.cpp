#include "gpu/runs/run_status.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "gpu/core/host_memory.h"
#include "gpu/files/atomic_file.h"
#include "gpu/runs/snapshot_json.h"

namespace warpscope::training {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(1000);
/// So that a reader who cannot see the lock still sees that somebody is there.
constexpr auto kIdleInterval = std::chrono::milliseconds(5000);
constexpr auto kPredictionsInterval = std::chrono::milliseconds(5000);
/// A full disk ends the run by its metrics; what fails only here is told after a while.
constexpr int kFailuresBorne = 5;

bool differs(const Snapshot& a, const Snapshot& b) {
  return a.step != b.step || a.state != b.state || a.generation != b.generation ||
         a.notice_id != b.notice_id || a.evaluation != b.evaluation || a.settings != b.settings ||
         !(a.selection == b.selection) || a.checkpoint_step != b.checkpoint_step;
}

}  // namespace

RunStatus::RunStatus(const std::filesystem::path& folder)
    : folder_(folder), images_(folder), predictions_(folder) {}

void RunStatus::watch(SnapshotSource source) {
  const std::lock_guard lock(mutex_);
  source_ = std::move(source);
}

void RunStatus::show(ShownImages images) {
  const std::lock_guard lock(mutex_);
  pending_ = std::move(images);
}

void RunStatus::write(Clock::time_point now) {
  const std::lock_guard lock(writing_);
  if (last_ != Clock::time_point{} && now - last_ < kInterval) return;
  write_pictures();
  SnapshotSource source;
  {
    const std::lock_guard handed(mutex_);
    source = source_;
  }
  const auto newest = source ? source() : nullptr;
  if (!newest) return;
  if (!written_snapshot_ || differs(*newest, *written_snapshot_) || now - last_ >= kIdleInterval) {
    last_ = now;
    attempt(status_failures_, [&] { write_status({}); });
  }
  if (predictions_due(now)) write_predictions(now);
}

void RunStatus::end(TrainerState state) {
  const std::lock_guard lock(writing_);
  last_ = Clock::now();  // the state that is published a moment later is not overwritten by the one before
  write_pictures();
  attempt(status_failures_, [&] { write_status(state); });
  if (predictions_due(Clock::time_point::max())) write_predictions(last_);
}

void RunStatus::write_status(std::optional<TrainerState> state) {
  SnapshotSource source;
  {
    const std::lock_guard lock(mutex_);
    source = source_;
  }
  const auto newest = source ? source() : nullptr;
  if (!newest) return;
  written_snapshot_ = newest;
  nlohmann::json json = *newest;
  if (state) json["state"] = to_string(*state);
  json["written"] = ++written_;
  files::write_file_atomically(folder_ / "status.json",
                               json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void RunStatus::write_pictures() {
  std::optional<ShownImages> images;
  {
    const std::lock_guard lock(mutex_);
    images = std::exchange(pending_, std::nullopt);
  }
  if (images) attempt(picture_failures_, [&] { images_.write(*images); });
}

/// Only what the status tells of already: a reader knows by it whether predictions belong to the training as
/// it is.
bool RunStatus::predictions_due(Clock::time_point now) const {
  if (!written_snapshot_) return false;
  const Snapshot& seen = *written_snapshot_;
  if (!seen.classifies || !seen.data || !seen.data->whole || !seen.evaluation) return false;
  if (seen.evaluation == tried_evaluation_ && prediction_failures_ == 0) return false;
  // Those of a training that was reset or went back are not shown any more.
  const bool behind = !tried_evaluation_ || seen.evaluation->step < tried_evaluation_->step;
  return behind || now - last_predictions_ >= kPredictionsInterval;
}

void RunStatus::write_predictions(Clock::time_point now) {
  last_predictions_ = now;
  const Snapshot& seen = *written_snapshot_;
  tried_evaluation_ = seen.evaluation;
  const bool validation = seen.evaluation->split == Split::validation;
  attempt(prediction_failures_, [&] {
    const Predictions worst = worst_predictions(
        *seen.evaluation, validation ? seen.data->whole->validation : seen.data->whole->test,
        seen.generation);
    if (worst.images.count > 0) predictions_.write(worst);
  });
}

void RunStatus::attempt(int& failures, const std::function<void()>& write) {
  try {
    write();
    failures = 0;
  } catch (const std::exception& error) {
    if (++failures <= kFailuresBorne || warned_) return;
    warned_ = true;
    const std::lock_guard lock(mutex_);
    warning_ = core::sentence_of(error);
  }
}

std::string RunStatus::take_warning() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warning_, {});
}

}  // namespace warpscope::training
