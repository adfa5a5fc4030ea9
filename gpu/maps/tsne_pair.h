#pragma once
// The step of one coordinate, the same on CPU and CUDA.

#include "gpu/maps/tsne_step.h"

namespace warpscope::maps {

inline constexpr float kGainRise = 0.2f;
inline constexpr float kGainFall = 0.8f;
inline constexpr float kLeastGain = 0.01f;

/// move_points() for the coordinate `i` of (points, 2).
constexpr void move_coordinate(const TsneMemory& memory, const TsneStep& step, float normalizer, int i) {
  const float gradient = 4 * (step.exaggeration * memory.attraction[i] - memory.repulsion[i] / normalizer);
  const float before = memory.velocities[i];
  float gain = before * gradient < 0 ? memory.gains[i] + kGainRise : memory.gains[i] * kGainFall;
  gain = gain < kLeastGain ? kLeastGain : gain;
  const float velocity = step.momentum * before - step.learning_rate * gain * gradient;
  memory.gains[i] = gain;
  memory.velocities[i] = velocity;
  memory.positions[i] += velocity;
}

}  // namespace warpscope::maps
