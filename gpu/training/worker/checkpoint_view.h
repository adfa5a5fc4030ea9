#pragma once
// A run of another process that is looked at: the training stands still at one of the run's checkpoints.

#include <cstdint>

#include "gpu/messages/observations.h"

namespace warpscope::training {

struct TrainingContext;

class CheckpointView {
 public:
  explicit CheckpointView(TrainingContext& training) : training_(training) {}

  /// What the run had and this device has not is left to this device.
  void fit_to_device();
  /// Throws core::Error. What was seen of another checkpoint stays until this one is seen, but for those of later
  /// steps: nothing that was counted there came before.
  void look_at(std::uint64_t step);
  void observe(const ObservationRequest& request);

 private:
  void make_gradients();
  void evaluate_checkpoint();

  TrainingContext& training_;
  bool wants_gradients_ = false;  ///< somebody looks at those of the checkpoint
  bool has_gradients_ = false;
};

}  // namespace warpscope::training
