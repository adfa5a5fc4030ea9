#pragma once
// What a training step reads from device memory instead of from launch arguments, and what it leaves behind.
//
// step.record: the bookkeeping at the end of each training step, on the device, so that a step never
// synchronises.
//
//   ring[control.step % capacity] = { control.step, now in ns, loss, learning rate, loss scale, skipped,
//   accuracy,
//                                     gradient norm, update ratio, head loss }
//   gradient norm = sqrt(sum of the gradient statistic), update ratio = sqrt(sum of the update's / sum of the
//   parameters'), 0 if the parameters' is 0; the kSumParts parts of each are added in double and rounded once
//   control.step += 1;  control.position += batch + others; control.position -= epoch_size if it reached it
//   gradient_scale = loss_scale
//   overflow:  loss_scale = max(loss_scale / 2, 1), good_steps = 0, overflow = 0
//   otherwise: good_steps += 1; at growth_interval (if it is not 0): loss_scale = min(2 loss_scale, 2^24),
//   good_steps = 0
//   updates += 1 unless skips_update();  micro_batch = 0
//   halted = 1 if the loss is not finite: no step changes a parameter until the host has cleared it
//
// micro_batch.record: between the micro-batches of a step, of which there are control.micro_batches:
//
//   sums = the mean of the metrics over the micro-batches, as gradients.accumulate has it (optimizer/optimizer.cpp)
//   control.micro_batch += 1, control.position += batch (wrapped)
//
// A step of micro-batches ends with step.record at OpShape::batch = 0: the position has advanced already.
// Dynamic loss scaling: P. Micikevicius et al., "Mixed precision training" (2018).
//
// Operands: see op.cpp. OpShape: batch = images of the (micro-)batch, count = slots of the ring.

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu/core/both.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::step {

/// Which images are mirrored, left to right (augment/augment.cpp).
enum Flip : std::uint32_t { kFlipNone, kFlipHalf, kFlipAll };

/// Written by the training stream only. The host sets the first part before steps; the device keeps the
/// second.
struct StepControl {
  std::uint64_t step = 0;        ///< steps completed
  std::uint64_t seed = 0;        ///< of the run: what is random in a step follows from it (dropout/mask.h)
  std::uint32_t position = 0;    ///< place in the epoch's order of the first image of the next batch
  std::uint32_t epoch_size = 0;  ///< images of the order used in an epoch: a multiple of the batch
  float learning_rate = 0.0f;
  float first_decay = 0.0f;             ///< momentum; beta 1 of adam, adamw and lion
  float second_decay = 0.0f;            ///< beta 2 of adam, adamw and lion; alpha of rmsprop
  float epsilon = 0.0f;                 ///< of adam, adamw and rmsprop
  float weight_decay = 0.0f;            ///< L2 in the gradient; decoupled in adamw and lion
  float clip_norm = 0.0f;               ///< largest global norm of the gradient; 0: not clipped
  float clip_value = 0.0f;              ///< largest magnitude of a gradient's element; 0: not clipped
  std::uint32_t micro_batches = 1;      ///< of a step, on this rank
  std::uint32_t first_micro_batch = 0;  ///< those of the ranks before this one
  std::uint32_t others = 0;             ///< images of a step that other ranks take
  float joint = 0.0f;  ///< the head's loss counts so many times in the objective (joint/joint.cpp)
  std::uint32_t flip = kFlipNone;  ///< a Flip
  std::uint32_t crop = 0;          ///< most pixels by which an image is shifted each way
  std::uint32_t cutout = 0;        ///< side of the grey square in each image, in pixels
  float jitter = 0.0f;             ///< strength of brightness, contrast and saturation, 0 to 1
  float mixup = 0.0f;              ///< alpha of the Beta distribution of the batch's share; 0: not mixed
  std::int32_t shift_down = 0;     ///< rows to go on in all images, besides what crop draws
  std::int32_t shift_right = 0;    ///< and columns
  // The device's own from here on: the host sets it at the start and when precision or optimizer change.
  float loss_scale = 1.0f;            ///< gradients are this many times too large until the update
  std::uint32_t overflow = 0;         ///< 1 if a gradient of this step is not finite: the update is skipped
  std::uint32_t good_steps = 0;       ///< steps without overflow since the scale changed
  std::uint32_t growth_interval = 0;  ///< good steps after which the scale doubles; 0: it stays
  std::uint32_t updates = 0;          ///< that the optimizer has made since its state was fresh
  std::uint32_t micro_batch = 0;      ///< of the running step, from 0 on each rank
  std::uint32_t halted = 0;           ///< 1 after a loss that is not finite: updates are skipped
  /// The loss scale of the last step, which its gradients are still multiplied by when the scale has changed.
  float gradient_scale = 1.0f;
};

inline constexpr float kLeastLossScale = 1.0f;
inline constexpr float kMostLossScale = 16777216.0f;

/// The metrics of a batch, side by side: the loss, the share of images classified right, by the network or by its
/// head (0 without labels), and the head's cross-entropy (0 without a head).
enum Metrics : int { kLossMetric, kAccuracyMetric, kHeadLossMetric, kMetrics };

/// What an update tells of itself, kSumParts parts of each: sums of squares over all parameters of the
/// gradient (averaged and unscaled, before clipping), of the change of the parameters, and of the parameters
/// before it.
enum Statistics : int { kGradientStatistic, kUpdateStatistic, kParameterStatistic, kStatistics };

/// What a step leaves behind.
struct StepRecord {
  std::uint64_t step = 0;  ///< the index of the step, from 0
  std::uint64_t nanoseconds =
      0;  ///< device clock at the end of the step (%globaltimer; steady clock on the CPU)
  float loss = 0.0f;
  float learning_rate = 0.0f;
  float loss_scale = 1.0f;    ///< that the step used
  std::uint32_t skipped = 0;  ///< 1 if the weights stayed: gradients overflowed, or a loss was not finite
  float accuracy = 0.0f;      ///< share of the batch's images classified right
  float gradient_norm = 0.0f;
  float update_ratio = 0.0f;  ///< norm of the update over norm of the parameters
  float head_loss = 0.0f;     ///< cross-entropy of the head, before it is weighed
};

/// x is neither an infinity nor a NaN.
WARPSCOPE_BOTH inline bool is_finite(float x) {
  return x - x == 0.0f;  // NOLINT(misc-redundant-expression): false for infinities and NaN
}

/// True if the update of this step must leave parameters and state as they are.
WARPSCOPE_BOTH inline bool skips_update(const StepControl& control, float loss) {
  return control.overflow != 0 || control.halted != 0 || !is_finite(loss);
}

/// The record of a step, from `control` as it was during the step; `sums` are those of the statistics.
WARPSCOPE_BOTH inline StepRecord record_of(const StepControl& control, std::uint64_t nanoseconds,
                                           const float (&metrics)[kMetrics],
                                           const float (&sums)[kStatistics]) {
  StepRecord record;
  record.step = control.step;
  record.nanoseconds = nanoseconds;
  record.loss = metrics[kLossMetric];
  record.learning_rate = control.learning_rate;
  record.loss_scale = control.loss_scale;
  record.skipped = skips_update(control, metrics[kLossMetric]) ? 1 : 0;
  record.accuracy = metrics[kAccuracyMetric];
  record.head_loss = metrics[kHeadLossMetric];
  record.gradient_norm = sqrtf(sums[kGradientStatistic]);
  const float parameters = sums[kParameterStatistic];
  record.update_ratio = parameters > 0.0f ? sqrtf(sums[kUpdateStatistic] / parameters) : 0.0f;
  return record;
}

/// The place of the batch after one of `batch` images.
WARPSCOPE_BOTH inline std::uint32_t next_position(const StepControl& control, std::uint32_t batch) {
  const std::uint32_t position = control.position + batch;
  return position >= control.epoch_size ? position - control.epoch_size : position;
}

/// `control` for the step after one with `batch` images and this loss.
WARPSCOPE_BOTH inline StepControl next_control(StepControl control, std::uint32_t batch, float loss) {
  ++control.step;
  control.position = next_position(control, batch + control.others);
  if (!skips_update(control, loss)) ++control.updates;
  if (!is_finite(loss)) control.halted = 1;
  control.gradient_scale = control.loss_scale;
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
  control.micro_batch = 0;
  return control;
}

}  // namespace warpscope::ops::step
