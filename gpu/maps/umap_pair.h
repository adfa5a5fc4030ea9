#pragma once
// The forces of one point in UMAP, the same on CPU and CUDA.

#include <cmath>
#include <cstdint>

#include "gpu/core/both.h"
#include "gpu/core/random.h"
#include "gpu/maps/umap_step.h"

namespace warpscope::maps {

struct Force {
  float x = 0;
  float y = 0;
};

inline constexpr float kLongestForce = 4.0f;
inline constexpr float kLeastSquare = 0.001f;  // keeps repulsion finite

WARPSCOPE_BOTH inline float clipped(float force) {
  return fminf(kLongestForce, fmaxf(-kLongestForce, force));
}

/// Adds `weight` times the clipped force `scale` (x, y).
WARPSCOPE_BOTH inline void add_force(Force& sum, float weight, float scale, float x, float y) {
  sum.x += weight * clipped(scale * x);
  sum.y += weight * clipped(scale * y);
}

WARPSCOPE_BOTH inline void attract(const UmapStep& step, float x, float y, Force& sum) {
  const float squared = x * x + y * y;
  if (!(squared > 0)) return;
  const float power = powf(squared, step.b);
  add_force(sum, 2.0f, -2 * step.a * step.b * power / (squared * (1 + step.a * power)), x, y);
}

WARPSCOPE_BOTH inline void repel(const UmapStep& step, float x, float y, Force& sum) {
  const float squared = x * x + y * y;
  if (!(squared > 0)) return;
  const float power = powf(squared, step.b);
  add_force(sum, 1.0f, 2 * step.repulsion * step.b / ((kLeastSquare + squared) * (1 + step.a * power)), x, y);
}

/// Whether the edge between i and j attracts in this step: the same seen from i and from j.
WARPSCOPE_BOTH inline bool is_due(const UmapStep& step, float rate, int i, int j) {
  const double now = static_cast<double>(step.epoch) * static_cast<double>(rate);
  if (floor(now) <= floor(now - static_cast<double>(rate))) return false;
  if (step.parts == 1) return true;
  const auto low = static_cast<std::uint64_t>(i < j ? i : j),
             high = static_cast<std::uint64_t>(i < j ? j : i);
  const std::uint64_t bits =
      core::random_bits(step.seed ^ static_cast<std::uint64_t>(step.epoch), low << 32 | high);
  return static_cast<int>((bits >> 32) % static_cast<std::uint64_t>(step.parts)) == step.part;
}

/// Adds what edge `e` of point `i` does to it, negative samples included, if it is due.
WARPSCOPE_BOTH inline void follow_edge(const UmapMemory& memory, const UmapStep& step, int i, int e,
                                       Force& sum) {
  const int j = memory.columns[e];
  if (!is_due(step, memory.rates[e], i, j)) return;
  const float* const y = memory.before;
  const float own_x = y[2 * i], own_y = y[2 * i + 1];
  attract(step, own_x - y[2 * j], own_y - y[2 * j + 1], sum);
  // One number for each epoch, edge and sample.
  const auto samples = static_cast<std::uint64_t>(step.negative_samples);
  const auto edges = static_cast<std::uint64_t>(memory.starts[memory.points]);
  const std::uint64_t first =
      (static_cast<std::uint64_t>(step.epoch) * edges + static_cast<std::uint64_t>(e)) * samples;
  for (std::uint64_t s = 0; s < samples; ++s) {
    const std::uint64_t bits = core::random_bits(step.seed, first + s) >> 32;
    const int k = static_cast<int>(bits * static_cast<std::uint64_t>(memory.points) >> 32);
    if (k != i) repel(step, own_x - y[2 * k], own_y - y[2 * k + 1], sum);
  }
}

}  // namespace warpscope::maps
