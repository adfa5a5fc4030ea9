#include "gpu/training/worker/reporter.h"

#include <chrono>

#include "gpu/core/device_lost.h"
#include "gpu/messages/running.h"
#include "gpu/messages/step_calls.h"
#include "gpu/training/hand_over.h"
#include "gpu/training/worker/course.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

using std::chrono::milliseconds;

constexpr auto kMemoryInterval = milliseconds(500);  ///< asking the driver costs up to 0.1 ms
constexpr auto kLadderInterval = milliseconds(250);

}  // namespace

void Reporter::fail(const std::string& why, bool by_input) {
  training_.aside.let_go();
  training_.view.failed_by_input = by_input;
  const std::string handed_over = handed_over_in();
  const std::string kept = handed_over.empty() ? "" : "; " + what_is_kept(handed_over, false);
  training_.publishing.tell(why + kept, LogLevel::error);
  publish(true);  // the last points reach the recorder before it closes
  if (training_.keeper) training_.keeper->fail(why);
  while (const auto waiting = training_.inbox.take()) training_.view.answers.note(waiting->number, false);
  set_state(TrainerState::failed);
}

/// What another process has handed over, as long as nothing newer is kept.
std::string Reporter::handed_over_in() const {
  if (training_.keeper) return training_.keeper->handed_over_in();
  const auto& over = training_.around.handed_over;
  return over && !over->recorded ? over->folder : "";
}

void Reporter::set_state(TrainerState state) {
  training_.view.state = state;
  publish(true);
}

void Reporter::publish(bool force) {
  const auto now = Clock::now();
  if (!force && !training_.publishing.due(now)) return;
  if (training_.device && (force || now - last_memory_ > kMemoryInterval)) {
    last_memory_ = now;
    training_.view.memory = training_.device->memory();
  }
  if (training_.engine) {
    if (force || now - last_ladder_ > kLadderInterval) {
      last_ladder_ = now;
      measure_energy();
      training_.view.ladder = training_.ladder.entries();
      training_.view.images_per_second = training_.speeds.median().value_or(training_.view.images_per_second);
    }
    training_.view.next_evaluation = next_evaluation(training_);
    training_.view.timings = training_.engine->timings().timings();
    training_.view.step_microseconds = 0;
    if (all_timed(training_.view.timings)) {
      for (const OpTiming& timing : training_.view.timings)
        training_.view.step_microseconds += timing.microseconds;
    }
  }
  training_.publishing.publish(now);
}

/// What a stretch of undisturbed training took goes to the ladder's last entry.
void Reporter::measure_energy() {
  if (training_.view.state != TrainerState::running || training_.stepping.searches_rate())
    return training_.energy->rest();
  if (training_.is_disturbed()) return training_.energy->interrupt();
  const auto stretch = training_.energy->measure(training_.view.step);
  if (!stretch) return;
  // The joules are those of this rank's device.
  const auto images = static_cast<double>(stretch->steps) * training_.engine->images_of_rank();
  training_.ladder.add_energy(stretch->joules, images, stretch->seconds);
}

/// What cannot be done is told, and the training goes on as it was.
bool Reporter::attempt(const std::function<void()>& change) {
  try {
    change();
    return true;
  } catch (const ranks::RankMissing&) {
    throw;
  } catch (const core::DeviceLost&) {
    throw;
  } catch (const core::Error& error) {
    training_.publishing.tell(error.what());
    return false;
  }
}

void Reporter::note_sizes() {
  training_.kernels.tell_calls();
  training_.view.plan_bytes = training_.engine->plan_bytes();
  training_.view.parameters = models::parameter_layout(training_.engine->model()).count;
}

}  // namespace warpscope::training
