#pragma once
// A step of UMAP on the device: part of an epoch's edges, and the random pairs that come with them.

#include <cstdint>

#include "gpu/core/device.h"

namespace warpscope::maps {

/// All in device memory.
struct UmapMemory {
  int points = 0;
  const int* starts = nullptr;  ///< the graph in compressed rows: (points + 1)
  const int* columns = nullptr;
  const float* rates =
      nullptr;  ///< weight / largest weight: how many times an edge attracts in an epoch, at most 1
  const float* before = nullptr;  ///< (points, 2)
  float* after = nullptr;         ///< (points, 2), other memory
};

struct UmapStep {
  float a = 1;  ///< of 1 / (1 + a d^(2 b)); see fit_curve()
  float b = 1;
  float repulsion = 1;
  float learning_rate = 1;
  int negative_samples = 5;
  std::uint64_t seed = 0;
  int epoch = 1;  ///< counted from 1
  int part = 0;   ///< of the epoch's edges; each edge is in one part, another in each epoch
  int parts = 1;
};

/// Enqueues, for each point i and the edges (i, j) of this part that are due,
///
///   y_i <- y_i + learning_rate sum over edges of (2 attract(y_i - y_j) + sum over samples k of repel(y_i - y_k))
///
///   attract(v) = clip(-2 a b |v|^(2 b - 2) / (1 + a |v|^(2 b)) v)
///   repel(v) = clip(2 b / ((0.001 + |v|^2)(1 + a |v|^(2 b))) v)
///
/// each coordinate clipped to [-4, 4]. An edge is due in epoch e where floor(e rate) > floor((e - 1) rate); the
/// factor 2 is for both ends of it, which the reference moves whenever it comes upon the edge from either. All forces
/// come from the former positions. Source: L. McInnes, J. Healy, J. Melville, "UMAP" (2018), section 3.2, and
/// umap-learn's layouts.py.
void move_along_edges(const core::Device& device, core::Stream& stream, const UmapMemory& memory,
                      const UmapStep& step);

/// a and b for which 1 / (1 + a d^(2 b)) is nearest, in squares over 300 distances in [0, 3 spread], to 1 below
/// min_dist and exp(-(d - min_dist) / spread) above. By damped Gauss-Newton steps: K. Levenberg (1944), D. Marquardt
/// (1963).
struct Curve {
  double a = 1;
  double b = 1;
};
Curve fit_curve(double min_dist, double spread);

// ---- on CUDA ----

void move_along_edges_cuda(core::Stream& stream, const UmapMemory& memory, const UmapStep& step);

}  // namespace warpscope::maps
