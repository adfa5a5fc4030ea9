#include "gpu/maps/tsne_step.h"

#include <algorithm>
#include <cmath>

#include "gpu/core/parallel.h"
#include "gpu/maps/tsne_pair.h"

namespace warpscope::maps {
namespace {

constexpr std::int64_t kPiecePairs = std::int64_t{1} << 19;  // less is not worth a thread
constexpr int kLanes = 8;

struct Repulsion {
  double x = 0, y = 0, normalizer = 0;
};

/// Over the points [begin, end), in lanes that the compiler makes vectors of. A point does not repel itself: what it
/// adds to the normalizer, 1, the caller takes off.
Repulsion repel(const TsneMemory& memory, int i, int begin, int end) {
  const float* const y = memory.positions;
  const float own_x = y[2 * i], own_y = y[2 * i + 1];
  float xs[kLanes] = {}, ys[kLanes] = {}, qs[kLanes] = {};
  for (int j = begin; j < end; j += kLanes) {
    const int lanes = std::min(kLanes, end - j);
    for (int lane = 0; lane < lanes; ++lane) {
      const float dx = own_x - y[2 * (j + lane)], dy = own_y - y[2 * (j + lane) + 1];
      const float q = 1.0f / (1.0f + dx * dx + dy * dy);
      qs[lane] += q;
      xs[lane] += q * q * dx;
      ys[lane] += q * q * dy;
    }
  }
  Repulsion sum;
  for (int lane = 0; lane < kLanes; ++lane) {
    sum.x += static_cast<double>(xs[lane]);
    sum.y += static_cast<double>(ys[lane]);
    sum.normalizer += static_cast<double>(qs[lane]);
  }
  return sum;
}

void repel_point(const TsneMemory& memory, int i, PairSums& sums) {
  constexpr int kPoints = 1024;  // summed in FP32
  Repulsion all;
  for (int begin = 0; begin < memory.points; begin += kPoints) {
    const Repulsion part = repel(memory, i, begin, std::min(memory.points, begin + kPoints));
    all.x += part.x;
    all.y += part.y;
    all.normalizer += part.normalizer;
  }
  memory.repulsion[2 * i] = static_cast<float>(all.x);
  memory.repulsion[2 * i + 1] = static_cast<float>(all.y);
  sums.normalizer += all.normalizer - 1;
}

void attract_point(const TsneMemory& memory, int i, PairSums& sums) {
  const float* const y = memory.positions;
  double x_sum = 0, y_sum = 0;
  for (int e = memory.starts[i]; e < memory.starts[i + 1]; ++e) {
    const int j = memory.columns[e];
    const float dx = y[2 * i] - y[2 * j], dy = y[2 * i + 1] - y[2 * j + 1];
    const float squared = dx * dx + dy * dy;
    const float force = memory.affinities[e] / (1.0f + squared);
    x_sum += static_cast<double>(force * dx);
    y_sum += static_cast<double>(force * dy);
    sums.attraction += static_cast<double>(memory.affinities[e]) * std::log1p(static_cast<double>(squared));
  }
  memory.attraction[2 * i] = static_cast<float>(x_sum);
  memory.attraction[2 * i + 1] = static_cast<float>(y_sum);
}

void find_forces_cpu(const TsneMemory& memory) {
  const std::int64_t piece = 1 + kPiecePairs / (std::int64_t{kPointsOfBlock} * memory.points);
  core::parallel_for(point_blocks(memory.points), piece, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      PairSums sums;
      const int first = static_cast<int>(block) * kPointsOfBlock;
      for (int i = first; i < std::min(memory.points, first + kPointsOfBlock); ++i) {
        repel_point(memory, i, sums);
        attract_point(memory, i, sums);
      }
      memory.sums[block] = sums;
    }
  });
}

void move_points_cpu(const TsneMemory& memory, const TsneStep& step) {
  double normalizer = 0;
  for (std::int64_t block = 0; block < point_blocks(memory.points); ++block) {
    normalizer += memory.sums[block].normalizer;
  }
  for (int i = 0; i < 2 * memory.points; ++i)
    move_coordinate(memory, step, static_cast<float>(normalizer), i);
}

}  // namespace

int repulsion_chunks(const core::DeviceInfo& device, std::int64_t points) {
  if constexpr (core::kHaveCuda) {
    if (device.kind == core::DeviceKind::cuda) return repulsion_chunks_cuda(device.multiprocessors, points);
  }
  return 1;
}

void find_forces(const core::Device& device, core::Stream& stream, const TsneMemory& memory) {
  if constexpr (core::kHaveCuda) {
    if (device.kind() == core::DeviceKind::cuda) return find_forces_cuda(stream, memory);
  }
  find_forces_cpu(memory);
}

void move_points(const core::Device& device, core::Stream& stream, const TsneMemory& memory,
                 const TsneStep& step) {
  if constexpr (core::kHaveCuda) {
    if (device.kind() == core::DeviceKind::cuda) return move_points_cuda(stream, memory, step);
  }
  move_points_cpu(memory, step);
}

}  // namespace warpscope::maps
