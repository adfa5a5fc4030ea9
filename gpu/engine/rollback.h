#pragma once
// Copies of weights and optimizer state in device memory, to go back to when a training diverges. The newest copy may
// hold what is found to be bad a moment later, so there are two.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "gpu/core/device.h"
#include "gpu/engine/network_state.h"
#include "gpu/engine/step_loop.h"

namespace warpscope::training {

class Rollback {
 public:
  /// Holds references to `network`, whose memory it copies and writes, and to `loop`.
  Rollback(const NetworkState& network, StepLoop& loop, std::shared_ptr<core::Device> device,
           core::Stream& stream);

  static constexpr std::size_t kCopies = 2;

  /// Copies on the device, in the place of the older copy. Returns that place, below kCopies. No waiting.
  std::size_t remember();
  /// Drops all copies: another network, rule or place in the data.
  void forget();
  /// True if there is a copy that was taken after no more than `steps` steps.
  bool remembers(std::uint64_t steps) const { return best(steps) != nullptr; }
  /// The place of the copy that recall() would bring back; there is one.
  std::size_t place(std::uint64_t steps) const {
    return static_cast<std::size_t>(best(steps) - copies_.data());
  }
  /// Brings back the newest copy that was taken after no more than `steps` steps, if there is one; of two, the older
  /// one where the newer was taken within the last kSafeSteps of these steps. Step and place in the data go on, and so
  /// do updates.
  bool recall(std::uint64_t steps);
  /// Steps within which a step that ruined the weights shows in the losses.
  static constexpr std::uint64_t kSafeSteps = 32;
  /// True if the last copy is older than that, or there are no two yet: the older one is then from before such a step.
  bool copy_due() const;
  /// What recall() would bring back, with the place in the data at which it was taken. Waits.
  std::optional<EngineState> state(std::uint64_t steps) const;
  /// The place of the newest copy that was taken after no more than `steps` steps; nothing if there is none.
  std::optional<std::size_t> newest(std::uint64_t steps) const;
  /// The copy there, with the place in the data at which it was taken. Waits.
  EngineState state_at(std::size_t place) const;
  /// The base rate of the step before that copy; nothing if there is none.
  std::optional<float> rate(std::uint64_t steps) const;

 private:
  struct Copy {
    NetworkBuffers buffers;  ///< without gradients
    core::Buffer control;
    std::uint64_t steps = 0, epochs_done = 0;
    std::uint32_t position = 0;
    float rate = 0;
    bool valid = false;
  };
  const Copy* best(std::uint64_t steps) const;

  const NetworkState& network_;
  StepLoop& loop_;
  std::shared_ptr<core::Device> device_;
  core::Stream& stream_;
  std::array<Copy, kCopies> copies_;
};

}  // namespace warpscope::training
