#pragma once
// step.record: the bookkeeping at the end of each training step, on the device, so that a step never
// synchronises.
//
//   ring[control.step % capacity] = { control.step, now in ns, loss, learning rate, loss scale, overflow }
//   control.step += 1;  control.position += batch; control.position -= epoch_size if it reached it
//   overflow:  loss_scale = max(loss_scale / 2, 1), good_steps = 0, overflow = 0
//   otherwise: good_steps += 1; at growth_interval (if it is not 0): loss_scale = min(2 loss_scale, 2^24), good_steps = 0
//
// Dynamic loss scaling: P. Micikevicius et al., "Mixed precision training" (2018).
//
// Operands: loss (scalar, 1), control (StepControl), ring (StepRecord[count]).

#include <cstdint>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::step {

/// What a step reads from device memory instead of from launch arguments, so that one captured graph serves
/// every step. Written by the training stream alone.
struct StepControl {
  std::uint64_t step = 0;        ///< steps completed
  std::uint32_t position = 0;    ///< place in the epoch's order of the first image of the next batch
  std::uint32_t epoch_size = 0;  ///< images of the order used in an epoch: a multiple of the batch
  float learning_rate = 0.0f;
  float unused = 0.0f;
  // The device's own from here on: the host sets it when the precision changes.
  float loss_scale = 1.0f;            ///< gradients are this many times too large until the update
  std::uint32_t overflow = 0;         ///< 1 if a gradient of this step is not finite: the update is skipped
  std::uint32_t good_steps = 0;       ///< steps without overflow since the scale changed
  std::uint32_t growth_interval = 0;  ///< good steps after which the scale doubles; 0: it stays
};

inline constexpr float kLeastLossScale = 1.0f;
inline constexpr float kMostLossScale = 16777216.0f;

/// What a step leaves behind.
struct StepRecord {
  std::uint64_t step = 0;  ///< the index of the step, from 0
  std::uint64_t nanoseconds =
      0;  ///< device clock at the end of the step (%globaltimer; steady clock on the CPU)
  float loss = 0.0f;
  float learning_rate = 0.0f;
  float loss_scale = 1.0f;    ///< that the step used
  std::uint32_t skipped = 0;  ///< 1 if gradients overflowed and the weights stayed
};

#ifdef __CUDACC__
#define WARPSCOPE_BOTH __host__ __device__
#else
#define WARPSCOPE_BOTH
#endif

/// The record of a step, from `control` as it was during the step.
WARPSCOPE_BOTH inline StepRecord record_of(const StepControl& control, std::uint64_t nanoseconds,
                                           float loss) {
  return {control.step, nanoseconds, loss, control.learning_rate, control.loss_scale, control.overflow};
}

/// `control` for the step after one with `batch` images.
WARPSCOPE_BOTH inline StepControl next_control(StepControl control, std::uint32_t batch) {
  ++control.step;
  control.position += batch;
  if (control.position >= control.epoch_size) control.position -= control.epoch_size;
  if (control.overflow != 0) {
    const float half = control.loss_scale / 2;
    control.loss_scale = half < kLeastLossScale ? kLeastLossScale : half;
    control.good_steps = 0;
  } else if (++control.good_steps == control.growth_interval) {
    const float twice = control.loss_scale * 2;
    control.loss_scale = twice > kMostLossScale ? kMostLossScale : twice;
    control.good_steps = 0;
  }
  control.overflow = 0;
  return control;
}
#undef WARPSCOPE_BOTH

enum Operands : int { kLoss, kControl, kRing };

std::vector<Variant> variants();

}  // namespace warpscope::ops::step
