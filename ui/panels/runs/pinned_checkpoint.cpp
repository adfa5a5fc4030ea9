#include "ui/panels/runs/pinned_checkpoint.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/messages/step_history.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

const training::RefusedCheckpoint* refused_at(const training::Revival& revival, std::uint64_t step) {
  const auto found = std::ranges::find(revival.refused, step, &training::RefusedCheckpoint::step);
  return found == revival.refused.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> nearest_step(const training::Revival& revival, std::uint64_t step) {
  std::vector<std::uint64_t> steps = revival.steps;
  std::erase_if(steps, [&](std::uint64_t each) { return refused_at(revival, each) != nullptr; });
  if (steps.empty()) return std::nullopt;
  return steps[training::nearest_of(steps.size(), step, [&steps](std::size_t i) { return steps[i]; })];
}

std::uint64_t steps_apart(std::uint64_t a, std::uint64_t b) {
  return a < b ? b - a : a - b;
}

}  // namespace

std::string why_no_checkpoint_look(const training::Revival& revival, std::uint64_t step) {
  const training::RefusedCheckpoint* const refused = refused_at(revival, step);
  return refused == nullptr ? "" : fmt::format("It cannot be looked at: {}.", refused->why);
}

std::optional<training::LookAt> PinnedCheckpoint::follow(const training::Snapshot& snapshot,
                                                         std::optional<std::uint64_t> pinned) {
  const auto& revival = snapshot.revival;
  const auto wanted = revival && pinned ? nearest_step(*revival, *pinned) : std::nullopt;
  const bool same = std::exchange(pinned_, pinned) == pinned && pinned && asked_;
  // One that was nearer stays, though its file may be gone by now.
  if (same && (!wanted || steps_apart(*wanted, *pinned) >= steps_apart(*asked_, *pinned)))
    return std::nullopt;
  if (std::exchange(asked_, wanted) == wanted) return std::nullopt;
  return training::LookAt{wanted.value_or(0)};
}

std::string checkpoint_line(const training::Revival& revival, std::optional<std::uint64_t> pinned) {
  if (!revival.problem.empty()) return "no look inside";
  if (!revival.ready && revival.asked) return "loading a checkpoint ...";
  const bool newest = revival.steps.empty() || revival.step == revival.steps.back();
  if (revival.chosen == 0 && !revival.ready) return "newest checkpoint";
  if (revival.chosen == 0 && newest)
    return fmt::format("newest checkpoint, step {}", with_thousands(revival.step));
  const std::uint64_t step = revival.ready ? revival.step : revival.chosen;
  const bool nearest = pinned && *pinned != step && step == revival.chosen &&
                       nearest_step(revival, *pinned) == std::optional(step);
  const std::string line = fmt::format("checkpoint at step {}", with_thousands(step));
  return nearest ? fmt::format("{} (nearest to {})", line, with_thousands(*pinned)) : line;
}

}  // namespace warpscope::ui
