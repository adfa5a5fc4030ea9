#include "gpu/engine/rank_watch.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace warpscope::training {
namespace {

bool begins_backward(ops::Op op) {
  return ops::to_string(op).find("backward") != std::string_view::npos;
}

/// Nodes of both passes, of the sums and of the update, added up; `one_pass` is what a micro-batch takes.
TimedStep parts_of(const plan::Plan& plan, std::span<const double> microseconds, int passes,
                   double& one_pass) {
  TimedStep parts;
  bool backward = false;
  for (std::size_t node = 0; node < microseconds.size(); ++node) {
    const ops::Op op = plan.nodes()[node].op;
    backward = backward || begins_backward(op);
    const bool in_pass = node < plan.update_node();
    if (in_pass) one_pass += microseconds[node];
    double& pass = backward ? parts.backward : parts.forward;
    double& part = ops::contract(op).adds_over_ranks ? parts.sums : in_pass ? pass : parts.update;
    part += (in_pass ? passes : 1) * microseconds[node];
  }
  parts.beside = plan.microseconds_beside();
  return parts;
}

const TimedStep* timed_step_in(const TimedSteps& steps, std::uint64_t number) {
  const auto found = std::ranges::find(steps, number, &TimedStep::step);
  return found == steps.end() ? nullptr : &*found;
}

/// 0 if there is none.
std::uint64_t newest_of_all(std::span<const TimedSteps> ranks) {
  std::uint64_t newest = 0;
  for (const TimedStep& each : ranks.front()) {
    const bool in_all = std::ranges::all_of(
        ranks, [&](const TimedSteps& steps) { return timed_step_in(steps, each.step) != nullptr; });
    if (in_all) newest = std::max(newest, each.step);
  }
  return newest;
}

}  // namespace

RankWatch::RankWatch(std::shared_ptr<core::Device> device)
    : device_(std::move(device)),
      stream_(device_->make_stream()),
      now_(device_->make_event(true)),
      meter_(device_->info()) {}

void RankWatch::note(std::uint64_t step, const plan::Plan& plan, std::span<const double> microseconds,
                     int passes) {
  const std::int64_t before = ranks::steady_nanoseconds();
  stream_->record(*now_);
  now_->synchronize();
  const std::int64_t after = ranks::steady_nanoseconds();

  double one_pass = 0;
  TimedStep timed = parts_of(plan, microseconds, passes, one_pass);
  const double ago = plan.microseconds_since_timed(*now_) + (passes - 1) * one_pass;
  timed.step = step;
  timed.began = before + (after - before) / 2 - static_cast<std::int64_t>(1e3 * ago);
  timed.uncertainty = 1e-3 * static_cast<double>(after - before) / 2;
  newest_ = {timed, newest_.front()};
}

std::vector<AlignedStep> aligned_steps(std::span<const TimedSteps> ranks,
                                       std::span<const ranks::ClockOffset> clocks) {
  std::vector<AlignedStep> aligned(ranks.size());
  const std::uint64_t newest = ranks.empty() ? 0 : newest_of_all(ranks);
  if (newest == 0) return aligned;
  const std::int64_t origin = timed_step_in(ranks.front(), newest)->began;
  double first = std::numeric_limits<double>::infinity(), least = first;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const TimedStep& timed = *timed_step_in(ranks[rank], newest);
    const double start = static_cast<double>(timed.began - origin) / 1e3 - clocks[rank].microseconds;
    aligned[rank] = {
        {newest, start, timed.forward, timed.backward, 0, timed.sums, timed.update, timed.beside},
        timed.uncertainty + clocks[rank].uncertainty};
    first = std::min(first, start);
    least = std::min(least, timed.sums);
  }
  for (AlignedStep& each : aligned) {
    each.step.start -= first;
    each.step.waiting = each.step.moving - least;
    each.step.moving = least;
  }
  return aligned;
}

}  // namespace warpscope::training
