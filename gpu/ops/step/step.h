#pragma once
// step.record: the bookkeeping at the end of each training step, on the device, so that a step never
// synchronises.
//
//   ring[control.step % capacity] = { control.step, now in ns, loss, control.learning_rate }
//   control.step += 1;  control.position += batch; control.position -= epoch_size if it reached it
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
};

/// What a step leaves behind.
struct StepRecord {
  std::uint64_t step = 0;  ///< the index of the step, from 0
  std::uint64_t nanoseconds =
      0;  ///< device clock at the end of the step (%globaltimer; steady clock on the CPU)
  float loss = 0.0f;
  float learning_rate = 0.0f;
};

enum Operands : int { kLoss, kControl, kRing };

std::vector<Variant> variants();

}  // namespace warpscope::ops::step
