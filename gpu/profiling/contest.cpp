#include "gpu/profiling/contest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/phases.h"
#include "gpu/plan/plan.h"

namespace warpscope::profiling {
namespace {

// How long this process has had to wait for a core.

/// Seconds that the threads of this process were ready to run and did not, all together, since they began; 0 where the
/// system does not tell. Source: Linux, Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat.
double waited_seconds() {
  double nanoseconds = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator thread("/proc/self/task", error), end; !error && thread != end;
       thread.increment(error)) {
    std::ifstream file(thread->path() / "schedstat");  // a thread that has just ended has none
    double ran = 0;
    double waited = 0;
    if (file >> ran >> waited) nanoseconds += waited;
  }
  return 1e-9 * nanoseconds;
}

constexpr int kLeastTurns = 8;
constexpr int kMostSteps = 1000;  // of a turn

/// p10 to p90, as a share of the median.
double share_of(const Spread& spread) {
  return spread.median > 0 ? (spread.p90 - spread.p10) / spread.median : 0;
}

/// One of the two, and the times of its turns.
class Side {
 public:
  Side(core::Device& device, core::Stream& stream, plan::Plan& step)
      : device_(device),
        stream_(stream),
        step_(step),
        first_(device.make_event(true)),
        last_(device.make_event(true)) {}

  /// Runs once unmeasured, since that may load code, and finds how many steps a turn takes.
  void prepare(double seconds) {
    step_.launch(stream_);
    const double one = turn();
    steps_ = std::clamp(static_cast<int>(one > 0 ? 1e6 * seconds / one : kMostSteps), 1, kMostSteps);
  }

  void take_turn() { times_.push_back(turn()); }
  const std::vector<double>& times() const { return times_; }

 private:
  /// Microseconds of a step.
  double turn() {
    // While it runs, the host gets ahead: what it takes to launch is not measured.
    if (device_.kind() == core::DeviceKind::cuda) step_.launch(stream_);
    stream_.record(*first_);
    for (int i = 0; i < steps_; ++i) step_.launch(stream_);
    stream_.record(*last_);
    stream_.synchronize();
    return last_->microseconds_since(*first_) / steps_;
  }

  core::Device& device_;
  core::Stream& stream_;
  plan::Plan& step_;
  std::unique_ptr<core::Event> first_;
  std::unique_ptr<core::Event> last_;
  int steps_ = 1;
  std::vector<double> times_;
};

std::string microseconds(double value) {
  return fmt::format("{:.{}f}", value, value < 100 ? 1 : 0);
}

}  // namespace

Contest judge(const std::vector<double>& present, const std::vector<double>& other, double waited) {
  Contest contest;
  contest.present = spread_of(present);
  contest.other = spread_of(other);
  contest.waited = waited;
  if (contest.other.median > 0) contest.ratio = contest.present.median / contest.other.median;
  if (std::max(share_of(contest.present), share_of(contest.other)) > kDisturbedSpread ||
      waited > kDisturbedWaiting) {
    contest.outcome = Outcome::disturbed;
  } else if (contest.other.p90 < contest.present.p10 && contest.ratio > kLeastGain) {
    contest.outcome = Outcome::faster;
  }
  return contest;
}

std::optional<Contest> hold_contest(core::Device& device, core::Stream& stream, plan::Plan& present,
                                    plan::Plan& other, const ContestOptions& options,
                                    const std::function<bool()>& go_on) {
  const auto stopped = [&] { return go_on && !go_on(); };
  Side one(device, stream, present);
  Side two(device, stream, other);
  for (Side* side : {&one, &two}) {
    if (stopped()) return std::nullopt;
    side->prepare(options.turn_seconds);
  }
  const double waited = waited_seconds();
  const auto start = core::Clock::now();
  for (int i = 0; i < options.turns; ++i) {
    if (i >= std::min(kLeastTurns, options.turns) && core::seconds_since(start) > options.seconds) break;
    for (Side* side : {i % 2 == 0 ? &one : &two, i % 2 == 0 ? &two : &one}) {
      side->take_turn();
      if (stopped()) return std::nullopt;
    }
  }
  const double seconds = core::seconds_since(start);
  return judge(one.times(), two.times(), seconds > 0 ? (waited_seconds() - waited) / seconds : 0);
}

std::optional<Contest> hold_contest(const ops::Context& context, const models::Model& model,
                                    const StepSetup& setup, const plan::Selection& present,
                                    const plan::Selection& other, const ContestOptions& options,
                                    const std::function<bool()>& go_on) {
  context.device->make_current();
  const auto stream = context.device->make_stream();
  const StepMemory memory(context.device, *stream, model, setup, present.precision);
  const auto one = make_step(context, *stream, model, setup, present, memory);
  const auto two = make_step(context, *stream, model, setup, other, memory);
  return hold_contest(*context.device, *stream, *one, *two, options, go_on);
}

std::optional<Advice> advise(const ops::Context& context, const models::Model& model, const StepSetup& setup,
                             const plan::Selection& present, const std::vector<StepRow>& steps,
                             const ContestOptions& options, const std::function<bool()>& go_on) {
  Advice advice;
  advice.present = advice.best = present;
  advice.model = model;
  advice.setup = setup;
  const StepRow* best = nullptr;
  for (const StepRow& row : steps) {
    if (row.selection.precision != present.precision || row.selection == present) continue;
    if (!row.skipped.empty() || row.median <= 0) continue;
    if (best == nullptr || row.median < best->median) best = &row;
  }
  if (best == nullptr) {
    advice.failure = "no other choice could be timed";
    return advice;
  }
  advice.best = best->selection;
  advice.name = best->name;
  try {
    const auto contest = hold_contest(context, model, setup, present, advice.best, options, go_on);
    if (!contest) return std::nullopt;
    advice.contest = *contest;
  } catch (const core::BadInput& error) {
    advice.failure = error.what();
  } catch (const core::OutOfMemory& error) {
    advice.failure = error.what();
  }
  advice.measured = std::chrono::system_clock::now();
  return advice;
}

std::string time_of_day(const Advice& advice) {
  return fmt::format("{:%H:%M}", fmt::localtime(std::chrono::system_clock::to_time_t(advice.measured)));
}

std::string verdict_text(const Advice& advice, const std::string& present_name) {
  const Contest& contest = advice.contest;
  if (!advice.failure.empty()) return "not compared: " + advice.failure;
  const std::string times =
      fmt::format("{} \u00b5s a step, {} {} \u00b5s", microseconds(contest.other.median), present_name,
                  microseconds(contest.present.median));
  switch (contest.outcome) {
    case Outcome::faster:
      return fmt::format("{} is {:.2f}x faster: {}", advice.name, contest.ratio, times);
    case Outcome::no_faster:
      return fmt::format("nothing is faster than {}; the best other, {}: {}", present_name, advice.name,
                         times);
    case Outcome::disturbed:
      break;
  }
  if (contest.waited > kDisturbedWaiting) {
    return fmt::format(
        "disturbed, so nothing is said: this program waited for {:.1f} cores that others used; measure again "
        "when "
        "they are idle",
        contest.waited);
  }
  return fmt::format("disturbed, so nothing is said: the times of a step spread by {:.0f} %; measure again",
                     100 * std::max(share_of(contest.present), share_of(contest.other)));
}

}  // namespace warpscope::profiling
