#include "gpu/maps/umap_step.h"

#include <cmath>

#include "gpu/core/parallel.h"
#include "gpu/maps/umap_pair.h"

namespace warpscope::maps {
namespace {

constexpr std::int64_t kPiecePoints = 512;  // fewer are not worth a thread
constexpr int kDistances = 300;
constexpr int kMostSteps = 500;

struct Fit {
  double error = 0;  ///< sum of squares
  double gradient[2] = {};
  double normal[3] = {};  ///< (a, a), (a, b), (b, b) of J^T J
};

Fit judge(const Curve& curve, double min_dist, double spread) {
  Fit fit;
  for (int i = 0; i < kDistances; ++i) {
    const double d = 3 * spread * i / (kDistances - 1);
    const double wanted = d < min_dist ? 1.0 : std::exp(-(d - min_dist) / spread);
    const double power = d > 0 ? std::pow(d, 2 * curve.b) : 0.0;
    const double value = 1 / (1 + curve.a * power);
    const double residual = value - wanted;
    const double by_a = -value * value * power;
    const double by_b = d > 0 ? -value * value * curve.a * power * 2 * std::log(d) : 0.0;
    fit.error += residual * residual;
    fit.gradient[0] += residual * by_a;
    fit.gradient[1] += residual * by_b;
    fit.normal[0] += by_a * by_a;
    fit.normal[1] += by_a * by_b;
    fit.normal[2] += by_b * by_b;
  }
  return fit;
}

}  // namespace

Curve fit_curve(double min_dist, double spread) {
  Curve curve;
  Fit fit = judge(curve, min_dist, spread);
  double damping = 1e-3;
  for (int i = 0; i < kMostSteps && damping < 1e12; ++i) {
    const double aa = fit.normal[0] * (1 + damping), bb = fit.normal[2] * (1 + damping), ab = fit.normal[1];
    const double determinant = aa * bb - ab * ab;
    const Curve next{curve.a - (bb * fit.gradient[0] - ab * fit.gradient[1]) / determinant,
                     curve.b - (aa * fit.gradient[1] - ab * fit.gradient[0]) / determinant};
    const Fit then = judge(next, min_dist, spread);
    if (next.a > 0 && next.b > 0 && then.error < fit.error) {
      curve = next;
      fit = then;
      damping /= 10;
    } else {
      damping *= 10;
    }
  }
  return curve;
}

void move_along_edges(const core::Device& device, core::Stream& stream, const UmapMemory& memory,
                      const UmapStep& step) {
  if constexpr (core::kHaveCuda) {
    if (device.kind() == core::DeviceKind::cuda) return move_along_edges_cuda(stream, memory, step);
  }
  core::parallel_for(memory.points, kPiecePoints, 0, [&](std::int64_t begin, std::int64_t end) {
    for (int i = static_cast<int>(begin); i < static_cast<int>(end); ++i) {
      Force force;
      for (int e = memory.starts[i]; e < memory.starts[i + 1]; ++e) follow_edge(memory, step, i, e, force);
      memory.after[2 * i] = memory.before[2 * i] + step.learning_rate * force.x;
      memory.after[2 * i + 1] = memory.before[2 * i + 1] + step.learning_rate * force.y;
    }
  });
}

}  // namespace warpscope::maps
