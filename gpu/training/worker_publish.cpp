// The trainer's thread: snapshots and feeds.

#include <algorithm>
#include <utility>
#include <variant>

#include "gpu/files/text.h"
#include "gpu/messages/step_calls.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

using std::chrono::milliseconds;

constexpr auto kPublishInterval = milliseconds(16);
constexpr auto kMemoryInterval = milliseconds(500);  ///< asking the driver costs up to 0.1 ms
constexpr auto kLadderInterval = milliseconds(250);
/// Asking for the energy costs a step of the training 0.9 ms (H100).
constexpr auto kEnergyInterval = milliseconds(2500);
constexpr std::size_t kMostHistory = 100'000;  ///< items for who may subscribe yet

}  // namespace

void Trainer::Worker::set_state(TrainerState state) {
  view_.state = state;
  publish(true);
}

void Trainer::Worker::notice(const std::string& text) {
  view_.notice = files::sayable(text);
  ++view_.notice_id;
}

void Trainer::Worker::log(LogLevel level, const std::string& text) {
  emit(LogLine{level, files::sayable(text)});
}

void Trainer::Worker::mark(const std::string& text) {
  mark(text, text);
}

void Trainer::Worker::mark(const std::string& text, const std::string& logged) {
  emit(Marker{engine_->steps(), view_.seconds, text});
  log(LogLevel::info, logged);
}

void Trainer::Worker::emit(FeedItem item) {
  if (const auto* const point = std::get_if<Point>(&item); point != nullptr && point->split == Split::train) {
    for (RememberedProgress& each : remembered_) {
      if (!each.tally && point->step > each.progress.step) each.tally = tally_.mark();
    }
  }
  tally_.note(item);
  if (unsaved_) unsaved_->note(item);
  unsent_.push_back(std::move(item));
}

void Trainer::Worker::publish(bool force) {
  const auto now = Clock::now();
  if (!force && now - last_publish_ < kPublishInterval) return;
  last_publish_ = now;
  if (device_ && (force || now - last_memory_ > kMemoryInterval)) {
    last_memory_ = now;
    view_.memory = device_->memory();
  }
  if (engine_) {
    if (force || now - last_ladder_ > kLadderInterval) {
      last_ladder_ = now;
      measure_energy();
      view_.ladder = ladder_.entries();
    }
    view_.next_evaluation = next_evaluation();
    view_.timings = engine_->timings().timings();
    view_.step_microseconds = 0;
    if (all_timed(view_.timings)) {
      for (const OpTiming& timing : view_.timings) view_.step_microseconds += timing.microseconds;
    }
  }
  if (!memory_.speeds.empty()) {
    std::vector<double> sorted(memory_.speeds.begin(), memory_.speeds.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    view_.images_per_second = *middle;
  }
  view_.figures = tally_.figures();
  auto next = std::make_shared<const Snapshot>(view_);
  const std::lock_guard lock(mutex_);
  published_ = std::move(next);
  std::erase_if(feeds_, [](const std::weak_ptr<Feed>& feed) { return feed.expired(); });
  for (const auto& feed : feeds_) {
    if (const auto alive = feed.lock()) alive->push(unsent_);
  }
  subscribed_ = subscribed_ || history_.size() >= kMostHistory;
  if (view_.step > 0 && subscribed_) {
    history_.clear();
  } else {
    history_.insert(history_.end(), unsent_.begin(), unsent_.end());
  }
  unsent_.clear();
  newer_snapshot_.notify_all();
}

/// What a stretch of undisturbed training took goes to the ladder's last entry.
void Trainer::Worker::measure_energy() {
  if (view_.state != TrainerState::running || rate_search_) {
    energy_.reset();
    running_on_.reset();
    return;
  }
  if (around_.shared && !running_on_) running_on_ = around_.shared->run_on(device_->info());
  const auto alone = around_.shared ? around_.shared->by_itself_on(device_->info()) : 0;
  if (energy_ && energy_->alone != alone) energy_.reset();
  if (!alone) return;
  if (energy_ && Clock::now() - energy_->at < kEnergyInterval) return;
  if (!energy_meter_->ready()) return;
  const EnergySample now{energy_meter_->joules(), view_.step, Clock::now(), *alone};
  if (now.joules < 0) return;
  if (energy_ && now.step > energy_->step) {
    const auto images = static_cast<double>(now.step - energy_->step) * engine_->images_of_step();
    const double seconds = std::chrono::duration<double>(now.at - energy_->at).count();
    ladder_.add_energy(now.joules - energy_->joules, images, seconds);
  }
  energy_ = now;
}

}  // namespace warpscope::training
