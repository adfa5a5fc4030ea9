#pragma once
// A copy of what the training goes on from, brought to the host beside the steps, none of which waits for it: the
// training's stream copies within the device, another stream brings that to the host, a thread takes it from there.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>

#include "gpu/core/device.h"
#include "gpu/engine/network_state.h"
#include "gpu/engine/step_loop.h"

namespace warpscope::training {

class StateCopier {
 public:
  /// Holds references to all of them.
  StateCopier(const NetworkState& network, const StepLoop& loop, std::shared_ptr<core::Device> device,
              core::Stream& stream);
  ~StateCopier();
  StateCopier(const StateCopier&) = delete;
  StateCopier& operator=(const StateCopier&) = delete;

  /// True until take() has given what begin() has begun.
  bool busy() const { return busy_; }
  /// The state after the steps enqueued so far; not while busy(). On the CPU it is copied at once. Throws
  /// core::OutOfMemory.
  void begin();
  /// The state once it has arrived; `waits` until it has. Throws core::OutOfMemory.
  std::optional<EngineState> take(bool waits = false);
  /// Bytes that begin() would copy.
  std::size_t bytes() const;
  /// Seconds that begin() keeps the training's stream or thread from its steps: measured, on a device estimated.
  double seconds() const { return seconds_; }

 private:
  void begin_on_device();

  const NetworkState& network_;
  const StepLoop& loop_;
  std::shared_ptr<core::Device> device_;
  core::Stream& stream_;
  core::Buffer staging_;
  core::HostBuffer arriving_;
  std::unique_ptr<core::Stream> side_;
  std::unique_ptr<core::Event> copied_, arrived_;
  std::future<EngineState> gathered_;  ///< valid once it has arrived
  EngineState state_;                  ///< all of it on the CPU, else what needs no copy
  std::size_t elements_ = 0;           ///< of each part
  double seconds_ = 0;
  bool busy_ = false;
};

}  // namespace warpscope::training
