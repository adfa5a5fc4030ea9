#include "gpu/training/showing.h"

#include <algorithm>
#include <utility>

namespace warpscope::training {
namespace {

constexpr double kShare = 1.0 / 12;  ///< of the time goes to showing images, at the most
/// Seconds from one reconstruction that goes to the run folder to the next: the first few come faster.
constexpr double kFirstKeptSeconds = 2.0, kKeptSeconds = 10.0;

}  // namespace

void Showing::show_if_due(Engine& engine, Watching& watching, const RunRecorder* recorder) {
  const auto now = Clock::now();
  Pictures& pictures = engine.pictures();
  if (!pictures.exchange() || engine.steps() == times_.step) return;
  if (!times_.pace.due(now, pictures.seconds(), kShare, least_seconds_)) return;
  const bool for_run = recorder != nullptr && now >= times_.next_kept;
  const bool kept = for_run || (history_ && history_->wants(engine.steps()));
  if (!kept && pictures.exchange()->unread()) return;
  if (!pictures.publish(kept)) return;
  times_.kept_for_run = for_run;
  if (for_run) {
    const double wait = std::min(kKeptSeconds, kFirstKeptSeconds * ++times_.kept);
    times_.next_kept = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait));
  }
  times_.step = engine.steps();
  watching.add_seconds(pictures.seconds());
  engine.interrupt();
  times_.pace.took_turn(now);
}

void Showing::show_end(Engine& engine, const RunRecorder* recorder) {
  times_.kept_for_run = recorder != nullptr;
  engine.pictures().publish(times_.kept_for_run || history_ != nullptr);
}

void Showing::hand_over(Engine& engine, RunRecorder* recorder, std::uint64_t generation) {
  auto kept = engine.pictures().take_kept();
  if (!kept) return;
  kept->generation = generation;
  if (history_ && history_->wants(kept->step)) history_->add(*kept);
  if (recorder != nullptr && times_.kept_for_run) recorder->status().show(std::move(*kept));
}

void Showing::show_anew() {
  times_.step = kNoStep;
  times_.pace.forget();
}

}  // namespace warpscope::training
