#include "gpu/engine/rollback.h"

#include <algorithm>
#include <utility>

namespace warpscope::training {

Rollback::Rollback(const NetworkState& network, StepLoop& loop, std::shared_ptr<core::Device> device,
                   core::Stream& stream)
    : network_(network), loop_(loop), device_(std::move(device)), stream_(stream) {}

std::size_t Rollback::remember() {
  const bool first = !copies_[0].valid || (copies_[1].valid && copies_[0].steps < copies_[1].steps);
  const std::size_t place = first ? 0 : 1;
  Copy& copy = copies_[place];
  const auto keep = [&](core::Buffer& kept, const core::Buffer& original) {
    if (kept.bytes() != original.bytes()) {
      kept = original.bytes() > 0 ? core::Buffer(device_, original.bytes()) : core::Buffer();
    }
    if (original.bytes() > 0) stream_.copy(kept.data(), original.data(), original.bytes());
  };
  keep(copy.buffers.parameters, network_.buffers().parameters);
  for (int i = 0; i < 2; ++i) keep(copy.buffers.states[i], network_.buffers().states[i]);
  keep(copy.control, loop_.control());
  copy.steps = loop_.steps();
  copy.epochs_done = loop_.order().epochs_done();
  copy.position = loop_.order().position();
  copy.rate = loop_.trained_rate();
  copy.valid = true;
  return place;
}

void Rollback::forget() {
  for (Copy& copy : copies_) copy.valid = false;
}

/// A copy may have been taken between the update that ruined the weights and the losses that show it: of two, the older
/// is the better one where the newer is but a few steps old.
const Rollback::Copy* Rollback::best(std::uint64_t steps) const {
  const Copy* best = nullptr;
  for (const Copy& copy : copies_) {
    if (!copy.valid || copy.steps > steps) continue;
    const auto better = [&](const Copy& than) {
      const bool safe = steps - copy.steps >= kSafeSteps;
      const bool other_safe = steps - than.steps >= kSafeSteps;
      if (safe != other_safe) return safe;
      return safe ? copy.steps > than.steps : copy.steps < than.steps;
    };
    if (best == nullptr || better(*best)) best = &copy;
  }
  return best;
}

bool Rollback::copy_due() const {
  const auto& [a, b] = copies_;
  return !a.valid || !b.valid || std::max(a.steps, b.steps) + kSafeSteps <= loop_.steps();
}

std::optional<float> Rollback::rate(std::uint64_t steps) const {
  const Copy* const copy = best(steps);
  return copy == nullptr ? std::nullopt : std::optional(copy->rate);
}

std::optional<EngineState> Rollback::state(std::uint64_t steps) const {
  if (!remembers(steps)) return std::nullopt;
  return state_at(place(steps));
}

std::optional<std::size_t> Rollback::newest(std::uint64_t steps) const {
  std::optional<std::size_t> newest;
  for (std::size_t i = 0; i < kCopies; ++i) {
    if (!copies_[i].valid || copies_[i].steps > steps) continue;
    if (!newest || copies_[i].steps > copies_[*newest].steps) newest = i;
  }
  return newest;
}

EngineState Rollback::state_at(std::size_t place) const {
  const Copy& copy = copies_[place];
  EngineState state;
  network_.save(state, copy.buffers);
  stream_.copy(&state.control, copy.control.data(), sizeof(state.control));
  stream_.synchronize();
  state.steps = copy.steps;
  state.epochs_done = copy.epochs_done;
  state.position = copy.position;
  return state;
}

bool Rollback::recall(std::uint64_t steps) {
  const Copy* const copy = best(steps);
  if (copy == nullptr) return false;
  stream_.synchronize();
  const auto bring_back = [&](const core::Buffer& to, const core::Buffer& from) {
    if (from.bytes() > 0) stream_.copy(to.data(), from.data(), from.bytes());
  };
  bring_back(network_.buffers().parameters, copy->buffers.parameters);
  for (int i = 0; i < 2; ++i) bring_back(network_.buffers().states[i], copy->buffers.states[i]);
  loop_.recall_updates(copy->control);
  loop_.clear_halt();
  for (Copy& other : copies_) other.valid = other.valid && &other == copy;
  loop_.interrupt();
  return true;
}

}  // namespace warpscope::training
