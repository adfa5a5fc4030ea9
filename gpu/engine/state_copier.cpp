#include "gpu/engine/state_copier.h"

#include <cstring>
#include <new>
#include <utility>

#include "gpu/core/error.h"

namespace warpscope::training {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// What any device copies within itself: an H100 does it twice as fast, and slower ones are no better in the rest.
constexpr double kCopiedBytesPerSecond = 5e11;
/// Seconds that a GPU waits besides, between a step and the next: measured on an H200 (rewind_times --cost).
constexpr double kGap = 0.8e-3;

/// Parts of `elements` floats side by side, the control block behind them.
EngineState gathered_state(EngineState state, const std::byte* from, std::size_t elements) {
  const auto take = [&](std::vector<float>& to) {
    const auto* const values = reinterpret_cast<const float*>(from);
    to.assign(values, values + elements);
    from += elements * sizeof(float);
  };
  take(state.parameters);
  for (std::vector<float>& each : state.states) take(each);
  std::memcpy(&state.control, from, sizeof(state.control));
  return state;
}

}  // namespace

StateCopier::StateCopier(const NetworkState& network, const StepLoop& loop,
                         std::shared_ptr<core::Device> device, core::Stream& stream)
    : network_(network), loop_(loop), device_(std::move(device)), stream_(stream) {}

StateCopier::~StateCopier() {
  if (!side_) return;
  try {
    side_->synchronize();
  } catch (const core::Error&) {
    // The error was reported when it happened; destruction goes on.
  }
}

std::size_t StateCopier::bytes() const {
  const std::size_t parts = 1 + static_cast<std::size_t>(ops::states_of(network_.rule()));
  return parts * network_.layout().elements * sizeof(float) + sizeof(ops::step::StepControl);
}

void StateCopier::begin() {
  const auto begun = SteadyClock::now();
  const bool on_device = device_->kind() != core::DeviceKind::cpu;
  state_ = {};
  try {
    if (on_device) {
      begin_on_device();
    } else {
      network_.save(state_, network_.buffers());
      loop_.save(state_);
    }
  } catch (const std::bad_alloc&) {
    throw core::OutOfMemory("the host has too little memory for a copy of the training");
  }
  busy_ = true;
  const double copied = on_device ? kGap + 2 * static_cast<double>(bytes()) / kCopiedBytesPerSecond : 0;
  seconds_ = copied + std::chrono::duration<double>(SteadyClock::now() - begun).count();
}

void StateCopier::begin_on_device() {
  if (!side_) {
    side_ = device_->make_stream();
    copied_ = device_->make_event(false);
    arrived_ = device_->make_event(false);
  }
  if (staging_.bytes() != bytes() || arriving_.bytes() != bytes()) {
    staging_ = {};
    staging_ = core::Buffer(device_, bytes());
    arriving_ = {};
    arriving_ = core::HostBuffer(device_, bytes());
  }
  elements_ = network_.layout().elements;
  state_.rule = network_.rule();
  state_.states.resize(static_cast<std::size_t>(ops::states_of(state_.rule)));
  state_.steps = loop_.steps();
  state_.epochs_done = loop_.order().epochs_done();
  state_.position = loop_.order().position();
  auto* to = staging_.as<std::byte>();
  const std::size_t part = elements_ * sizeof(float);
  const auto copy = [&](const core::Buffer& from, std::size_t count) {
    stream_.copy(to, from.data(), count);
    to += count;
  };
  copy(network_.buffers().parameters, part);
  for (std::size_t i = 0; i < state_.states.size(); ++i) copy(network_.buffers().states[i], part);
  copy(loop_.control(), sizeof(state_.control));
  stream_.record(*copied_);
  side_->wait(*copied_);
  side_->copy(arriving_.data(), staging_.data(), staging_.bytes());
  side_->record(*arrived_);
}

std::optional<EngineState> StateCopier::take(bool waits) {
  if (!busy_) return std::nullopt;
  if (device_->kind() == core::DeviceKind::cpu) {
    busy_ = false;
    return std::move(state_);
  }
  if (!gathered_.valid()) {
    if (waits) arrived_->synchronize();
    if (!arrived_->ready()) return std::nullopt;
    gathered_ = std::async(std::launch::async, gathered_state, std::move(state_),
                           arriving_.as<const std::byte>(), elements_);
  }
  if (!waits && gathered_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  busy_ = false;
  try {
    return gathered_.get();
  } catch (const std::bad_alloc&) {
    throw core::OutOfMemory("the host has too little memory for a copy of the training");
  }
}

}  // namespace warpscope::training
